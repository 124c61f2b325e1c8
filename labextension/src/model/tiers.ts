/** The rows of the tier list and the columns of the memory scale, counted from what the server says exists. */

import type { Counts, Requirement, Tier, TierList, TierSize } from '../api/types';
import { wireBytes } from '../format/sizes';

/** Tiers shown before "All 14 tiers". */
export const FEW_TIERS = 6;

export interface Cells {
  fits: number;
  free: number;
  taken: number;
  out: number;
}

export type TierNote = 'too-small' | 'too-large' | 'scales-from-zero' | 'not-offered';

export interface TierRow {
  /** Null is "Any GPU". */
  readonly tier: Tier | null;
  readonly name: string | null;
  readonly devices: number;
  readonly free: number | null;
  readonly freeAtMost: number | null;
  readonly exclusive: boolean;
  readonly sizes: readonly TierSize[];
  readonly note: TierNote | null;
  readonly cells: Cells;
}

export interface Column {
  readonly label: string;
  readonly bytes: number;
  readonly devices: number;
  readonly free: number | null;
  readonly freeAtMost: number | null;
  /** Parts that exclude each other: their counts cannot be added. */
  readonly exclusive: boolean;
  /** Of the chosen tier. */
  readonly offered: boolean;
  /** Inside the asked limits, and of the chosen tier. */
  readonly fits: boolean;
}

export function isGPUTier(tier: Tier): boolean {
  return tier.device_kind === 'gpu' && tier.sizes.length > 0;
}

function smallest(tier: Tier): number {
  return Math.min(...tier.sizes.map(size => size.min_bytes));
}

/** Whole devices by memory, then parts, then kinds without memory; never by what is free. */
export function sortTiers(tiers: readonly Tier[]): Tier[] {
  const group = (tier: Tier): number => (!tier.sizes.length ? 2 : tier.device_kind === 'part' ? 1 : 0);
  return [...tiers].sort(
    (a, b) =>
      group(a) - group(b) ||
      (a.sizes.length ? smallest(a) - smallest(b) : 0) ||
      (a.display_name ?? a.name).localeCompare(b.display_name ?? b.name)
  );
}

/**
 * Tiers to choose from, and those that stay folded: companions such as network cards, and classes without a display
 * name beside named ones.
 */
export function offeredTiers(list: TierList): { main: Tier[]; other: Tier[] } {
  const visible = sortTiers(list.tiers.filter(tier => !tier.hidden));
  const named = visible.some(tier => tier.display_name);
  const isMain = (tier: Tier): boolean =>
    tier.device_kind !== 'nic' && tier.device_kind !== 'cpu' && (!named || tier.display_name !== null);
  return { main: visible.filter(isMain), other: visible.filter(tier => !isMain(tier)) };
}

/** Whether a device of the tier that a request names is free, as far as is known; false where it names none. */
export function isTierFree(tiers: TierList | null, requirement: Requirement | null): boolean {
  const tier = requirement?.tier ? tiers?.tiers.find(item => item.name === requirement.tier) : undefined;
  return (tier?.free ?? 0) > 0;
}

interface Limits {
  least: number;
  most: number;
}

export function limitsOf(requirement: Requirement): Limits {
  return {
    least: wireBytes(requirement.vram) ?? 0,
    most: wireBytes(requirement.max_vram) ?? Number.POSITIVE_INFINITY
  };
}

function within(size: TierSize, { least, most }: Limits): boolean {
  return size.max_bytes >= least && size.min_bytes <= most;
}

function known(free: number | null, atMost: number | null): number {
  return free ?? atMost ?? 0;
}

function cells(devices: number, free: number, out: number, sizes: readonly TierSize[], limits: Limits): Cells {
  const fitting = sizes
    .filter(size => within(size, limits))
    .reduce((total, size) => total + known(size.free, size.free_at_most), 0);
  const fits = sizes.length ? Math.min(free, fitting) : 0;
  return { fits, free: free - fits, out, taken: Math.max(0, devices - free - out) };
}

function noteOf(tier: Tier, limits: Limits): TierNote | null {
  if (tier.sizes.length && tier.sizes.every(size => size.max_bytes < limits.least)) {
    return 'too-small';
  }
  if (tier.sizes.length && tier.sizes.every(size => size.min_bytes > limits.most)) {
    return 'too-large';
  }
  if (!tier.available && !tier.scales_from_zero) {
    return 'not-offered';
  }
  return tier.scales_from_zero && !tier.devices ? 'scales-from-zero' : null;
}

/**
 * The change of choosing a tier. How many devices goes with it, so that it is seen: another tier's usual number is
 * taken back, and a number that the tier does not offer becomes its own usual one.
 */
export function choiceOf(list: TierList, requirement: Requirement, name: string | null): Partial<Requirement> {
  const before = list.tiers.find(tier => tier.name === requirement.tier);
  const next = list.tiers.find(tier => tier.name === name);
  const { count } = requirement;
  const asked = count === before?.usual_count ? undefined : count;
  const usual = usualCount(next) === 1 ? undefined : next?.usual_count;
  return { tier: name ?? undefined, count: asked !== undefined && (!next || isOffered(next, asked)) ? asked : usual };
}

/** How many devices are meant where nobody says. */
export function usualCount(tier: Tier | undefined): number | 'all' {
  return tier?.usual_count ?? 1;
}

function isOffered(tier: Tier, count: number | 'all'): boolean {
  const { counts } = tier.limits;
  return (
    counts === null || counts === count || (typeof count === 'number' && counts !== 'all' && counts.includes(count))
  );
}

export function tierRow(tier: Tier, requirement: Requirement): TierRow {
  const limits = limitsOf(requirement);
  const free = known(tier.free, tier.free_at_most);
  return {
    tier,
    name: tier.name,
    devices: tier.devices ?? 0,
    free: tier.free,
    freeAtMost: tier.free_at_most,
    exclusive: tier.exclusive_parts,
    sizes: tier.sizes,
    note: noteOf(tier, limits),
    cells: cells(tier.devices ?? 0, free, tier.out_of_service ?? 0, tier.sizes, limits)
  };
}

export function anyRow(any: Counts, requirement: Requirement): TierRow {
  const limits = limitsOf(requirement);
  const free = known(any.free, any.free_at_most);
  return {
    tier: null,
    name: null,
    devices: any.devices ?? 0,
    free: any.free,
    freeAtMost: any.free_at_most,
    exclusive: false,
    sizes: any.sizes,
    note: any.sizes.every(size => size.max_bytes < limits.least) ? 'too-small' : null,
    cells: cells(any.devices ?? 0, free, any.out_of_service ?? 0, any.sizes, limits)
  };
}

/** One column per size that exists anywhere; those the choice rules out stay, without their green. */
export function columns(list: TierList, requirement: Requirement): Column[] {
  const limits = limitsOf(requirement);
  const chosen = requirement.tier ?? null;
  const tiers = list.tiers.filter(tier => !tier.hidden && tier.sizes.length);
  const own = chosen === null ? (list.any_gpu?.sizes ?? []) : (tiers.find(tier => tier.name === chosen)?.sizes ?? []);
  const byLabel = new Map<string, Column>();
  const add = (size: TierSize, exclusive: boolean, offered: boolean): void => {
    const before = byLabel.get(size.label);
    if (before && (before.offered || !offered) && before.devices >= size.devices) {
      return;
    }
    byLabel.set(size.label, {
      label: size.label,
      bytes: size.min_bytes,
      devices: size.devices,
      free: size.free,
      freeAtMost: size.free_at_most,
      exclusive,
      offered,
      fits: offered && within(size, limits)
    });
  };
  for (const tier of tiers) {
    for (const size of tier.sizes) {
      add(size, tier.exclusive_parts, false);
    }
  }
  const exclusive = tiers.find(tier => tier.name === chosen)?.exclusive_parts ?? false;
  for (const size of own) {
    const { label } = size;
    byLabel.delete(label);
    add(size, exclusive, true);
  }
  return [...byLabel.values()].sort((a, b) => a.bytes - b.bytes);
}

/** The wire size a column writes: "80 GB" → `80GB`. */
export function columnWire(column: Column): string {
  return column.label.replace(/\s+/g, '');
}

/** Index of the first column at or above the asked size; -1 for "any", the count of columns beyond the largest. */
export function thumbIndex(list: readonly Column[], requirement: Requirement): number {
  const { least } = limitsOf(requirement);
  if (!least) {
    return -1;
  }
  const index = list.findIndex(column => Math.max(column.bytes, wireBytes(columnWire(column)) ?? 0) >= least);
  return index === -1 ? list.length : index;
}

export interface GenerationChoice {
  readonly name: string;
  /** "or newer" by compute capability, only where one vendor alone is offered. */
  readonly capability: string | null;
}

/** Generations to choose from within a tier, oldest first where their capability says so. */
export function generations(list: TierList, tierName: string | null): GenerationChoice[] {
  const tiers = list.tiers.filter(
    tier => !tier.hidden && (tierName === null ? isGPUTier(tier) : tier.name === tierName)
  );
  const found = new Map<string, { capability: string | null; vendor: string }>();
  for (const tier of tiers) {
    for (const { name, compute_capability: capability, vendor } of tier.architectures ?? []) {
      found.set(name, { capability, vendor });
    }
  }
  const oneVendor = new Set([...found.values()].map(item => item.vendor)).size === 1;
  const number = (text: string | null): number => Number.parseFloat(text ?? '0');
  return [...found]
    .sort(([a, x], [b, y]) => number(x.capability) - number(y.capability) || a.localeCompare(b))
    .map(([name, item]) => ({ name, capability: oneVendor ? item.capability : null }));
}
