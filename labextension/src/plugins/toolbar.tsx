/** The place label in the notebook toolbar: where this notebook's kernel runs. */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IToolbarWidgetRegistry, ReactWidget, UseSignal } from '@jupyterlab/apputils';
import type { NotebookPanel } from '@jupyterlab/notebook';
import { Widget } from '@lumino/widgets';
import type { ReactElement } from 'react';

import { Glyph } from '../components/glyph';
import { Spinner } from '../components/controls';
import { duration } from '../format/durations';
import { placeLabel } from '../format/sessions';
import { fill } from '../format/text';
import { placeOf } from '../model/place';
import { warningOf } from '../model/sessions';
import type { Workbench } from '../model/workbench';
import { IGPUSessions } from '../tokens';
import type { Actions } from '../widgets/actions';

class PlaceWidget extends ReactWidget {
  constructor(
    private readonly _panel: NotebookPanel,
    private readonly _bench: Workbench,
    private readonly _actions: Actions,
    private readonly _withWarning: boolean
  ) {
    super();
    this.addClass('dra-PlaceWidget');
    _panel.sessionContext.kernelChanged.connect(this.update, this);
  }

  protected override render(): ReactElement {
    return <UseSignal signal={this._bench.changed}>{() => this._label()}</UseSignal>;
  }

  private _label(): ReactElement {
    const { speech } = this._actions;
    const { trans } = speech;
    const kernel = this._panel.sessionContext.session?.kernel?.id ?? null;
    const { path } = this._panel.context;
    const starting = this._bench.live.find(
      session => session.notebook === path && (session.state === 'starting' || session.state === 'waiting')
    );
    const session = this._bench.sessions.byKernel(kernel) ?? starting;
    if (!kernel && !session) {
      return <></>;
    }
    const place = placeOf(session);
    const now = this._bench.ticker.now.value;
    const text = placeLabel(speech, place, this._bench.cluster.state.value.lost?.since ?? null, now);
    const warning = session ? warningOf(session, now) : null;
    const soon =
      this._withWarning && warning?.kind === 'lease'
        ? ` · ${fill(trans.__('{time} left'), { time: duration(speech, warning.left) })}`
        : '';
    return (
      <button
        type="button"
        className="dra-Place"
        title={`${text}${soon}`}
        aria-label={fill(trans.__('Runs: {place}'), { place: `${text}${soon}` })}
        onClick={() => this._press(session !== undefined)}
      >
        {place.kind === 'starting' ? (
          <Spinner />
        ) : place.kind === 'here' ? null : (
          <Glyph kind="gpu" state="yours" size={11} />
        )}
        <span>
          {text}
          {soon}
        </span>
      </button>
    );
  }

  private _press(hasSession: boolean): void {
    if (hasSession) {
      this._bench.remembered.toggle('sessions', true);
    } else {
      const { path } = this._panel.context;
      this._bench.setTarget({ kind: 'notebook', path, name: path.split('/').pop() ?? path });
      this._bench.remembered.toggle('new', true);
    }
    this._actions.reveal();
  }
}

export const toolbarPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-dra:toolbar',
  description: 'Says in the notebook toolbar where the kernel runs.',
  autoStart: true,
  requires: [IGPUSessions, IToolbarWidgetRegistry],
  activate: (app: JupyterFrontEnd, { workbench, actions }: IGPUSessions, toolbars: IToolbarWidgetRegistry): void => {
    // Notebook 7 has no status bar: there the label also says that the session ends soon.
    const withWarning = app.name === 'Jupyter Notebook';
    toolbars.addFactory(
      'Notebook',
      'dra-place',
      (panel: Widget) => new PlaceWidget(panel as NotebookPanel, workbench, actions, withWarning)
    );
  }
};
