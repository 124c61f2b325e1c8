/** All devices, only while the Devices section is open; who waits, only with the right to see it. */

import type { DRAClient } from '../api/client';
import type { ChangeStream } from '../api/stream';
import type { WaitingList } from '../api/types';
import { Gather } from './gather';
import { inventoryOf, MANY_DEVICES, type Inventory } from './inventory';
import { Observable, type Visibility } from './observable';

export interface DevicesState {
  readonly inventory: Inventory | null;
  readonly waiting: WaitingList | null;
  readonly failed: boolean;
}

const START: DevicesState = { inventory: null, waiting: null, failed: false };

type Client = Pick<DRAClient, 'fetchDevices' | 'fetchCompactDevices' | 'fetchWaiting'>;

export class DevicesModel {
  constructor(
    private readonly _client: Client,
    stream: ChangeStream,
    visible: Visibility,
    private readonly _expected: () => number
  ) {
    this._gather = new Gather(() => this.refresh(), visible);
    this._waitingSoon = new Gather(() => this._refreshWaiting(), visible);
    stream.inventory.connect(() => this.soon());
  }

  readonly state = new Observable<DevicesState>(START);

  /** Opens or shuts the tap. */
  set open(value: boolean) {
    if (value === this._open) {
      return;
    }
    this._open = value;
    this._gather.forget();
    this._waitingSoon.forget();
    if (value) {
      void this.refresh();
    }
  }

  /** Fetches what changed, or everything; who waits, which the server must plan for, comes later. Never throws. */
  async refresh(): Promise<void> {
    const turn = ++this._turn;
    try {
      const inventory = await this._fetch();
      if (turn === this._turn) {
        const seesAll = inventory.visible.claims === 'all';
        this.state.update(({ waiting }) => ({ inventory, waiting: seesAll ? waiting : null, failed: false }));
        if (seesAll) {
          this._waitingSoon.soon();
        }
      }
    } catch {
      if (turn === this._turn) {
        this.state.update(state => ({ ...state, failed: true }));
      }
    }
  }

  /** The devices may be other ones now. */
  soon(): void {
    if (this._open) {
      this._gather.soon();
    }
  }

  /** Forgets everything: the cluster is another one. */
  reset(): void {
    this._turn++;
    this._resets++;
    this.state.set(START);
    this.soon();
  }

  dispose(): void {
    this._gather.dispose();
    this._waitingSoon.dispose();
    this._turn++;
    this.state.dispose();
  }

  private async _refreshWaiting(): Promise<void> {
    const turn = this._resets;
    const waiting = await this._client.fetchWaiting().catch(() => null);
    if (turn === this._resets) {
      this.state.update(state => ({ ...state, waiting }));
    }
  }

  private async _fetch(): Promise<Inventory> {
    const { inventory } = this.state.value;
    const many = Math.max(this._expected(), inventory?.devices.length ?? 0) >= MANY_DEVICES;
    const since = inventory?.revision ?? null;
    const answer = await (many ? this._client.fetchCompactDevices(since) : this._client.fetchDevices(since));
    return inventoryOf(answer, inventory);
  }

  private _open = false;
  private _turn = 0;
  private _resets = 0;
  private readonly _gather: Gather;
  private readonly _waitingSoon: Gather;
}
