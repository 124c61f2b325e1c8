/** All devices, only while the Devices section is open; who waits, only with the right to see it. */

import type { DRAClient } from '../api/client';
import type { ChangeStream } from '../api/stream';
import type { CompactDeviceList, Device, DeviceKind, DeviceList, DeviceState, WaitingList } from '../api/types';
import { Observable } from './observable';

export interface DevicesState {
  readonly list: DeviceList | null;
  readonly waiting: WaitingList | null;
  readonly failed: boolean;
}

const GATHER_MS = 250;
/** From here on devices come in columns, without what is unique to each. */
export const MANY_DEVICES = 1500;

type Client = Pick<DRAClient, 'fetchDevices' | 'fetchCompactDevices' | 'fetchWaiting'>;

export class DevicesModel {
  constructor(
    private readonly _client: Client,
    stream: ChangeStream,
    private readonly _expected: () => number
  ) {
    stream.inventory.connect(() => this._soon());
  }

  readonly state = new Observable<DevicesState>({ list: null, waiting: null, failed: false });

  /** Opens or shuts the tap. */
  set open(value: boolean) {
    if (value === this._open) {
      return;
    }
    this._open = value;
    clearTimeout(this._timer);
    if (value) {
      void this.refresh();
    }
  }

  async refresh(): Promise<void> {
    const turn = ++this._turn;
    try {
      const list = await this._fetch();
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

  private async _fetch(): Promise<DeviceList> {
    const { list } = this.state.value;
    if (Math.max(this._expected(), list?.devices.length ?? 0) < MANY_DEVICES) {
      return this._client.fetchDevices();
    }
    const compact = await this._client.fetchCompactDevices(list?.revision ?? null);
    return compact.unchanged && list ? list : expandDevices(compact, list);
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

/** Columns back into devices; those that did not change since `before` stay the same objects. */
export function expandDevices(compact: CompactDeviceList, before: DeviceList | null): DeviceList {
  const at = new Map(compact.columns.map((name, index) => [name, index]));
  const cell = (row: readonly unknown[], name: string): unknown => {
    const value = row[at.get(name) ?? -1];
    const table = compact.values[name];
    return table && typeof value === 'number' ? table[value] : value;
  };
  const old = new Map(
    (before?.devices ?? []).map(device => [`${device.driver}/${device.pool}/${device.name}`, device])
  );
  const devices = compact.rows.map((row): Device => {
    const who = cell(row, 'who');
    const node = cell(row, 'node');
    const device: Device = {
      driver: String(cell(row, 'driver')),
      pool: String(cell(row, 'pool')),
      name: String(cell(row, 'name')),
      nodes: typeof node === 'string' ? node.split(', ') : null,
      device_kind: cell(row, 'device_kind') as DeviceKind,
      label: cell(row, 'label') as string | null,
      product: null,
      memory_bytes: cell(row, 'memory_bytes') as number | null,
      memory_published: null,
      state: cell(row, 'state') as DeviceState,
      tiers: (cell(row, 'tiers') ?? []) as readonly string[],
      simulated: cell(row, 'simulated') === 1,
      holders: typeof who === 'string' ? [{ who }] : []
    };
    const was = old.get(`${device.driver}/${device.pool}/${device.name}`);
    return was && was.state === device.state && was.label === device.label ? was : device;
  });
  const { context, revision, visible, version } = compact;
  return { kind: 'DeviceList', version, context, revision, visible, devices };
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
