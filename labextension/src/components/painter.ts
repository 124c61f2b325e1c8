/** Draws nodes on a canvas. No state of its own: layout from widths and counts, colours from the page's variables. */

import type { Device } from '../api/types';
import type { NodeGroup, NodeRow } from '../model/devices';
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
  const most = Math.max(1, ...group.nodes.map(row => Math.min(16, drawnDevices(row.devices).length)));
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

/** Clears and draws one node in its place. */
export function paintNode(
  context: CanvasRenderingContext2D,
  layout: GroupLayout,
  index: number,
  row: NodeRow,
  fits: (device: Device) => boolean,
  palette: Palette,
  marks: boolean
): void {
  const x = (index % layout.perRow) * layout.stepX;
  const y = Math.floor(index / layout.perRow) * layout.stepY;
  context.clearRect(x - 1, y - 1, layout.blockWidth + 2, layout.blockHeight + 2);
  const devices = drawnDevices(row.devices);
  if (marks) {
    const n = devices.filter(device => device.state === 'free' && fits(device)).length;
    const size = n === 0 ? 1.5 : n === devices.length ? MARK : 3;
    context.fillStyle = n === 0 ? palette.free : palette.fits;
    context.fillRect(x + (MARK - size) / 2, y + (MARK - size) / 2, size, size);
  } else {
    const step = layout.cell + CELL_GAP;
    devices.slice(0, 16).forEach((device, place) => {
      const cx = x + (place % layout.columns) * step;
      const cy = y + Math.floor(place / layout.columns) * step;
      paintCell(context, cx, cy, layout.cell, device, fits(device), palette);
    });
  }
}

/** Rings around the nodes with devices of yours; drawn last, because they reach into their neighbors. */
export function paintRings(
  context: CanvasRenderingContext2D,
  layout: GroupLayout,
  nodes: readonly NodeRow[],
  palette: Palette,
  marks: boolean
): void {
  context.strokeStyle = palette.yours;
  context.lineWidth = 1.5;
  nodes.forEach((row, index) => {
    if (!row.devices.some(device => device.state === 'yours')) {
      return;
    }
    const x = (index % layout.perRow) * layout.stepX;
    const y = Math.floor(index / layout.perRow) * layout.stepY;
    context.beginPath();
    if (marks) {
      context.arc(x + MARK / 2, y + MARK / 2, MARK, 0, 2 * Math.PI);
    } else {
      context.rect(x - 1, y - 1, layout.blockWidth + 2, layout.blockHeight + 2);
    }
    context.stroke();
  });
}
