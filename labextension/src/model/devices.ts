/** All devices, only while the Devices section is open; who waits, only with the right to see it. */

import type { DRAClient } from '../api/client';
import type { ChangeStream } from '../api/stream';
import type { Device, DeviceList, WaitingList } from '../api/types';
import { Observable } from './observable';

export interface DevicesState {
  readonly list: DeviceList | null;
  readonly waiting: WaitingList | null;
  readonly failed: boolean;
}

const GATHER_MS = 250;

export class DevicesModel {
  constructor(
    private readonly _client: Pick<DRAClient, 'fetchDevices' | 'fetchWaiting'>,
    stream: ChangeStream
  ) {
    stream.inventory.connect(() => this._soon());
  }

  readonly state = new Observable<DevicesState>({ list: null, waiting: null, failed: false });

  /** Opens or shuts the tap. */
  set open(value: boolean) {
    this._open = value;
    clearTimeout(this._timer);
    if (value) {
      void this.refresh();
    }
  }

  async refresh(): Promise<void> {
    const turn = ++this._turn;
    try {
      const list = await this._client.fetchDevices();
      const waiting = list.visible.claims === 'all' ? await this._client.fetchWaiting().catch(() => null) : null;
      if (turn === this._turn) {
        this.state.set({ list, waiting, failed: false });
      }
    } catch {
      if (turn === this._turn) {
        this.state.update(state => ({ ...state, failed: true }));
      }
    }
  }

  dispose(): void {
    clearTimeout(this._timer);
    this._turn++;
    this.state.dispose();
  }

  private _soon(): void {
    if (this._open) {
      clearTimeout(this._timer);
      this._timer = setTimeout(() => void this.refresh(), GATHER_MS);
    }
  }

  private _open = false;
  private _turn = 0;
  private _timer: ReturnType<typeof setTimeout> | undefined;
}

export interface NodeRow {
  readonly name: string;
  readonly devices: readonly Device[];
}

const natural = new Intl.Collator('en', { numeric: true });

/** Devices by node, then by name as people count; devices of no single node under "". */
export function byNode(devices: readonly Device[]): NodeRow[] {
  const rows = new Map<string, Device[]>();
  for (const device of devices) {
    const name = device.nodes?.length === 1 ? device.nodes[0]! : '';
    const row = rows.get(name);
    if (row) {
      row.push(device);
    } else {
      rows.set(name, [device]);
    }
  }
  return [...rows]
    .sort(([a], [b]) => (a === '' ? 1 : b === '' ? -1 : natural.compare(a, b)))
    .map(([name, list]) => ({ name, devices: list.sort((a, b) => natural.compare(a.name, b.name)) }));
}

export interface NodeGroup {
  readonly label: string;
  readonly nodes: readonly NodeRow[];
  readonly devices: number;
  readonly free: number;
  readonly fitting: number;
}

/** The kind most of a node's devices are: what the node is grouped under. */
function kindOf(row: NodeRow): string {
  const votes = new Map<string, number>();
  for (const device of row.devices) {
    if (device.device_kind !== 'nic' && device.device_kind !== 'cpu') {
      const label = device.label ?? device.product ?? device.driver;
      votes.set(label, (votes.get(label) ?? 0) + 1);
    }
  }
  return [...votes].sort((a, b) => b[1] - a[1])[0]?.[0] ?? row.devices[0]?.label ?? row.devices[0]?.driver ?? '';
}

/** Nodes grouped by kind, the most fitting first inside, the largest memory first outside. */
export function byKind(devices: readonly Device[], fits: (device: Device) => boolean): NodeGroup[] {
  const groups = new Map<string, NodeRow[]>();
  for (const row of byNode(devices)) {
    const kind = kindOf(row);
    groups.set(kind, [...(groups.get(kind) ?? []), row]);
  }
  const score = (row: NodeRow): number => row.devices.filter(device => device.state === 'free' && fits(device)).length;
  // Cards sold under one size report slightly different bytes: they count as the same.
  const memory = (label: string): number => Number(/(\d+)\s*GB$/.exec(label)?.[1] ?? 0);
  return [...groups]
    .map(([label, nodes]) => {
      const all = nodes.flatMap(row => row.devices);
      const scored = nodes.map(row => [score(row), row] as const).sort((a, b) => b[0] - a[0]);
      return {
        label,
        nodes: scored.map(([, row]) => row),
        devices: all.length,
        free: all.filter(device => device.state === 'free').length,
        fitting: scored.reduce((sum, [value]) => sum + value, 0)
      };
    })
    .sort((a, b) => memory(b.label) - memory(a.label) || b.fitting - a.fitting || natural.compare(a.label, b.label));
}
