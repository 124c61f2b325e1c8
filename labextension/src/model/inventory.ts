/** The devices of a cluster by node, made from what the server sends and kept up by its changes; nothing is mutated. */

import type { Column, CompactDeviceList, Context, Device, DeviceList, Holder, Visible } from '../api/types';

export interface NodeRow {
  /** "" for devices of no single node. */
  readonly name: string;
  readonly devices: readonly Device[];
}

export interface Inventory {
  readonly context: Context;
  readonly revision: number;
  readonly visible: Visible;
  /** What did not change since the inventory before is the same row. */
  readonly rows: readonly NodeRow[];
  readonly devices: readonly Device[];
}

export type DeviceID = readonly [driver: string, pool: string, name: string];

/** From here on devices come in columns and stand as the server orders them: sorting so many would be felt. */
export const MANY_DEVICES = 1500;

const natural = new Intl.Collator('en', { numeric: true });
const NO_HOLDERS: readonly Holder[] = [];

/** What the server sent, taken together with what was known before; `before` counts only for changes since then. */
export function inventoryOf(answer: DeviceList | CompactDeviceList, before: Inventory | null): Inventory {
  const devices = answer.kind === 'CompactDeviceList' ? expand(answer) : answer.devices;
  const { context, revision, visible } = answer;
  const isChange = answer.since !== undefined && before !== null && answer.since === before.revision;
  if (isChange && !devices.length && !answer.removed?.length) {
    return revision === before.revision ? before : { ...before, revision };
  }
  const rows = isChange ? changed(before, devices, answer.removed ?? []) : byNode(devices);
  return { context, revision, visible, rows, devices: rows.flatMap(row => row.devices) };
}

/** Columns back into devices. Equal holders, places and tiers are the same objects. */
export function expand(compact: CompactDeviceList): Device[] {
  const holders = holdersOf(compact);
  const read = (name: keyof Device | 'node'): Reader => readerOf(compact.columns[name]);
  const [node, driver, pool, name] = [read('node'), read('driver'), read('pool'), read('name')];
  const [kind, label, product] = [read('device_kind'), read('label'), read('product')];
  const [memory, state, tiers] = [read('memory_bytes'), read('state'), read('tiers')];
  const [simulated, taints, heldBy] = [read('simulated'), read('taints'), read('holders')];
  const nodes = new Map<unknown, readonly string[] | null>([[null, null]]);
  const held = new Map<unknown, readonly Holder[]>();
  return Array.from({ length: compact.rows }, (_, index): Device => {
    const where = node(index);
    if (!nodes.has(where)) {
      nodes.set(where, String(where).split(', ').filter(Boolean));
    }
    const numbers = heldBy(index) as readonly number[];
    let mine = numbers.length ? held.get(numbers) : NO_HOLDERS;
    if (!mine) {
      mine = numbers.flatMap(number => holders[number] ?? []);
      held.set(numbers, mine);
    }
    return {
      driver: driver(index) as string,
      pool: pool(index) as string,
      name: name(index) as string,
      nodes: nodes.get(where) ?? null,
      device_kind: kind(index) as Device['device_kind'],
      label: label(index) as string,
      product: product(index) as string | null,
      memory_bytes: memory(index) as number | null,
      memory_published: null,
      state: state(index) as Device['state'],
      tiers: tiers(index) as readonly string[],
      simulated: simulated(index) === true,
      taints: taints(index) as Device['taints'],
      holders: mine
    };
  });
}

function holdersOf({ holders }: CompactDeviceList): Holder[] {
  const columns = Object.entries(holders.columns).map(([name, column]) => [name, readerOf(column)] as const);
  return Array.from(
    { length: holders.rows },
    (_, index) => Object.fromEntries(columns.map(([name, read]) => [name, read(index)])) as unknown as Holder
  );
}

/** Must be asked for the rows in their order. */
type Reader = (index: number) => unknown;

function readerOf({ values, cells, runs }: Column = { values: [null] }): Reader {
  if (cells) {
    return index => values[cells[index] ?? 0];
  }
  if (!runs) {
    return () => values[0];
  }
  let [at, until] = [-2, 0];
  return index => {
    while (index >= until && at + 3 < runs.length) {
      at += 2;
      until += runs[at + 1] ?? 0;
    }
    return values[runs[at] ?? 0];
  };
}

function nodeOf(device: Device): string {
  return device.nodes?.length === 1 ? device.nodes[0]! : '';
}

/** Devices by node; few of them sorted as people count, many left in the server's order. */
export function byNode(devices: readonly Device[]): NodeRow[] {
  const rows = new Map<string, Device[]>();
  for (const device of devices) {
    const name = nodeOf(device);
    const row = rows.get(name);
    if (row) {
      row.push(device);
    } else {
      rows.set(name, [device]);
    }
  }
  const found = [...rows].map(([name, list]) => ({ name, devices: list }));
  if (devices.length < MANY_DEVICES) {
    found.forEach(row => row.devices.sort(byName));
    found.sort(byRow);
  }
  return found;
}

function byName(a: Device, b: Device): number {
  return natural.compare(a.name, b.name);
}

function byRow(a: NodeRow, b: NodeRow): number {
  return a.name === '' ? 1 : b.name === '' ? -1 : natural.compare(a.name, b.name);
}

function isSame(a: Device, b: Device): boolean {
  return a.name === b.name && a.pool === b.pool && a.driver === b.driver;
}

/** The rows with changed devices in their places; rows without any stay the same objects. */
function changed(before: Inventory, devices: readonly Device[], removed: readonly DeviceID[]): readonly NodeRow[] {
  const places = new Map(before.rows.map((row, index) => [row.name, index]));
  const rows = [...before.rows];
  const fresh: Device[] = [];
  const touched = new Map<number, Device[]>();
  for (const device of devices) {
    const place = places.get(nodeOf(device));
    const list = place === undefined ? undefined : (touched.get(place) ?? [...rows[place]!.devices]);
    const index = list?.findIndex(item => isSame(item, device)) ?? -1;
    if (!list || index < 0) {
      fresh.push(device);
      continue;
    }
    list[index] = device;
    touched.set(place!, list);
  }
  for (const [place, list] of touched) {
    rows[place] = { name: rows[place]!.name, devices: list };
  }
  return fresh.length || removed.length ? rebuilt(rows, fresh, removed) : rows;
}

/** Devices came, went, or moved to another node. */
function rebuilt(rows: readonly NodeRow[], fresh: readonly Device[], removed: readonly DeviceID[]): NodeRow[] {
  const gone = new Set([...removed, ...fresh.map(({ driver, pool, name }) => [driver, pool, name])].map(String));
  const found = new Map<string, NodeRow>();
  for (const row of rows) {
    const left = row.devices.filter(({ driver, pool, name }) => !gone.has(String([driver, pool, name])));
    if (left.length) {
      found.set(row.name, left.length === row.devices.length ? row : { name: row.name, devices: left });
    }
  }
  for (const { name, devices } of byNode(fresh)) {
    found.set(name, { name, devices: [...(found.get(name)?.devices ?? []), ...devices].sort(byName) });
  }
  const all = [...found.values()];
  return all.reduce((sum, row) => sum + row.devices.length, 0) < MANY_DEVICES ? all.sort(byRow) : all;
}
