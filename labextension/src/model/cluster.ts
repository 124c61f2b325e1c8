/** Which cluster, in what state, offering what: status and tiers, kept current by events, not by polling. */

import { Problem, Unreachable, type DRAClient } from '../api/client';
import type { ChangeStream } from '../api/stream';
import type { Status, TierList } from '../api/types';
import { Observable, type Visibility } from './observable';

export interface Lost {
  /** When the numbers shown were last known to be right, ms since the epoch. */
  readonly since: number;
  readonly retryAt: number | null;
}

export interface ClusterState {
  readonly status: Status | null;
  readonly tiers: TierList | null;
  /** The Jupyter server answers, but has no route of ours. */
  readonly serverMissing: boolean;
  readonly lost: Lost | null;
  /** How long the first inventory has taken: drives skeleton, words, and the offer to look into it. */
  readonly loading: 'no' | 'soon' | 'skeleton' | 'words' | 'long';
  readonly problem: string | null;
}

const START: ClusterState = {
  status: null,
  tiers: null,
  serverMissing: false,
  lost: null,
  loading: 'soon',
  problem: null
};

const LOADING_STAGES: readonly [number, ClusterState['loading']][] = [
  [300, 'skeleton'],
  [1000, 'words'],
  [10_000, 'long']
];
const RETRY_MS = [2000, 4000, 8000, 15_000, 30_000];
/** Several events in a row are one refresh. */
const GATHER_MS = 250;

type Timer = ReturnType<typeof setTimeout>;

export class ClusterModel {
  constructor(
    private readonly _client: DRAClient,
    stream: ChangeStream,
    private readonly _visible: Visibility
  ) {
    stream.inventory.connect(() => this._soon());
    stream.status.connect(() => this._soon());
    _visible.changed.connect((_, visible) => {
      if (visible) {
        void this.refresh();
      } else {
        clearTimeout(this._retry);
      }
    });
  }

  readonly state = new Observable<ClusterState>(START);

  /** Fetches status and, where there are any, tiers. Never throws: what went wrong is state. */
  async refresh(): Promise<void> {
    clearTimeout(this._retry);
    clearTimeout(this._gather);
    const turn = ++this._turn;
    const stages = this.state.value.status ? [] : this._startStages();
    try {
      const status = await this._client.fetchStatus();
      const tiers = status.state === 'ready' ? await this._client.fetchTiers() : null;
      if (turn !== this._turn) {
        return;
      }
      const usable = status.state === 'ready' || status.state === 'unreachable';
      this._attempt = 0;
      this._asOf = Date.now();
      this.state.update(state => ({
        status,
        tiers: tiers ?? (usable ? state.tiers : null),
        serverMissing: false,
        lost: status.state === 'unreachable' ? this._lost(status.as_of) : null,
        loading: status.state === 'loading' ? state.loading : 'no',
        problem: null
      }));
    } catch (error) {
      if (turn === this._turn) {
        this._fail(error);
      }
    } finally {
      stages.forEach(clearTimeout);
    }
  }

  async switchContext(name: string): Promise<void> {
    await this._client.switchContext(name);
    this.state.set(START);
    await this.refresh();
  }

  async startLocal(): Promise<void> {
    await this._client.startLocalCluster();
    await this.refresh();
  }

  dispose(): void {
    clearTimeout(this._retry);
    clearTimeout(this._gather);
    this._turn++;
    this.state.dispose();
  }

  private _soon(): void {
    clearTimeout(this._gather);
    this._gather = setTimeout(() => void this.refresh(), GATHER_MS);
  }

  private _startStages(): Timer[] {
    return LOADING_STAGES.map(([after, loading]) =>
      setTimeout(() => this.state.update(state => ({ ...state, loading })), after)
    );
  }

  private _fail(error: unknown): void {
    if (error instanceof Problem && error.status === 404) {
      this.state.update(state => ({ ...state, serverMissing: true, lost: null, loading: 'no' }));
      return;
    }
    const problem = error instanceof Problem ? error.message : null;
    const gone = error instanceof Unreachable || (error instanceof Problem && error.status >= 500);
    const lost = gone ? this._lost(null) : null;
    this.state.update(state => ({ ...state, lost, problem, loading: 'no' }));
  }

  /** Plans the next try, while somebody looks; says since when numbers are old. */
  private _lost(asOf: string | null): Lost {
    const delay = RETRY_MS[Math.min(this._attempt++, RETRY_MS.length - 1)]!;
    if (!this._visible.value) {
      return { since: this._since(asOf), retryAt: null };
    }
    this._retry = setTimeout(() => void this.refresh(), delay);
    return { since: this._since(asOf), retryAt: Date.now() + delay };
  }

  private _since(asOf: string | null): number {
    const told = asOf ? Date.parse(asOf) : Number.NaN;
    return this.state.value.lost?.since ?? (Number.isFinite(told) ? told : (this._asOf ?? Date.now()));
  }

  private _retry: Timer | undefined;
  private _gather: Timer | undefined;
  private _turn = 0;
  private _attempt = 0;
  private _asOf: number | null = null;
}
