/** Many changes, few questions: what is asked for again and again is asked once in a while, and never left unasked. */

import type { Visibility } from './observable';

/** Changes that come this close together are one. */
const GATHER_MS = 250;
/** At least so many times as long as an answer took, nothing is asked again. */
const REST = 4;

export class Gather {
  /** `ask` never throws. Unseen, nothing is asked; what was missed is asked once somebody looks. */
  constructor(
    private readonly _ask: () => Promise<void>,
    private readonly _visible: Visibility
  ) {
    _visible.changed.connect(this._onVisible, this);
  }

  /** Ask soon. */
  soon(): void {
    this._wanted = true;
    if (this._timer === undefined && !this._asking && this._visible.value) {
      this._timer = setTimeout(() => void this._run(), Math.max(GATHER_MS, this._restUntil - Date.now()));
    }
  }

  /** What was wanted is not wanted any more. */
  forget(): void {
    this._wanted = false;
    clearTimeout(this._timer);
    this._timer = undefined;
  }

  dispose(): void {
    this.forget();
    this._visible.changed.disconnect(this._onVisible, this);
  }

  private _onVisible(): void {
    clearTimeout(this._timer);
    this._timer = undefined;
    if (this._wanted) {
      this.soon();
    }
  }

  private async _run(): Promise<void> {
    this._timer = undefined;
    this._wanted = false;
    this._asking = true;
    const began = Date.now();
    await this._ask();
    this._restUntil = Date.now() + REST * (Date.now() - began);
    this._asking = false;
    if (this._wanted) {
      this.soon();
    }
  }

  private _wanted = false;
  private _asking = false;
  private _restUntil = 0;
  private _timer: ReturnType<typeof setTimeout> | undefined;
}
