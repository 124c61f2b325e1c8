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
  const column = (name: string): ((row: readonly unknown[]) => unknown) => {
    const index = compact.columns.indexOf(name);
    const table = compact.values[name];
    return table ? row => table[row[index] as number] : row => row[index];
  };
  const [node, driver, pool, name] = [column('node'), column('driver'), column('pool'), column('name')];
  const [kind, label, memory] = [column('device_kind'), column('label'), column('memory_bytes')];
  const [state, tiers, who, simulated] = [column('state'), column('tiers'), column('who'), column('simulated')];
  const nodes = new Map<unknown, readonly string[] | null>([[null, null]]);
  const holders = new Map<unknown, Device['holders']>([[null, []]]);
  const old = before?.devices ?? [];
  const devices = compact.rows.map((row, index): Device => {
    const was = old[index];
    // The order is the server's, by node and device: what stands at the same place is the same device.
    if (
      was &&
      was.state === state(row) &&
      was.name === name(row) &&
      was.pool === pool(row) &&
      was.driver === driver(row) &&
      was.label === label(row)
    ) {
      return was;
    }
    const [where, holder] = [node(row) ?? null, who(row) ?? null];
    if (!nodes.has(where)) {
      nodes.set(where, String(where).split(', '));
    }
    if (!holders.has(holder)) {
      holders.set(holder, [{ who: String(holder) }]);
    }
    return {
      driver: driver(row) as string,
      pool: pool(row) as string,
      name: name(row) as string,
      nodes: nodes.get(where) ?? null,
      device_kind: kind(row) as DeviceKind,
      label: label(row) as string | null,
      product: null,
      memory_bytes: memory(row) as number | null,
      memory_published: null,
      state: state(row) as DeviceState,
      tiers: (tiers(row) ?? []) as readonly string[],
      simulated: simulated(row) === 1,
      holders: holders.get(holder) ?? []
    };
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
  const found = [...rows].map(([name, list]) => ({ name, devices: list }));
  if (devices.length >= MANY_DEVICES) {
    // The server sends them in order; sorting tens of thousands again would be felt.
    return found;
  }
  for (const row of found) {
    row.devices.sort((a, b) => natural.compare(a.name, b.name));
  }
  return found.sort((a, b) => (a.name === '' ? 1 : b.name === '' ? -1 : natural.compare(a.name, b.name)));
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
  const first = row.devices[0]?.label;
  if (first && row.devices.every(device => device.label === first)) {
    return first;
  }
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
export function byKind(rows: readonly NodeRow[], fits: (device: Device) => boolean): NodeGroup[] {
  const groups = new Map<string, { scored: [number, NodeRow][]; devices: number; free: number }>();
  for (const row of rows) {
    const kind = kindOf(row);
    let group = groups.get(kind);
    if (!group) {
      group = { scored: [], devices: 0, free: 0 };
      groups.set(kind, group);
    }
    let fitting = 0;
    for (const device of row.devices) {
      if (device.state === 'free') {
        group.free += 1;
        fitting += fits(device) ? 1 : 0;
      }
    }
    group.devices += row.devices.length;
    group.scored.push([fitting, row]);
  }
  // Cards sold under one size report slightly different bytes: they count as the same.
  const memory = (label: string): number => Number(/(\d+)\s*GB$/.exec(label)?.[1] ?? 0);
  return [...groups]
    .map(([label, { scored, devices, free }]) => ({
      label,
      nodes: scored.sort((a, b) => b[0] - a[0]).map(([, row]) => row),
      devices,
      free,
      fitting: scored.reduce((sum, [value]) => sum + value, 0)
    }))
    .sort((a, b) => memory(b.label) - memory(a.label) || b.fitting - a.fitting || natural.compare(a.label, b.label));
}
