/** Which cluster, in what state, offering what: status and tiers, kept current by events; a slow pulse notices lost ones. */

import { Signal, type ISignal } from '@lumino/signaling';

import { Problem, Unreachable, type DRAClient } from '../api/client';
import type { ChangeStream } from '../api/stream';
import type { Status, TierList } from '../api/types';
import { Gather } from './gather';
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
/** Events can be lost without a word, with a server that restarted or a computer that slept. */
export const PULSE_MS = 30_000;

type Timer = ReturnType<typeof setTimeout>;

export class ClusterModel {
  constructor(
    private readonly _client: DRAClient,
    stream: ChangeStream,
    private readonly _visible: Visibility
  ) {
    this._tiersSoon = new Gather(() => this._refreshTiers(), _visible);
    this._statusSoon = new Gather(() => this.refresh(), _visible);
    stream.inventory.connect((_, { revision }) => {
      this._heard = revision;
      this._tiersSoon.soon();
    });
    stream.status.connect(() => this._statusSoon.soon());
    _visible.changed.connect((_, visible) => {
      clearTimeout(this._next);
      if (visible) {
        void this.refresh();
      }
    });
  }

  readonly state = new Observable<ClusterState>(START);

  /** Something happened that no event told of: the server is another one, or changes were missed. */
  get missed(): ISignal<this, void> {
    return this._missed;
  }

  /** Fetches status and, where there are any, tiers. Never throws: what went wrong is state. */
  async refresh(): Promise<void> {
    clearTimeout(this._next);
    this._statusSoon.forget();
    const turn = ++this._turn;
    this._asking = true;
    if (!this.state.value.status) {
      this._startStages();
    }
    try {
      const status = await this._client.fetchStatus();
      const missed = this._note(status);
      const wanted = status.state === 'ready' && (missed || !this.state.value.tiers);
      const tiers = wanted ? await this._fetchTiers() : null;
      if (turn !== this._turn) {
        return;
      }
      const usable = status.state === 'ready' || status.state === 'unreachable';
      // While the server reads the inventory, the page still waits for its first one.
      if (status.state !== 'loading') {
        this._endStages();
      }
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
      if (missed) {
        this._missed.emit();
      }
    } catch (error) {
      if (turn === this._turn) {
        this._fail(error);
      }
    } finally {
      if (turn === this._turn) {
        this._asking = false;
        this._pulse();
      }
    }
  }

  /** A request of somebody else found no server: look whether there is one. */
  doubt(): void {
    if (!this._asking && !this.state.value.lost && this._visible.value) {
      void this.refresh();
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
    clearTimeout(this._next);
    this._endStages();
    this._statusSoon.dispose();
    this._tiersSoon.dispose();
    this._turn++;
    this.state.dispose();
    Signal.clearData(this);
  }

  /** The inventory changed: counts may be others, the state is not, unless the last device went or the first came. */
  private async _refreshTiers(): Promise<void> {
    if (this.state.value.status?.state !== 'ready' || this.state.value.lost) {
      return this.refresh();
    }
    try {
      const tiers = await this._fetchTiers();
      if (!tiers) {
        return;
      }
      if (tiers.devices === 0) {
        return this.refresh();
      }
      this._asOf = Date.now();
      this.state.update(state => ({ ...state, tiers }));
    } catch {
      return this.refresh();
    }
  }

  /** Null where they were asked for again meanwhile. */
  private async _fetchTiers(): Promise<TierList | null> {
    const turn = ++this._tiersTurn;
    const tiers = await this._client.fetchTiers();
    return turn === this._tiersTurn ? tiers : null;
  }

  /** Whether server or cluster are other ones than before, or changed in ways that were not told. */
  private _note({ started_at, cluster, namespace, revision }: Status): boolean {
    const source = [started_at, cluster, namespace].join(' ');
    const first = this._source === null;
    const another = source !== this._source;
    const unheard = (revision ?? 0) > this._heard;
    this._source = source;
    this._heard = another ? (revision ?? 0) : Math.max(this._heard, revision ?? 0);
    return !first && (another || unheard);
  }

  private _pulse(): void {
    if (this._visible.value && !this.state.value.lost) {
      clearTimeout(this._next);
      this._next = setTimeout(() => void this.refresh(), PULSE_MS);
    }
  }

  private _startStages(): void {
    this._endStages();
    this._stages = LOADING_STAGES.map(([after, loading]) =>
      setTimeout(() => this.state.update(state => ({ ...state, loading })), after)
    );
  }

  private _endStages(): void {
    this._stages.forEach(clearTimeout);
    this._stages = [];
  }

  private _fail(error: unknown): void {
    this._endStages();
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
    clearTimeout(this._next);
    this._next = setTimeout(() => void this.refresh(), delay);
    return { since: this._since(asOf), retryAt: Date.now() + delay };
  }

  private _since(asOf: string | null): number {
    const told = asOf ? Date.parse(asOf) : Number.NaN;
    return this.state.value.lost?.since ?? (Number.isFinite(told) ? told : (this._asOf ?? Date.now()));
  }

  private readonly _tiersSoon: Gather;
  private readonly _statusSoon: Gather;
  private readonly _missed = new Signal<this, void>(this);
  /** Of the next try or pulse. */
  private _next: Timer | undefined;
  /** What a first inventory that is late brings up, one after the other. */
  private _stages: readonly Timer[] = [];
  private _turn = 0;
  private _asking = false;
  private _tiersTurn = 0;
  /** Which server and cluster answered last. */
  private _source: string | null = null;
  /** The newest revision of the inventory that was told. */
  private _heard = 0;
  private _attempt = 0;
  private _asOf: number | null = null;
}
