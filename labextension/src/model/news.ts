/** What is news about sessions: differences between two looks, and leases that come to their end. */

import type { Session } from '../api/types';
import { LEASE_SOON_S, warningOf } from './sessions';

export type News =
  | { kind: 'lease'; session: Session; left: number }
  | { kind: 'fault'; session: Session }
  | { kind: 'ended'; session: Session }
  | { kind: 'started'; session: Session };

const OWN_DOING = new Set(['stopped', 'cancelled']);
const BY_RULE = new Set(['idle', 'lease-over', 'wait-over', 'server-stopped', 'stopped-by-admin']);

/** `before` is null at the first look: what has ended long ago is no news. */
export function newsOf(
  before: readonly Session[] | null,
  after: readonly Session[],
  now: number,
  inView: (session: Session) => boolean
): News[] {
  const news: News[] = [];
  const old = new Map((before ?? []).map(session => [session.id, session]));
  for (const session of after) {
    const was = old.get(session.id);
    const warning = warningOf(session, now);
    if (session.mine && warning?.kind === 'lease' && warning.left <= LEASE_SOON_S) {
      news.push({ kind: 'lease', session, left: warning.left });
    }
    if (!was || !session.mine) {
      continue;
    }
    const { ended } = session;
    if (ended && was.state !== 'ended' && session.state === 'ended' && !OWN_DOING.has(ended.code)) {
      news.push({ kind: BY_RULE.has(ended.code) ? 'ended' : 'fault', session });
    }
    if (session.state === 'running' && was.state !== 'running' && (was.wait !== null || !inView(session))) {
      news.push({ kind: 'started', session });
    }
  }
  return news;
}
