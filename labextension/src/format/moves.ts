/** What a kernel on its way to another pod waits for (ux.md §5, 29). */

import type { HistoryEntry, KernelRestart, Session } from '../api/types';
import { runningClock } from './durations';
import type { Speech } from './speech';
import { fill } from './text';

const OF_MOVES: ReadonlySet<string> = new Set(['moving', 'moved', 'not-moved', 'pod-lost', 'replaced']);

/** What the session's history says last of a kernel's way to another pod. */
export function lastOfMove(session: Session, kernel: string): HistoryEntry | null {
  return session.history.filter(entry => entry.kernel === kernel && OF_MOVES.has(entry.event)).pop() ?? null;
}

/** The move of one of its kernels that is under way. */
export function moveOf(session: Session): HistoryEntry | null {
  const moves = session.kernels.map(kernel => lastOfMove(session, kernel.id));
  return moves.find(entry => entry?.event === 'moving' || entry?.event === 'pod-lost') ?? null;
}

/** Null where no kernel is on its way. */
export function moveWords(speech: Speech, session: Session, now: number): string | null {
  const { trans } = speech;
  const move = moveOf(session);
  if (!move) {
    return null;
  }
  const since = (seconds: number): { clock: string } => ({ clock: runningClock(now / 1000 - seconds) });
  if (move.event === 'pod-lost') {
    return fill(trans.__('The pod was lost; the kernel starts in another one · {clock}'), since(move.at));
  }
  return move.placed_at === undefined
    ? fill(trans.__('Placing another pod; the kernel goes on meanwhile · {clock}'), since(move.at))
    : fill(trans.__('Waiting for the old kernel to let go of the device · {clock}'), since(move.placed_at));
}

/** Why a kernel stays where it is although a change was asked. */
export function staysWords(speech: Speech, session: Session, move: HistoryEntry, change: KernelRestart): string {
  const { trans } = speech;
  const why =
    move.code === 'image' && change.image
      ? fill(trans.__('There is no image {image}. Check its name.'), { image: change.image })
      : (move.detail ?? move.code ?? '');
  return fill(trans.__('The kernel of {session} stays in its pod: {why}'), { session: session.name, why });
}
