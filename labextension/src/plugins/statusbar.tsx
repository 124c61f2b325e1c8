/** The status-bar item: the device of the current notebook and its worst news. */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ReactWidget, UseSignal } from '@jupyterlab/apputils';
import { IStatusBar } from '@jupyterlab/statusbar';
import type { ReactElement } from 'react';

import { StatusItem } from '../components/statusitem';
import { SpeechContext } from '../components/speech';
import { statusOf } from '../model/statusitem';
import type { Workbench } from '../model/workbench';
import { IGPUSessions } from '../tokens';
import type { Actions } from '../widgets/actions';

class StatusWidget extends ReactWidget {
  constructor(
    private readonly _bench: Workbench,
    private readonly _actions: Actions
  ) {
    super();
    this.addClass('dra-StatusWidget');
  }

  protected override render(): ReactElement {
    return (
      <SpeechContext.Provider value={this._actions.speech}>
        <UseSignal signal={this._bench.changed}>
          {() => {
            const now = this._bench.ticker.now.value;
            const status = statusOf(this._bench, now);
            return status ? <StatusItem status={status} now={now} onPress={() => this._actions.reveal()} /> : <></>;
          }}
        </UseSignal>
      </SpeechContext.Provider>
    );
  }
}

export const statusPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-dra:status',
  description: 'Shows the device of the current notebook in the status bar.',
  autoStart: true,
  requires: [IGPUSessions, IStatusBar],
  activate: (_app: JupyterFrontEnd, { workbench, actions }: IGPUSessions, bar: IStatusBar): void => {
    const item = new StatusWidget(workbench, actions);
    bar.registerStatusItem('jupyter-dra:status', {
      item,
      align: 'left',
      rank: 3,
      isActive: () => statusOf(workbench, Date.now()) !== null,
      activeStateChanged: workbench.changed
    });
  }
};
