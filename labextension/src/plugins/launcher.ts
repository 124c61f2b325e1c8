/** The launcher card "GPU session". */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ILauncher } from '@jupyterlab/launcher';

import { IGPUSessions } from '../tokens';
import { CommandIDs } from '../widgets/commandids';
import { draIcon, draIconUrl } from '../widgets/icons';

const CARD = 'jupyter-dra:launcher-card';

export const launcherPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-dra:launcher',
  description: 'A launcher card that opens the panel at New session.',
  autoStart: true,
  requires: [IGPUSessions, ILauncher],
  activate: (app: JupyterFrontEnd, { workbench, actions }: IGPUSessions, launcher: ILauncher): void => {
    const { trans } = actions.speech;
    const free = (): string | null => {
      const { tiers } = workbench.cluster.state.value;
      const any = tiers?.any_gpu ?? null;
      const n = any?.free ?? any?.free_at_most ?? null;
      return n === null ? null : trans._n('%1 free', '%1 free', n, n);
    };
    app.commands.addCommand(CARD, {
      label: trans.__('GPU session'),
      caption: () => {
        const n = free();
        return n ? trans.__('Notebook on a GPU of the cluster · %1', n) : trans.__('Notebook on a GPU of the cluster');
      },
      icon: draIcon,
      describedBy: { args: { type: 'object', properties: {} } },
      execute: () => {
        workbench.setTarget({ kind: 'new' });
        return app.commands.execute(CommandIDs.open, {});
      }
    });
    launcher.add({ command: CARD, category: 'Notebook', rank: 50, kernelIconUrl: draIconUrl });
    workbench.cluster.state.changed.connect(() => app.commands.notifyCommandChanged(CARD));
  }
};
