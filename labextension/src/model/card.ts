/**
 * The data of a card in an output, read with suspicion: listed fields only, sizes and depth capped.
 *
 * Anybody can write such an output; a card shows, it never asks the server and never acts by itself.
 */

import type { OutputGap } from '../format/outputgap';

export const CARD_KINDS = ['device', 'ended', 'none', 'mismatch', 'sessions', 'gap', 'request'] as const;
export type CardKind = (typeof CARD_KINDS)[number];

export interface CardDevice {
  readonly name: string;
  readonly node: string | null;
  readonly driver: string | null;
  readonly kind: 'gpu' | 'part' | 'tpu' | 'nic' | 'cpu' | 'other';
  readonly label: string | null;
  readonly product: string | null;
  readonly memoryBytes: number | null;
  readonly profile: string | null;
  /** An amount of a device that others use too. */
  readonly shared: boolean;
  readonly simulated: boolean;
  readonly attributes: readonly { name: string; value: string; source: string | null }[];
}

export interface CardUsage {
  readonly usedBytes: number | null;
  readonly totalBytes: number | null;
  readonly percent: number | null;
  readonly whyMissing: string | null;
}

export interface CardSession {
  readonly id: string;
  readonly name: string;
  readonly activity: string | null;
  readonly state: string | null;
  /** The kernel whose output the card is. */
  readonly kernel: string | null;
}

/** What a kernel may not do itself, or only this page can: it asks, and a person decides. */
export interface CardRequest {
  readonly action: string;
  /** As it came; whoever acts on it keeps the device fields only. */
  readonly requirement: unknown;
  /** What a plan said of it; null where none was made. */
  readonly verdict: string | null;
  /** The same for people who would rather type it. */
  readonly code: string | null;
  readonly shell: string | null;
}

export interface Card {
  readonly kind: CardKind;
  readonly compact: boolean;
  readonly session: CardSession | null;
  readonly devices: readonly CardDevice[];
  readonly usage: CardUsage | null;
  readonly leaseEnds: string | null;
  readonly asOf: string | null;
  readonly checkedInKernel: string | null;
  readonly facts: readonly { name: string; value: string; source: string | null }[];
  readonly sees: { count: number; given: number; extra: string | null } | null;
  /** Of a list of sessions: one line each. */
  readonly sessions: readonly { id: string; devices: readonly CardDevice[] }[];
  readonly ended: {
    code: string;
    at: string | null;
    exitCode: number | null;
    message: string | null;
    params: Record<string, unknown>;
  } | null;
  readonly held: readonly { id: string; name: string }[];
  readonly message: string | null;
  /** What stands in place of output that was not kept. */
  readonly gap: OutputGap | null;
  readonly request: CardRequest | null;
  /** Sentences of the kernel's side: mismatch, simulation, what is missing. */
  readonly notes: readonly string[];
}

const MAX_TEXT = 512;
const MAX_CODE = 8192;
const MAX_ITEMS = 64;
const MAX_CHARS = 200_000;

type Dict = Record<string, unknown>;

function dict(value: unknown): Dict {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Dict) : {};
}

function own(source: Dict, key: string): unknown {
  return Object.hasOwn(source, key) ? source[key] : undefined;
}

function text(source: Dict, ...keys: string[]): string | null {
  for (const key of keys) {
    const value = own(source, key);
    if (typeof value === 'string' && value) {
      return value.length > MAX_TEXT ? `${value.slice(0, MAX_TEXT)}…` : value;
    }
  }
  return null;
}

function number(source: Dict, ...keys: string[]): number | null {
  for (const key of keys) {
    const value = own(source, key);
    if (typeof value === 'number' && Number.isFinite(value)) {
      return value;
    }
  }
  return null;
}

function items(value: unknown): unknown[] {
  return Array.isArray(value) ? value.slice(0, MAX_ITEMS) : [];
}

function scalar(value: unknown): string | null {
  if (typeof value === 'string') {
    return value.length > MAX_TEXT ? `${value.slice(0, MAX_TEXT)}…` : value;
  }
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : null;
}

/** `{"string": "Hopper"}`, `{"int": 0}`, a plain value, or `{"value": …, "source": …}`. */
function attributes(value: unknown, sources: Dict): CardDevice['attributes'] {
  return Object.entries(dict(value))
    .slice(0, MAX_ITEMS)
    .flatMap(([name, entry]) => {
      const box = dict(entry);
      const shown =
        scalar(entry) ??
        ['string', 'int', 'bool', 'version', 'value'].map(key => scalar(own(box, key))).find(item => item !== null) ??
        null;
      return shown === null
        ? []
        : [{ name: name.slice(0, MAX_TEXT), value: shown, source: text(box, 'source') ?? text(sources, name) }];
    });
}

const KINDS = ['gpu', 'part', 'tpu', 'nic', 'cpu', 'other'] as const;

function device(value: unknown): CardDevice {
  const source = dict(value);
  const share = dict(own(source, 'share'));
  const found = attributes(own(source, 'attributes'), dict(own(source, 'sources')));
  const published = found.find(item => item.name.split('/').pop() === 'profile');
  const profile = text(share, 'profile') ?? text(source, 'profile') ?? published?.value ?? null;
  const kind = KINDS.find(item => item === own(source, 'device_kind')) ?? (profile ? 'part' : 'gpu');
  const nodes = items(own(source, 'nodes'));
  return {
    name: text(source, 'name', 'device') ?? '',
    node: text(source, 'node') ?? scalar(nodes[0]) ?? null,
    driver: text(source, 'driver'),
    kind,
    label: text(source, 'label'),
    product: text(source, 'product'),
    memoryBytes: number(source, 'memory_bytes'),
    profile,
    shared: Object.keys(dict(own(share, 'consumed'))).length > 0,
    simulated: own(source, 'simulated') === true,
    attributes: found
  };
}

function facts(value: unknown): Card['facts'] {
  const list = Array.isArray(value)
    ? items(value).map(dict)
    : Object.entries(dict(value))
        .slice(0, MAX_ITEMS)
        .map(([name, entry]) => ({ name, ...(typeof entry === 'object' ? dict(entry) : { value: entry }) }));
  return list.flatMap(item => {
    const source = item as Dict;
    const name = text(source, 'name', 'label');
    const shown = scalar(own(source, 'value'));
    return name && shown !== null ? [{ name, value: shown, source: text(source, 'source') }] : [];
  });
}

function session(value: unknown): Card['session'] {
  if (typeof value === 'string') {
    return {
      id: value.slice(0, 253),
      name: value.slice(0, 253).replace(/-[a-z0-9]{5}$/, ''),
      activity: null,
      state: null,
      kernel: null
    };
  }
  const source = dict(value);
  const id = text(source, 'id');
  return id
    ? {
        id,
        name: text(source, 'name') ?? id,
        activity: text(source, 'activity'),
        state: text(source, 'state'),
        kernel: text(source, 'kernel_id')
      }
    : null;
}

function usage(value: unknown): CardUsage | null {
  if (typeof value !== 'object' || value === null) {
    return null;
  }
  const source = dict(value);
  return {
    usedBytes: number(source, 'memory_used_bytes'),
    totalBytes: number(source, 'memory_total_bytes'),
    percent: number(source, 'utilisation_percent'),
    whyMissing: text(source, 'why_missing')
  };
}

function ended(value: unknown): Card['ended'] {
  const source = dict(value);
  const code = text(source, 'code');
  if (!code) {
    return null;
  }
  const params = Object.fromEntries(
    Object.entries(dict(own(source, 'params')))
      .slice(0, 16)
      .filter(([, item]) => scalar(item) !== null)
  );
  return {
    code,
    at: text(source, 'at'),
    exitCode: number(source, 'exit_code'),
    message: text(source, 'message'),
    params
  };
}

/** The sessions of a list, each with its devices. */
function sessionLines(value: unknown): Card['sessions'] {
  return items(own(dict(value), 'sessions')).flatMap(item => {
    const source = dict(item);
    const id = text(source, 'id');
    return id ? [{ id, devices: items(own(source, 'devices')).map(device) }] : [];
  });
}

function gap(value: unknown): OutputGap {
  const source = dict(value);
  return {
    lines: Math.max(0, Math.floor(number(source, 'lines') ?? 0)),
    bytes: Math.max(0, number(source, 'bytes') ?? 0),
    since: text(source, 'since'),
    until: text(source, 'until')
  };
}

function request(source: Dict): CardRequest {
  const lines = (key: string): string | null => {
    const value = own(source, key);
    return typeof value === 'string' && value ? value.slice(0, MAX_CODE) : null;
  };
  return {
    action: text(source, 'action') ?? '',
    requirement: own(source, 'requirement') ?? {},
    verdict: text(source, 'verdict'),
    code: lines('code'),
    shell: lines('shell')
  };
}

function tooLarge(data: unknown): boolean {
  try {
    return JSON.stringify(data).length > MAX_CHARS;
  } catch {
    return true;
  }
}

/** Null for what is no card of a version we know, is too large, or of no known kind. */
export function readCard(data: unknown): Card | null {
  const source = dict(data);
  const kind = CARD_KINDS.find(item => item === own(source, 'card'));
  if (own(source, 'version') !== 1 || !kind || tooLarge(data)) {
    return null;
  }
  const inner = dict(own(source, 'session'));
  const lease = dict(own(source, 'lease') ?? own(inner, 'lease'));
  const inside = dict(own(source, 'inside'));
  const sees = number(inside, 'sees', 'count');
  return {
    kind,
    compact: own(source, 'compact') === true,
    session: session(own(source, 'session')),
    devices: items(own(source, 'devices') ?? own(inner, 'devices')).map(device),
    usage: usage(own(source, 'usage') ?? own(inner, 'usage')),
    leaseEnds: text(lease, 'ends_at'),
    asOf: text(source, 'as_of'),
    checkedInKernel: text(inside, 'at'),
    facts: facts(own(source, 'facts')),
    sees: sees === null ? null : { count: sees, given: number(inside, 'given') ?? sees, extra: text(inside, 'extra') },
    ended: ended(own(source, 'ended') ?? own(inner, 'ended')),
    held: items(own(source, 'held')).flatMap(item => {
      const found = session(item);
      return found ? [{ id: found.id, name: found.name }] : [];
    }),
    message: text(source, 'message', 'subtitle'),
    sessions: sessionLines(own(source, 'sessions')),
    gap: kind === 'gap' ? gap(own(source, 'gap')) : null,
    request: kind === 'request' ? request(source) : null,
    notes: items(own(source, 'notes')).flatMap(note => scalar(note) ?? [])
  };
}
