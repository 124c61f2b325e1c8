/** A kernel that sees more devices than it was given (ux.md §5, 50). */

import type { Speech } from './speech';
import { cutMiddle, fill, sentence, type Sentence } from './text';

export interface Seen {
  readonly count: number;
  readonly given: number;
  /** The identity of one that was not given. */
  readonly extra: string | null;
}

/** The warning, and what to do about the extra one; null where the kernel sees what it was given. */
export function mismatchWords(speech: Speech, seen: Seen | null): { head: Sentence; rest: string } | null {
  const { trans } = speech;
  if (!seen || seen.count === seen.given) {
    return null;
  }
  const template = trans._n(
    '**This kernel sees {n} device but was given {given}.**',
    '**This kernel sees {n} devices but was given {given}.**',
    seen.count
  );
  const rest = seen.extra
    ? fill(trans.__('The extra one ({extra}) may belong to someone else; do not use it.'), {
        extra: cutMiddle(seen.extra, 16)
      })
    : '';
  return { head: sentence(template, { n: seen.count, given: seen.given }), rest };
}
