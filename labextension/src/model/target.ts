/** What a launch is for, and what must be asked before it. */

import type { ISignal } from '@lumino/signaling';

import type { Session } from '../api/types';

export interface NotebookInfo {
  readonly path: string;
  readonly name: string;
  readonly kernelId: string | null;
  /** Its kernel has run a cell, so that replacing it loses variables. */
  readonly hasRun: boolean;
  /** `metadata["jupyter-dra"]` as it stands in the file. */
  readonly wish: unknown;
}

/** What the models need from the notebooks on screen; the plugins provide it. */
export interface Notebooks {
  readonly current: NotebookInfo | null;
  readonly changed: ISignal<unknown, void>;
  find(path: string): NotebookInfo | null;
  /** Opens a new notebook on a running kernel; resolves with its path. */
  openNew(kernel: { id: string; name: string }): Promise<string | null>;
  /** Moves an open notebook to a running kernel. */
  moveTo(path: string, kernel: { id: string; name: string }): Promise<void>;
  /** Shows a notebook. */
  reveal(path: string): Promise<void>;
  /** Restarts a kernel through its open notebook; false where none is open. */
  restart(kernelId: string): Promise<boolean>;
  /** Path of the open notebook that uses a kernel. */
  pathOf(kernelId: string): string | null;
  /** Writes the notebook's wish into its metadata. */
  remember(path: string, wish: unknown): void;
  isVisible(path: string): boolean;
}

export type Target = { kind: 'notebook'; path: string; name: string } | { kind: 'new' };

/** The current notebook if its kernel has not run a cell, else a new one; a remembered choice comes first. */
export function defaultTarget(current: NotebookInfo | null, remembered: 'here' | 'new' | null): Target {
  if (!current || remembered === 'new') {
    return { kind: 'new' };
  }
  if (remembered === 'here' || !current.hasRun) {
    return { kind: 'notebook', path: current.path, name: current.name };
  }
  return { kind: 'new' };
}

/** Replacing a kernel that has run a cell loses its variables. */
export function mustAskToReplace(target: Target, notebooks: Pick<Notebooks, 'find'>): boolean {
  return target.kind === 'notebook' && (notebooks.find(target.path)?.hasRun ?? false);
}

/** Notebooks that lose their variables when the session stops; none, and nothing is asked. */
export function losers(session: Session, notebooks: Pick<Notebooks, 'find'>): string[] {
  return session.kernels
    .filter(kernel => {
      const open = kernel.notebook ? notebooks.find(kernel.notebook) : null;
      // A notebook that is not on screen here may have run cells elsewhere.
      return open ? open.hasRun : true;
    })
    .map(kernel => kernel.notebook ?? kernel.name);
}
