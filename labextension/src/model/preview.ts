/** The claim as text, fetched only while somebody looks at it or its line count is shown. */

import type { DRAClient } from '../api/client';
import type { ClaimPreview, Requirement } from '../api/types';
import { Observable } from './observable';

export interface PreviewState {
  readonly preview: ClaimPreview | null;
  readonly failed: string | null;
}

export class PreviewModel {
  constructor(private readonly _client: Pick<DRAClient, 'previewClaim'>) {}

  readonly state = new Observable<PreviewState>({ preview: null, failed: null });

  request(requirement: Requirement, delay = 0): void {
    clearTimeout(this._timer);
    this._abort?.abort();
    this._timer = setTimeout(() => void this._ask(requirement), delay);
  }

  dispose(): void {
    clearTimeout(this._timer);
    this._abort?.abort();
    this.state.dispose();
  }

  private async _ask(requirement: Requirement): Promise<void> {
    const abort = new AbortController();
    this._abort = abort;
    try {
      const preview = await this._client.previewClaim(requirement, { signal: abort.signal });
      if (this._abort === abort) {
        this.state.set({ preview, failed: null });
      }
    } catch (error) {
      if (this._abort === abort && !abort.signal.aborted) {
        this.state.update(state => ({ ...state, failed: error instanceof Error ? error.message : String(error) }));
      }
    }
  }

  private _timer: ReturnType<typeof setTimeout> | undefined;
  private _abort: AbortController | null = null;
}
