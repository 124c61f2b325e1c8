/** The hint under the verdict: the likely device is far larger than asked, and a smaller one that fits is free. */

import type { Plan, TierList } from '../api/types';
import { wireBytes } from '../format/sizes';
import { likelyDevice } from './plan';

export interface SizeHint {
  readonly device: string;
  readonly size: string;
  /** What `max_vram` becomes: just below the larger size. */
  readonly maxVram: string;
}

function labelBytes(label: string | null): number | null {
  const size = /(\d+)\s*GB$/.exec(label ?? '')?.[1];
  return size ? Number(size) * 1e9 : null;
}

/** Null unless the likely device has at least twice the asked memory and a smaller fitting one is free. */
export function rightSizeHint(plan: Plan, tiers: TierList | null): SizeHint | null {
  const asked = wireBytes(plan.requirement?.vram);
  const label = likelyDevice(plan)?.label ?? null;
  const likely = labelBytes(label);
  if (!tiers || !asked || !likely || likely < 2 * asked || plan.requirement?.max_vram) {
    return null;
  }
  const chosen = plan.requirement?.tier;
  const sizes = chosen ? (tiers.tiers.find(tier => tier.name === chosen)?.sizes ?? []) : (tiers.any_gpu?.sizes ?? []);
  const smaller = sizes.some(
    size => size.max_bytes >= asked && (labelBytes(size.label) ?? size.min_bytes) < likely && (size.free ?? 0) > 0
  );
  const gigabytes = likely / 1e9;
  return smaller ? { device: label ?? '', size: `${gigabytes} GB`, maxVram: `${gigabytes - 1}GB` } : null;
}
