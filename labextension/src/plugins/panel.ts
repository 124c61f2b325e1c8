/** The left panel. */

import { ILayoutRestorer, type JupyterFrontEnd, type JupyterFrontEndPlugin } from '@jupyterlab/application';

import { IGPUSessions } from '../tokens';
import { Menus } from '../widgets/menus';
import { PanelWidget } from '../widgets/panel';

export const panelPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-dra:panel',
  description: 'The panel "GPU sessions": sessions, new session, devices.',
  autoStart: true,
  requires: [IGPUSessions],
  optional: [ILayoutRestorer],
  activate: (app: JupyterFrontEnd, { workbench, actions }: IGPUSessions, restorer: ILayoutRestorer | null): void => {
    const panel = new PanelWidget(workbench, actions, new Menus(app.commands, workbench, actions));
    // Notebook 7 has its panels at the right.
    app.shell.add(panel, app.name === 'Jupyter Notebook' ? 'right' : 'left', { rank: 350, type: 'GPU sessions' });
    restorer?.add(panel, panel.id);
    actions.reveal = () => app.shell.activateById(panel.id);
  }
};
