/** Waiting for a device in words (ux.md §5, 25 and 26). */

import type { Session } from '../api/types';
import { clock, duration, runningClock } from './durations';
import { queueWords } from './sessions';
import type { Speech } from './speech';
import { fill, sentence, type Sentence } from './text';

/** "Waiting for 12:04, at most 2 h." */
export function waitWords(speech: Speech, session: Session, now: number): Sentence {
  const { trans } = speech;
  const { wait } = session;
  const since = wait ? Date.parse(wait.since) : Date.parse(session.created_at);
  const limit = wait?.until ? (Date.parse(wait.until) - since) / 1000 : 0;
  // The wait was asked for a moment before it began: "2 h" must not read as "1 h 59 min".
  const asked = limit > 120 ? Math.round(limit / 60) * 60 : Math.round(limit);
  const values = { clock: runningClock((now - since) / 1000), most: asked ? duration(speech, asked) : '' };
  return values.most
    ? sentence(trans.__('Waiting for **{clock}**, at most {most}.'), values)
    : sentence(trans.__('Waiting for **{clock}**.'), values);
}

/** "8 of 8 taken"; null where something else is the reason. */
export function allTaken(speech: Speech, session: Session): string | null {
  const n = session.wait?.reasons.find(reason => reason.code === 'taken')?.devices;
  return n ? fill(speech.trans.__('{n} of {n} taken'), { n }) : null;
}

/** What is expected to change, who decides, and that nobody has to stay. */
export function waitHint(speech: Speech, session: Session, now: number): string {
  const { trans } = speech;
  const next = session.wait?.next_change;
  const queue = session.wait?.queue;
  const change =
    next?.at && next.code === 'lease-ends'
      ? fill(trans.__('Next known change: a lease ends at {time}.'), { time: clock(speech, next.at, now) })
      : null;
  const words = [
    change,
    queue ? queueWords(speech, queue, now) : null,
    trans.__('It starts by itself; you can close this page.')
  ];
  return words.filter(Boolean).join(' ');
}
