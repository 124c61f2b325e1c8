/** Nodes grouped by the kind of their devices. Between two requests nodes keep their places, whatever is taken or freed. */

import type { Device } from '../api/types';
import type { NodeRow } from './inventory';

export interface NodeGroup {
  readonly label: string;
  readonly nodes: readonly NodeRow[];
  readonly counts: Counts;
}

export interface Counts {
  readonly devices: number;
  readonly free: number;
  readonly fitting: number;
  /** Nodes with a device that fits. */
  readonly fittingNodes: number;
  readonly yours: number;
  readonly unseen: number;
}

type Fits = (device: Device) => boolean;

const NONE: Counts = { devices: 0, free: 0, fitting: 0, fittingNodes: 0, yours: 0, unseen: 0 };
const natural = new Intl.Collator('en', { numeric: true });

/** Remembers what it counted, so that a change costs as much as what it changed. */
export class KindGroups {
  /** Groups with the largest memory first; inside, the most fitting nodes first, as they were when `fits` was new. */
  of(rows: readonly NodeRow[], fits: Fits): readonly NodeGroup[] {
    if (rows === this._rows && fits === this._fits) {
      return this._groups;
    }
    const again = fits !== this._fits;
    if (again) {
      this._counts = new WeakMap();
      this._places.clear();
    }
    this._rows = rows;
    this._fits = fits;
    const byLabel = new Map<string, NodeRow[]>();
    for (const row of rows) {
      const label = this._kindOf(row);
      const group = byLabel.get(label);
      if (group) {
        group.push(row);
      } else {
        byLabel.set(label, [row]);
      }
    }
    const before = new Map(again ? [] : this._groups.map(group => [group.label, group]));
    const groups = [...byLabel].map(([label, nodes]) => this._group(label, nodes, before.get(label)));
    this._groups = groups.sort(byMemory);
    return this._groups;
  }

  private _group(label: string, nodes: NodeRow[], before: NodeGroup | undefined): NodeGroup {
    const place = (row: NodeRow): number => this._places.get(row.name) ?? Number.POSITIVE_INFINITY;
    if (before) {
      nodes.sort((a, b) => (place(a) === place(b) ? 0 : place(a) - place(b)));
    } else {
      nodes.sort((a, b) => this._countsOf(b).fitting - this._countsOf(a).fitting);
    }
    if (before && nodes.length === before.nodes.length && nodes.every((row, index) => row === before.nodes[index])) {
      return before;
    }
    nodes.forEach((row, index) => this._places.set(row.name, index));
    return { label, nodes, counts: sumOf(nodes.map(row => this._countsOf(row))) };
  }

  private _countsOf(row: NodeRow): Counts {
    let counts = this._counts.get(row);
    if (!counts) {
      counts = countsOf(row.devices, this._fits);
      this._counts.set(row, counts);
    }
    return counts;
  }

  private _kindOf(row: NodeRow): string {
    let kind = this._kinds.get(row);
    if (kind === undefined) {
      kind = kindOf(row);
      this._kinds.set(row, kind);
    }
    return kind;
  }

  private _rows: readonly NodeRow[] = [];
  private _fits: Fits = () => false;
  private _groups: readonly NodeGroup[] = [];
  private _counts = new WeakMap<NodeRow, Counts>();
  private readonly _kinds = new WeakMap<NodeRow, string>();
  private readonly _places = new Map<string, number>();
}

/** Of the devices of one node. */
export function countsOf(devices: readonly Device[], fits: Fits): Counts {
  const counts = { ...NONE, devices: devices.length };
  for (const device of devices) {
    switch (device.state) {
      case 'free':
        counts.free += 1;
        counts.fitting += fits(device) ? 1 : 0;
        break;
      case 'yours':
        counts.yours += 1;
        break;
      case 'hidden':
      case 'unknown':
        counts.unseen += 1;
        break;
    }
  }
  counts.fittingNodes = counts.fitting ? 1 : 0;
  return counts;
}

export function sumOf(counts: readonly Counts[]): Counts {
  const sum = { ...NONE };
  for (const one of counts) {
    sum.devices += one.devices;
    sum.free += one.free;
    sum.fitting += one.fitting;
    sum.fittingNodes += one.fittingNodes;
    sum.yours += one.yours;
    sum.unseen += one.unseen;
  }
  return sum;
}

/** Cards sold under one size report slightly different bytes: they count as the same. */
function byMemory(a: NodeGroup, b: NodeGroup): number {
  const memory = (label: string): number => Number(/(\d+)\s*GB$/.exec(label)?.[1] ?? 0);
  return memory(b.label) - memory(a.label) || natural.compare(a.label, b.label);
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
