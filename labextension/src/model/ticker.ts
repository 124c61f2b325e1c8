/** The one clock of the page: each second while something counts seconds, else every half minute, never unseen. */

import { Observable, type Visibility } from './observable';

export const FAST_MS = 1000;
export const SLOW_MS = 30_000;

export class Ticker {
  constructor(private readonly _visible: Visibility) {
    _visible.changed.connect(() => this._arm(true));
    this._arm(false);
  }

  readonly now = new Observable<number>(Date.now());

  /** Fast while a launch runs or less than a minute is left somewhere. */
  set fast(value: boolean) {
    if (value !== this._fast) {
      this._fast = value;
      this._arm(true);
    }
  }

  dispose(): void {
    clearTimeout(this._timer);
    this._disposed = true;
    this.now.dispose();
  }

  private _arm(tick: boolean): void {
    clearTimeout(this._timer);
    if (this._disposed || !this._visible.value) {
      return;
    }
    if (tick) {
      this.now.set(Date.now());
    }
    this._timer = setTimeout(() => this._arm(true), this._fast ? FAST_MS : SLOW_MS);
  }

  private _fast = false;
  private _disposed = false;
  private _timer: ReturnType<typeof setTimeout> | undefined;
}
