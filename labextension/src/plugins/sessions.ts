/** Provides the models and actions behind every face. */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { INotebookTracker } from '@jupyterlab/notebook';
import { IStateDB } from '@jupyterlab/statedb';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

import { DRAClient } from '../api/client';
import { ChangeStream } from '../api/stream';
import { localeTag, type Speech } from '../format/speech';
import { Observable } from '../model/observable';
import { Workbench } from '../model/workbench';
import { IGPUSessions } from '../tokens';
import { Actions } from '../widgets/actions';
import { LabNotebooks } from './notebooks';

function pageVisibility(): Observable<boolean> {
  const visible = new Observable<boolean>(!document.hidden);
  document.addEventListener('visibilitychange', () => visible.set(!document.hidden));
  return visible;
}

export const sessionsPlugin: JupyterFrontEndPlugin<IGPUSessions> = {
  id: 'jupyter-dra:sessions',
  description: 'Knows the cluster, its tiers, and the GPU sessions of this user.',
  autoStart: true,
  provides: IGPUSessions,
  optional: [INotebookTracker, IStateDB, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    tracker: INotebookTracker | null,
    db: IStateDB | null,
    translator: ITranslator | null
  ): IGPUSessions => {
    const trans = (translator ?? nullTranslator).load('jupyter_dra');
    const language = (translator as { languageCode?: string } | null)?.languageCode;
    const speech: Speech = { trans, locale: localeTag(language, navigator.language) };
    const { serverSettings, events } = app.serviceManager;
    const workbench = new Workbench(
      new DRAClient(serverSettings),
      new ChangeStream(events),
      new LabNotebooks(app, tracker),
      pageVisibility(),
      db
    );
    // Lab asks for kernels and sessions all the time: it notices first that the server is gone.
    app.serviceManager.connectionFailure.connect(() => workbench.cluster.doubt());
    void app.started.then(() => workbench.start());
    return { workbench, actions: new Actions(app, workbench, speech) };
  }
};
