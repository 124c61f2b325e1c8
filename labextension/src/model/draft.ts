/** The form of a new session as a value: what it asks for, what was typed, what one step back would be. */

import type { Relaxation, Requirement } from '../api/types';
import { parseSize, sizeLabel } from '../format/sizes';

export interface Draft {
  readonly requirement: Requirement;
  /** Texts of the memory fields; they may hold what is not a size yet. */
  readonly atLeast: string;
  readonly atMost: string;
  /** What a pressed change replaced. */
  readonly undo: Requirement | null;
}

/** Fields of a requirement that say which device, as opposed to what runs on it. */
export const DEVICE_FIELDS = [
  'tier',
  'vram',
  'max_vram',
  'count',
  'product',
  'architecture',
  'compute_capability',
  'driver_version',
  'where',
  'near',
  'align',
  'spread',
  'or_else',
  'share',
  'tolerate',
  'claim'
] as const;

/** Fields that a notebook file may prefill: never image, environment, volumes or namespace. */
export const WISH_FIELDS: readonly (keyof Requirement)[] = [...DEVICE_FIELDS.filter(field => field !== 'claim')];

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0);
}

/** A requirement without its empty fields. */
export function tidy(requirement: Requirement): Requirement {
  const entries = Object.entries(requirement).filter(([, value]) => !isEmpty(value));
  return Object.fromEntries(entries) as Requirement;
}

export function draftOf(requirement: Requirement, undo: Requirement | null = null): Draft {
  const tidied = tidy(requirement);
  return {
    requirement: tidied,
    atLeast: sizeLabel(tidied.vram),
    atMost: sizeLabel(tidied.max_vram),
    undo
  };
}

export const EMPTY_DRAFT: Draft = draftOf({});

/** Changes fields; an empty value removes its field. */
export function patch(draft: Draft, change: Partial<Requirement>): Draft {
  const requirement = tidy({ ...draft.requirement, ...change });
  return {
    ...draft,
    requirement,
    atLeast: 'vram' in change ? sizeLabel(requirement.vram) : draft.atLeast,
    atMost: 'max_vram' in change ? sizeLabel(requirement.max_vram) : draft.atMost,
    undo: null
  };
}

/** Typing in a memory field: the requirement follows only as far as the text is a size. */
export function typeMemory(draft: Draft, field: 'atLeast' | 'atMost', text: string): Draft {
  const key = field === 'atLeast' ? 'vram' : 'max_vram';
  const size = parseSize(text);
  const { [key]: _, ...rest } = draft.requirement;
  const requirement = size ? { ...rest, [key]: size.wire } : rest;
  return { ...draft, requirement, [field]: text, undo: null };
}

/** Text in the field that is neither empty nor a size. */
export function isUnreadable(text: string): boolean {
  return text.trim() !== '' && parseSize(text) === null;
}

/** Applies a change that the planner offered; the form as it was stays one press away. */
export function relax(draft: Draft, relaxation: Relaxation): Draft {
  const changed = draftOf({ ...draft.requirement, ...(relaxation.change as Partial<Requirement>) });
  return { ...changed, undo: draft.requirement };
}

export function undo(draft: Draft): Draft {
  return draft.undo ? draftOf(draft.undo) : draft;
}

export type ChipField = (typeof DEVICE_FIELDS)[number];

/** The fields that stand as chips, in reading order. */
export function chipFields(requirement: Requirement): ChipField[] {
  const shown = DEVICE_FIELDS.filter(field => !isEmpty(requirement[field]) && field !== 'align');
  const named = shown.filter(field => field !== 'count');
  return requirement.count === 1 || !shown.includes('count') ? named : ['count', ...named];
}

export function removeChip(draft: Draft, field: ChipField): Draft {
  return patch(draft, { [field]: undefined, ...(field === 'near' ? { align: undefined } : {}) });
}

/** What says which device; the rest holds without being written into a request. */
export function deviceOnly(requirement: Requirement): Requirement {
  const device: ReadonlySet<string> = new Set(DEVICE_FIELDS);
  return Object.fromEntries(Object.entries(requirement).filter(([field]) => device.has(field))) as Requirement;
}

/** What runs on the device, and how long: kept whatever says which device. */
function besidesDevice(requirement: Requirement): Requirement {
  const device: ReadonlySet<string> = new Set(DEVICE_FIELDS);
  return Object.fromEntries(Object.entries(requirement).filter(([field]) => !device.has(field))) as Requirement;
}

/** A claim written by hand stands for all fields that say which device. */
export function written(draft: Draft, claim: Readonly<Record<string, unknown>>): Draft {
  return draftOf({ ...besidesDevice(draft.requirement), claim }, draft.requirement);
}

/** Back to the form, with what the claim says in its fields. */
export function asForm(draft: Draft, form: Requirement | null): Draft {
  const fields = Object.entries(form ?? {}).filter(([field]) => field !== 'claim');
  return draftOf(
    { ...besidesDevice(draft.requirement), ...(Object.fromEntries(fields) as Requirement) },
    draft.requirement
  );
}

/** Whether two requirements ask for the same, whatever the order of their fields. */
export function sameRequirement(a: Requirement, b: Requirement): boolean {
  const canonical = (value: Requirement): string =>
    JSON.stringify(Object.entries(tidy(value)).sort(([x], [y]) => (x < y ? -1 : 1)));
  return canonical(a) === canonical(b);
}

export interface Wish {
  required: Requirement;
  preferred: Requirement;
}

function pick(value: unknown): Requirement {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return {};
  }
  const source = value as Record<string, unknown>;
  const entries = WISH_FIELDS.filter(field => Object.hasOwn(source, field)).map(field => [field, source[field]]);
  return sane(Object.fromEntries(entries) as Requirement);
}

/** Keeps only values of the type their field has: a file can hold anything. */
function sane(value: Requirement): Requirement {
  const text = (item: unknown): boolean => typeof item === 'string' && item.length <= 4096;
  const texts = (item: unknown): boolean =>
    text(item) || (Array.isArray(item) && item.length <= 32 && item.every(text));
  const checks: Partial<Record<keyof Requirement, (item: unknown) => boolean>> = {
    tier: text,
    vram: text,
    max_vram: text,
    count: item => item === 'all' || (Number.isInteger(item) && (item as number) > 0 && (item as number) <= 1024),
    product: texts,
    architecture: texts,
    compute_capability: text,
    driver_version: text,
    where: texts,
    align: text,
    spread: text,
    near: item => Array.isArray(item) && item.length <= 8,
    or_else: item => Array.isArray(item) && item.length <= 7,
    share: item => typeof item === 'object',
    tolerate: item => Array.isArray(item) && item.length <= 16
  };
  const kept = Object.entries(value).filter(([field, item]) => checks[field as keyof Requirement]?.(item));
  const result = Object.fromEntries(kept) as Requirement;
  const nested = (items: readonly unknown[]): Requirement[] => items.map(item => pick(item));
  return tidy({
    ...result,
    near: result.near && nested(result.near),
    or_else: result.or_else && nested(result.or_else)
  });
}

/** Reads `metadata["jupyter-dra"]` of a notebook; null where there is nothing of ours in it. */
export function readWish(metadata: unknown): Wish | null {
  if (typeof metadata !== 'object' || metadata === null) {
    return null;
  }
  const { version, required, preferred } = metadata as Record<string, unknown>;
  if (version !== 1) {
    return null;
  }
  const wish = { required: pick(required), preferred: pick(preferred) };
  return Object.keys(wish.required).length || Object.keys(wish.preferred).length ? wish : null;
}
