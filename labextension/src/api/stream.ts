/** Changes as the server tells them, over the event socket that JupyterLab keeps open anyway. */

import type { Event } from '@jupyterlab/services';
import type { IDisposable } from '@lumino/disposable';
import { Signal, type ISignal } from '@lumino/signaling';

import type { InventoryEvent, SessionEvent, StatusEvent } from './types';

const BASE = 'https://events.jupyter-dra.dev/';

/** Sorts our events from all others; ids only, the page fetches what changed. */
export class ChangeStream implements IDisposable {
  constructor(private readonly _events: Event.IManager) {
    _events.stream.connect(this._onEvent, this);
  }

  get session(): ISignal<this, SessionEvent> {
    return this._session;
  }

  get inventory(): ISignal<this, InventoryEvent> {
    return this._inventory;
  }

  get status(): ISignal<this, StatusEvent> {
    return this._status;
  }

  get isDisposed(): boolean {
    return this._disposed;
  }

  dispose(): void {
    if (!this._disposed) {
      this._disposed = true;
      this._events.stream.disconnect(this._onEvent, this);
      Signal.clearData(this);
    }
  }

  private _onEvent(_: unknown, event: Event.Emission): void {
    const data = event as unknown;
    switch (event.schema_id) {
      case `${BASE}session/v1`:
        this._session.emit(data as SessionEvent);
        break;
      case `${BASE}inventory/v1`:
        this._inventory.emit(data as InventoryEvent);
        break;
      case `${BASE}status/v1`:
        this._status.emit(data as StatusEvent);
        break;
    }
  }

  private _disposed = false;
  private readonly _session = new Signal<this, SessionEvent>(this);
  private readonly _inventory = new Signal<this, InventoryEvent>(this);
  private readonly _status = new Signal<this, StatusEvent>(this);
}
