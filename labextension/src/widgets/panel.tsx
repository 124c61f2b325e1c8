/** The left panel "GPU sessions" as a JupyterLab widget. */

import { ReactWidget, UseSignal } from '@jupyterlab/apputils';
import type { ReactElement } from 'react';

import type { Workbench } from '../model/workbench';
import type { Actions } from './actions';
import { draIcon } from './icons';
import type { Menus } from './menus';
import { PanelView } from './panelview';

export class PanelWidget extends ReactWidget {
  constructor(
    private readonly _bench: Workbench,
    private readonly _actions: Actions,
    private readonly _menus: Menus
  ) {
    super();
    const { trans } = _actions.speech;
    this.id = 'jupyter-dra-panel';
    this.addClass('dra-PanelWidget');
    this.title.icon = draIcon;
    this.title.caption = trans.__('GPU sessions');
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', trans.__('GPU sessions'));
  }

  protected override render(): ReactElement {
    return (
      <UseSignal signal={this._bench.changed}>
        {() => <PanelView bench={this._bench} actions={this._actions} menus={this._menus} />}
      </UseSignal>
    );
  }
}
