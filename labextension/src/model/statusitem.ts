/** What the status bar says: one fact, the worst there is about the current notebook's device. */

import type { Session } from '../api/types';
import { idleSeconds, isLive, warningOf } from './sessions';
import type { Workbench } from './workbench';

export type Status =
  | { kind: 'running'; session: Session }
  | { kind: 'idle'; session: Session; seconds: number }
  | { kind: 'starting'; session: Session }
  | { kind: 'waiting'; session: Session }
  | { kind: 'ends-soon'; session: Session; left: number }
  | { kind: 'elsewhere'; held: number }
  | { kind: 'ended'; session: Session }
  | { kind: 'offline'; session: Session; since: number };

/** Ended news stay this long, or until the notebook has another kernel. */
const ENDED_NEWS_MS = 10 * 60_000;

/** Null hides the item: nothing is held and nothing starts. */
export function statusOf(bench: Pick<Workbench, 'sessions' | 'cluster' | 'current'>, now: number): Status | null {
  const { sessions } = bench.sessions.state.value;
  const { current } = bench;
  const ofNotebook = (session: Session): boolean =>
    session.kernels.some(kernel => kernel.id === current?.kernelId) ||
    (current !== null && (session.notebook === current.path || session.kernels.some(k => k.notebook === current.path)));
  const live = sessions.filter(session => isLive(session) && session.state !== 'releasing');
  const own = live.find(session => ofNotebook(session) && session.state === 'running') ?? live.find(ofNotebook);
  const starting = own ?? live.find(session => session.state === 'starting' || session.state === 'waiting');
  const { lost } = bench.cluster.state.value;
  if (own && lost) {
    return { kind: 'offline', session: own, since: lost.since };
  }
  if (starting && starting.state !== 'running') {
    return { kind: starting.state === 'waiting' ? 'waiting' : 'starting', session: starting };
  }
  if (own) {
    const warning = warningOf(own, now);
    if (warning && warning.kind !== 'idle-kept') {
      return { kind: 'ends-soon', session: own, left: warning.left };
    }
    const idle = idleSeconds(own, now);
    return idle !== null && idle >= 60
      ? { kind: 'idle', session: own, seconds: idle }
      : { kind: 'running', session: own };
  }
  const ended = sessions.find(
    session => session.ended && ofNotebook(session) && now - Date.parse(session.ended.at) < ENDED_NEWS_MS
  );
  if (ended) {
    return { kind: 'ended', session: ended };
  }
  return live.length ? { kind: 'elsewhere', held: live.length } : null;
}
