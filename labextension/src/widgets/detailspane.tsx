/** A session's details in the main area; they follow the session while it changes. */

import { ReactWidget } from '@jupyterlab/apputils';
import type { ReactElement } from 'react';

import type { Session } from '../api/types';
import { SessionDetails, type DetailsProps } from '../components/details';
import { SpeechContext } from '../components/speech';
import type { Speech } from '../format/speech';
import type { Workbench } from '../model/workbench';

export class DetailsPane extends ReactWidget {
  constructor(
    private readonly _session: Session,
    private readonly _bench: Workbench,
    private readonly _speech: Speech,
    private readonly _rest: Pick<DetailsProps, 'tierName' | 'onLog' | 'onCopy'>
  ) {
    super();
    this.id = `dra-details-${_session.id}`;
    this.addClass('dra-DetailsPane');
    this.node.tabIndex = 0;
    _bench.changed.connect(this.update, this);
  }

  override dispose(): void {
    this._bench.changed.disconnect(this.update, this);
    super.dispose();
  }

  protected override render(): ReactElement {
    const { shown, ticker } = this._bench;
    // What is gone from the list stays as it was last seen.
    this._seen = shown.find(session => session.id === this._session.id) ?? this._seen;
    return (
      <SpeechContext.Provider value={this._speech}>
        <SessionDetails session={this._seen ?? this._session} now={ticker.now.value} {...this._rest} />
      </SpeechContext.Provider>
    );
  }

  private _seen: Session | null = null;
}
