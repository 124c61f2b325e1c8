/** Sizes: GB as printed on the card for choosing, GiB as tools print them for use. */

import { decimal } from './numbers';
import type { Speech } from './speech';

const GIB = 2 ** 30;
const MIB = 2 ** 20;

const UNITS: Readonly<Record<string, number>> = {
  '': 1e9,
  b: 1,
  k: 1e3,
  kb: 1e3,
  m: 1e6,
  mb: 1e6,
  g: 1e9,
  gb: 1e9,
  t: 1e12,
  tb: 1e12,
  ki: 2 ** 10,
  kib: 2 ** 10,
  mi: MIB,
  mib: MIB,
  gi: GIB,
  gib: GIB,
  ti: 2 ** 40,
  tib: 2 ** 40
};

export interface TypedSize {
  bytes: number;
  /** As it goes into the requirement: `80GB`, `80Gi`. */
  wire: string;
  binary: boolean;
}

/** Reads what a person types: a bare number means GB; `null` if it is no size. */
export function parseSize(text: string): TypedSize | null {
  const match = /^\s*(\d+(?:[.,]\d+)?)\s*([a-zA-Z]{0,3})\s*$/.exec(text);
  if (!match) {
    return null;
  }
  const [, number = '', unit = ''] = match;
  const scale = UNITS[unit.toLowerCase()];
  const value = Number.parseFloat(number.replace(',', '.'));
  if (scale === undefined || !(value > 0)) {
    return null;
  }
  const lower = unit.toLowerCase();
  const binary = lower.includes('i');
  const letter = lower ? lower[0]!.toUpperCase() : 'G';
  const suffix =
    lower === 'b' ? '' : binary ? `${letter === 'K' ? 'K' : letter}i` : letter === 'K' ? 'k' : `${letter}B`;
  return { bytes: value * scale, wire: `${value}${suffix}`, binary };
}

/** "80 GB" for `80GB` and `80G`, "80 GiB" for `80Gi`; text that is no size stays as it is. */
export function sizeLabel(wire: string | undefined): string {
  const match = /^\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*$/.exec(wire ?? '');
  if (!match) {
    return wire ?? '';
  }
  const unit = (match[2] ?? '').toLowerCase();
  const letter = unit.charAt(0).toUpperCase();
  if (!letter) {
    return `${match[1]} B`;
  }
  return unit.includes('i') ? `${match[1]} ${letter}iB` : `${match[1]} ${letter}B`;
}

/** Bytes of a wire size such as `80GB`; null if it is none. */
export function wireBytes(wire: string | undefined): number | null {
  if (!wire) {
    return null;
  }
  return parseSize(/[a-zA-Z]\s*$/.test(wire) ? wire : `${wire} B`)?.bytes ?? null;
}

/** Whole decimal GB, rounded down: "80 GB". */
export function cardSize(bytes: number): string {
  return `${Math.floor(bytes / 1e9 + 1e-9)} GB`;
}

/** The number a size in use is shown as, without its unit: one decimal, none from 100 GiB. */
function gib(speech: Speech, bytes: number): string {
  const value = bytes / GIB;
  return decimal(speech, value, value >= 100 || value === 0 ? 0 : 1);
}

/** "37.4 GiB"; below 1 GiB in MiB. */
export function used(speech: Speech, bytes: number): string {
  if (bytes > 0 && bytes < GIB) {
    return `${decimal(speech, bytes / MIB, 0)} MiB`;
  }
  return `${gib(speech, bytes)} GiB`;
}

/** "37.4 of 79.6 GiB": both figures in the unit of the whole. */
export function usedOf(speech: Speech, usedBytes: number, totalBytes: number): string {
  if (totalBytes < GIB) {
    const [a, b] = [usedBytes, totalBytes].map(bytes => decimal(speech, bytes / MIB, 0));
    return speech.trans.__('%1 of %2 MiB', a, b);
  }
  return speech.trans.__('%1 of %2 GiB', gib(speech, usedBytes), gib(speech, totalBytes));
}
