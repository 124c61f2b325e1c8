/** Output that was not kept while nobody listened (ux.md §5, 53). */

import { clock } from './durations';
import { count } from './numbers';
import { used } from './sizes';
import type { Speech } from './speech';
import { fill } from './text';

export interface OutputGap {
  /** Zero where it was no text. */
  readonly lines: number;
  readonly bytes: number;
  readonly since: string | null;
  readonly until: string | null;
}

/** "12:02–12:18", one moment where both read the same; empty where nothing is known. */
function span(speech: Speech, gap: OutputGap, now: number): string {
  const ends = [gap.since, gap.until].flatMap(at => (at ? clock(speech, at, now) : [])).filter(Boolean);
  return [...new Set(ends)].join('–');
}

export function gapWords(speech: Speech, gap: OutputGap, now: number): string {
  const { trans } = speech;
  const values = { n: count(speech, gap.lines), size: used(speech, gap.bytes), span: span(speech, gap, now) };
  if (!gap.lines) {
    return values.span
      ? fill(trans.__('{size} of output from {span} was not kept.'), values)
      : fill(trans.__('{size} of output was not kept.'), values);
  }
  return values.span
    ? fill(
        trans._n(
          '{n} line of output from {span} was not kept.',
          '{n} lines of output from {span} were not kept.',
          gap.lines
        ),
        values
      )
    : fill(trans._n('{n} line of output was not kept.', '{n} lines of output were not kept.', gap.lines), values);
}
