/** A value with one owner and a signal: the only kind of state there is below the views. */

import { Signal, type ISignal } from '@lumino/signaling';

export interface Readable<T> {
  readonly value: T;
  readonly changed: ISignal<unknown, T>;
}

export class Observable<T> implements Readable<T> {
  constructor(private _value: T) {}

  get value(): T {
    return this._value;
  }

  get changed(): ISignal<this, T> {
    return this._changed;
  }

  /** Emits only if the value is another one. */
  set(value: T): void {
    if (!Object.is(value, this._value)) {
      this._value = value;
      this._changed.emit(value);
    }
  }

  update(change: (value: T) => T): void {
    this.set(change(this._value));
  }

  dispose(): void {
    Signal.clearData(this);
  }

  private readonly _changed = new Signal<this, T>(this);
}

/** Whether anybody looks: everything that ticks or retries stops while nobody does. */
export type Visibility = Readable<boolean>;
