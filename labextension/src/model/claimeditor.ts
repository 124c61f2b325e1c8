/** The claim while somebody writes it: checked a moment after the last key, superseded checks cancelled. */

import { Problem, type DRAClient } from '../api/client';
import type { ClaimPreview } from '../api/types';
import { Observable } from './observable';

export interface Editing {
  readonly text: string;
  /** What the server reads in `text`; null until it has, or where it is no claim. */
  readonly read: ClaimPreview | null;
  /** Why it is no claim. */
  readonly problem: string | null;
}

const TYPING_MS = 250;

export class ClaimEditor {
  constructor(private readonly _client: Pick<DRAClient, 'readClaim'>) {}

  /** Null while nobody edits. */
  readonly state = new Observable<Editing | null>(null);

  open(text: string): void {
    this.type(text, 0);
  }

  type(text: string, delay = TYPING_MS): void {
    this._cancel();
    this.state.set({ text, read: null, problem: null });
    this._timer = setTimeout(() => void this._check(text), delay);
  }

  close(): void {
    this._cancel();
    this.state.set(null);
  }

  dispose(): void {
    this._cancel();
    this.state.dispose();
  }

  private async _check(text: string): Promise<void> {
    const abort = new AbortController();
    this._abort = abort;
    try {
      const read = await this._client.readClaim(text, { signal: abort.signal });
      this._settle(abort, { text, read, problem: null });
    } catch (error) {
      const problem = error instanceof Problem || error instanceof Error ? error.message : String(error);
      this._settle(abort, { text, read: null, problem });
    }
  }

  private _settle(abort: AbortController, editing: Editing): void {
    if (!abort.signal.aborted && this._abort === abort) {
      this.state.set(editing);
    }
  }

  private _cancel(): void {
    clearTimeout(this._timer);
    this._abort?.abort();
    this._abort = null;
  }

  private _timer: ReturnType<typeof setTimeout> | undefined;
  private _abort: AbortController | null = null;
}
