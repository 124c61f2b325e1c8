/** Draws nodes on a canvas: layout from widths and counts, colours from the page's variables, only what changed again. */

import type { Device } from '../api/types';
import type { NodeGroup } from '../model/grouping';
import type { NodeRow } from '../model/inventory';
import { drawnDevices } from '../format/devices';

export interface GroupLayout {
  readonly perRow: number;
  readonly stepX: number;
  readonly stepY: number;
  readonly blockWidth: number;
  readonly blockHeight: number;
  readonly columns: number;
  readonly cell: number;
  readonly height: number;
  readonly nodes: number;
}

export interface Palette {
  fits: string;
  free: string;
  taken: string;
  yours: string;
  out: string;
}

const CELL = 3;
const CELL_GAP = 1;
const NODE_GAP = 5;
const MARK = 4;

/** Devices of a node in two rows; nodes side by side as many as the width holds. */
export function layoutGroup(group: NodeGroup, width: number, marks: boolean): GroupLayout {
  const most = marks
    ? 1
    : group.nodes.reduce((n, row) => Math.max(n, Math.min(16, drawnDevices(row.devices).length)), 1);
  const columns = marks ? 1 : Math.max(1, Math.ceil(most / 2));
  const lines = marks ? 1 : most > 1 ? 2 : 1;
  const cell = marks ? MARK : CELL;
  const blockWidth = columns * (cell + CELL_GAP) - CELL_GAP;
  const blockHeight = lines * (cell + CELL_GAP) - CELL_GAP;
  const gap = marks ? 1 : NODE_GAP;
  const stepX = blockWidth + gap;
  const stepY = blockHeight + gap;
  const perRow = Math.max(1, Math.floor((width + gap) / stepX));
  const rows = Math.ceil(group.nodes.length / perRow);
  return {
    perRow,
    stepX,
    stepY,
    blockWidth,
    blockHeight,
    columns,
    cell,
    height: rows * stepY + 2,
    nodes: group.nodes.length
  };
}

export function readPalette(node: Element): Palette {
  const style = getComputedStyle(node);
  const read = (name: string): string => style.getPropertyValue(name).trim() || '#888';
  return {
    fits: read('--jp-success-color1'),
    free: read('--dra-free'),
    taken: read('--dra-taken'),
    yours: read('--jp-accept-color-normal'),
    out: read('--jp-error-color1')
  };
}

/** Index of the node under a point, null between or beyond. */
export function nodeAt(layout: GroupLayout, x: number, y: number): number | null {
  const column = Math.floor(x / layout.stepX);
  const index = Math.floor(y / layout.stepY) * layout.perRow + column;
  return column < layout.perRow && index >= 0 && index < layout.nodes ? index : null;
}

function paintCell(
  context: CanvasRenderingContext2D,
  x: number,
  y: number,
  size: number,
  device: Device,
  fits: boolean,
  palette: Palette
): void {
  switch (device.state) {
    case 'free':
      context.fillStyle = fits ? palette.fits : palette.free;
      if (fits) {
        context.fillRect(x, y, size, size);
      } else {
        context.fillRect(x, y, size, 1);
        context.fillRect(x, y + size - 1, size, 1);
        context.fillRect(x, y, 1, size);
        context.fillRect(x + size - 1, y, 1, size);
      }
      break;
    case 'yours':
      context.fillStyle = palette.yours;
      context.fillRect(x, y, size, size);
      break;
    case 'out-of-service':
      context.strokeStyle = palette.out;
      context.lineWidth = 1;
      context.beginPath();
      context.moveTo(x, y);
      context.lineTo(x + size, y + size);
      context.moveTo(x + size, y);
      context.lineTo(x, y + size);
      context.stroke();
      break;
    default:
      context.fillStyle = palette.taken;
      context.fillRect(x, y + size * 0.4, size, size * 0.6);
  }
}

function hasYours(row: NodeRow): boolean {
  return row.devices.some(device => device.state === 'yours');
}

/** What one group's canvas shows, and how it becomes what it should show. */
export class Drawing {
  constructor(
    private readonly _context: CanvasRenderingContext2D,
    private readonly _layout: GroupLayout,
    private readonly _palette: Palette,
    private readonly _marks: boolean,
    private readonly _width: number
  ) {}

  /** Draws the nodes that are not the same objects as before; all where the request is another one. Returns how many. */
  show(nodes: readonly NodeRow[], fits: (device: Device) => boolean): number {
    // Rings reach into neighboring nodes and would grow bolder each time.
    const ringed = nodes.flatMap((row, index) => (hasYours(row) ? [index] : []));
    const all = fits !== this._fits || nodes.length !== this._nodes.length || ringed.length > 0 || this._ringed;
    if (all) {
      this._context.clearRect(0, 0, this._width, this._layout.height);
    }
    let painted = 0;
    nodes.forEach((row, index) => {
      if (all || row !== this._nodes[index]) {
        this._paintNode(index, row, fits, !all);
        painted += 1;
      }
    });
    this._paintRings(ringed);
    this._nodes = nodes;
    this._fits = fits;
    this._ringed = ringed.length > 0;
    return painted;
  }

  private _at(index: number): [x: number, y: number] {
    const { perRow, stepX, stepY } = this._layout;
    return [(index % perRow) * stepX, Math.floor(index / perRow) * stepY];
  }

  private _paintNode(index: number, row: NodeRow, fits: (device: Device) => boolean, clear: boolean): void {
    const { _context: context, _layout: layout, _palette: palette } = this;
    const [x, y] = this._at(index);
    if (clear) {
      context.clearRect(x - 1, y - 1, layout.blockWidth + 2, layout.blockHeight + 2);
    }
    const devices = drawnDevices(row.devices);
    if (this._marks) {
      const n = devices.reduce((sum, device) => sum + (device.state === 'free' && fits(device) ? 1 : 0), 0);
      const size = n === 0 ? 1.5 : n === devices.length ? MARK : 3;
      context.fillStyle = n === 0 ? palette.free : palette.fits;
      context.fillRect(x + (MARK - size) / 2, y + (MARK - size) / 2, size, size);
      return;
    }
    const step = layout.cell + CELL_GAP;
    devices.slice(0, 16).forEach((device, place) => {
      const cx = x + (place % layout.columns) * step;
      const cy = y + Math.floor(place / layout.columns) * step;
      paintCell(context, cx, cy, layout.cell, device, fits(device), palette);
    });
  }

  /** Around the nodes with devices of yours. */
  private _paintRings(ringed: readonly number[]): void {
    const { _context: context, _layout: layout } = this;
    context.strokeStyle = this._palette.yours;
    context.lineWidth = 1.5;
    for (const index of ringed) {
      const [x, y] = this._at(index);
      context.beginPath();
      if (this._marks) {
        context.arc(x + MARK / 2, y + MARK / 2, MARK, 0, 2 * Math.PI);
      } else {
        context.rect(x - 1, y - 1, layout.blockWidth + 2, layout.blockHeight + 2);
      }
      context.stroke();
    }
  }

  private _nodes: readonly NodeRow[] = [];
  private _fits: ((device: Device) => boolean) | null = null;
  private _ringed = false;
}
