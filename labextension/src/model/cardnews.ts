/** What the page knows about the session behind a card in an output: the card shows it, and never asks the server itself. */

import type { Session } from '../api/types';
import { isTierFree } from './tiers';
import type { Workbench } from './workbench';

export interface CardNews {
  /** The session as the server knows it; null where it is not known here. */
  readonly session: Session | null;
  /** The server was asked and knows no such session any more. */
  readonly over: boolean;
  /** Since when the numbers are old, while the connection is lost. */
  readonly asOf: number | null;
  /** A device of the tier that the session asked for is free, as far as is known. */
  readonly freeNow: boolean;
  /** Sessions of this user that run. */
  readonly held: readonly Session[];
  readonly now: number;
}

/** For a card that nobody trusts, or outside our own pages. */
export function noNews(now: number): CardNews {
  return { session: null, over: false, asOf: null, freeNow: false, held: [], now };
}

export function cardNews(
  bench: Pick<Workbench, 'sessions' | 'shown' | 'cluster' | 'ticker'>,
  id: string | null
): CardNews {
  const { known } = bench.sessions.state.value;
  const { shown } = bench;
  const session = id === null ? null : (shown.find(item => item.id === id) ?? null);
  return {
    session,
    over: id !== null && known && session === null,
    freeNow: isTierFree(bench.cluster.state.value.tiers, session?.requirement ?? null),
    asOf: bench.cluster.state.value.lost?.since ?? null,
    held: shown.filter(item => item.mine && item.state === 'running'),
    now: bench.ticker.now.value
  };
}
