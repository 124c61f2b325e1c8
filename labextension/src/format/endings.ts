/** What is about to end, in words (ux.md §5, 39 and 41). */

import type { Session } from '../api/types';
import type { Warning } from '../model/sessions';
import { clock, duration } from './durations';
import { kernelState } from './sessions';
import type { Speech } from './speech';
import { fill, plain, sentence, type Sentence } from './text';

/** The line on a session's card. */
export function warningWords(speech: Speech, session: Session, warning: Warning, now: number): Sentence {
  const { trans } = speech;
  switch (warning.kind) {
    case 'lease':
      return sentence(trans.__('Ends at {time}, even if a cell runs.'), {
        time: clock(speech, session.lease?.ends_at ?? '', now)
      });
    case 'idle-kept':
      return sentence(trans.__('idle {time}; device use not known, so it is kept'), {
        time: duration(speech, warning.idle)
      });
    default:
      return sentence(trans.__('Given back in **{time}**.'), { time: duration(speech, Math.max(60, warning.left)) });
  }
}

/** "train.ipynb is busy; eval.ipynb has been idle for 12 min". */
function kernelsLine(speech: Speech, session: Session, now: number): string {
  const { trans } = speech;
  return session.kernels
    .map(kernel => {
      const notebook = kernel.notebook?.split('/').pop() ?? kernel.name;
      const idle = kernel.last_activity ? (now - Date.parse(kernel.last_activity)) / 1000 : 0;
      if (kernel.state === 'busy') {
        return fill(trans.__('{notebook} is busy'), { notebook });
      }
      return idle >= 60
        ? fill(trans.__('{notebook} has been idle for {time}'), { notebook, time: duration(speech, idle) })
        : `${plain(notebook)}: ${kernelState(speech, kernel.state, null)}`;
    })
    .join('; ');
}

/** The notification of a lease that ends soon: a title and what to know. `left` in seconds. */
export function leaseEnds(
  speech: Speech,
  session: Session,
  lease: { left: number; extendable: boolean },
  now: number
): { head: string; body: string } {
  const { trans } = speech;
  const time = duration(speech, Math.max(60, Math.ceil(lease.left / 60) * 60));
  const head = fill(trans.__('{session} ends in {time}'), { session: session.name, time });
  if (lease.extendable) {
    const line = kernelsLine(speech, session, now);
    const save = trans.__('Save what you need.');
    return { head, body: line ? `${line}. ${save}` : save };
  }
  const until = session.lease?.longest_until;
  const longest = until ? (Date.parse(until) - Date.parse(session.created_at)) / 1000 : null;
  const template = trans.__('It has reached the longest time allowed, {longest}. A running cell is stopped at {time}.');
  const values = {
    longest: longest ? duration(speech, longest) : '',
    time: clock(speech, session.lease?.ends_at ?? '', now)
  };
  return { head, body: fill(template, values) };
}
