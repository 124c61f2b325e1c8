/** What the panel remembers per user, cluster and namespace; nothing secret, no accepted marks, no other names. */

import type { IStateDB } from '@jupyterlab/statedb';
import type { ReadonlyPartialJSONValue } from '@lumino/coreutils';

import type { Requirement } from '../api/types';
import { sameRequirement, tidy } from './draft';
import { Observable } from './observable';

export type SectionName = 'sessions' | 'new' | 'options' | 'claim' | 'devices';
export type DevicesView = 'picture' | 'list' | 'waiting';

export interface Preset {
  readonly name: string | null;
  readonly requirement: Requirement;
}

export interface Memory {
  readonly open: Readonly<Record<SectionName, boolean>>;
  readonly devicesView: DevicesView;
  readonly grouping: 'node' | 'kind' | null;
  readonly recent: readonly Preset[];
  readonly target: 'here' | 'new' | null;
  readonly byNotebook: Readonly<Record<string, Requirement>>;
}

export const FRESH: Memory = {
  open: { sessions: true, new: true, options: false, claim: false, devices: false },
  devicesView: 'picture',
  grouping: null,
  recent: [],
  target: null,
  byNotebook: {}
};

const RECENT = 5;
const NOTEBOOKS = 50;

/** What of a requirement may be remembered: not accepted marks, not the environment. */
export function storable(requirement: Requirement): Requirement {
  const { tolerate: _tolerate, env: _env, name: _name, namespace: _namespace, ...rest } = requirement;
  return tidy(rest);
}

/** Adds a request to the recent ones: newest first, each once, named presets kept beside the five. */
export function addRecent(recent: readonly Preset[], requirement: Requirement): Preset[] {
  const kept = storable(requirement);
  const named = recent.filter(preset => preset.name !== null);
  const unnamed = recent.filter(preset => preset.name === null && !sameRequirement(preset.requirement, kept));
  return [{ name: null, requirement: kept }, ...unnamed.slice(0, RECENT - 1), ...named];
}

/** The first request that exists decides what the form starts with. */
export function firstRequest(
  wish: Requirement | null,
  ofNotebook: Requirement | undefined,
  ofUser: Requirement | undefined,
  tierDefaults: Requirement | undefined
): Requirement {
  return wish ?? ofNotebook ?? ofUser ?? tierDefaults ?? {};
}

export class Remembered {
  constructor(private readonly _db: IStateDB | null) {}

  readonly state = new Observable<Memory>(FRESH);

  /** Switches to the memory of another cluster and namespace. */
  async load(cluster: string | null, namespace: string | null): Promise<void> {
    const key = `jupyter-dra:remembered:${cluster ?? ''}/${namespace ?? ''}`;
    if (key === this._key) {
      return;
    }
    this._key = key;
    const stored = await this._db?.fetch(key).catch(() => undefined);
    if (this._key === key && stored && typeof stored === 'object' && !Array.isArray(stored)) {
      const memory = stored as unknown as Partial<Memory>;
      this.state.set({ ...FRESH, ...memory, open: { ...FRESH.open, ...memory.open } });
    }
  }

  update(change: Partial<Memory>): void {
    this.state.update(state => ({ ...state, ...change }));
    if (this._key) {
      void this._db?.save(this._key, this.state.value as unknown as ReadonlyPartialJSONValue).catch(() => undefined);
    }
  }

  toggle(section: SectionName, open?: boolean): void {
    const { open: sections } = this.state.value;
    this.update({ open: { ...sections, [section]: open ?? !sections[section] } });
  }

  /** Notes a launched request. */
  launched(requirement: Requirement, notebook: string | null): void {
    const { recent, byNotebook } = this.state.value;
    const others = Object.entries(byNotebook).filter(([path]) => path !== notebook);
    this.update({
      recent: addRecent(recent, requirement),
      byNotebook: notebook
        ? Object.fromEntries([...others.slice(-NOTEBOOKS + 1), [notebook, storable(requirement)]])
        : byNotebook
    });
  }

  private _key: string | null = null;
}
