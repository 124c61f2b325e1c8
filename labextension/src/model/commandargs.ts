/** Arguments of commands: anybody may call a command, also a link in an output, so none is believed. */

import type { ReadonlyPartialJSONObject } from '@lumino/coreutils';

import type { Requirement, Session } from '../api/types';
import { readWish } from './draft';
import type { Workbench } from './workbench';

export type Args = ReadonlyPartialJSONObject;

export interface ArgSchema {
  readonly type: 'object';
  readonly additionalProperties: false;
  readonly properties: Readonly<Record<string, { readonly type: string; readonly maxLength?: number }>>;
}

/** Palette and menus add arguments of their own. */
const LAB_ARGS = new Set(['isPalette', 'isLauncher', 'isMenu', '__luminoEvent', 'cwd']);

/** Refuses arguments outside the schema: an unknown one is somebody's trick, or a mistake. */
export function checkArgs(args: Args, schema: ArgSchema): void {
  const known = schema.properties;
  for (const [name, value] of Object.entries(args)) {
    if (LAB_ARGS.has(name) || value === undefined) {
      continue;
    }
    const rule = known[name];
    if (!rule || typeof value !== rule.type || (typeof value === 'string' && value.length > (rule.maxLength ?? 253))) {
      throw new Error(`jupyter-dra: argument "${name}" is not accepted`);
    }
  }
}

/** Only device fields of a requirement that came from outside. */
export function foreignRequirement(value: unknown): Requirement {
  return readWish({ version: 1, required: value })?.required ?? {};
}

/** The session meant: by id, else that of the current notebook, else the only one. */
export function sessionFor(bench: Pick<Workbench, 'sessions' | 'live' | 'current'>, args: Args): Session | null {
  const id = args['session'];
  if (typeof id === 'string') {
    return bench.sessions.get(id) ?? null;
  }
  const own = bench.sessions.byKernel(bench.current?.kernelId);
  const live = bench.live;
  return own ?? (live.length === 1 ? (live[0] ?? null) : null);
}
