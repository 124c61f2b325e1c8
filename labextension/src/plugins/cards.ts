/** Turns what a card's buttons say into commands, each of which asks before it does anything. */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';

import { IGPUSessions } from '../tokens';
import { CARD_EVENT } from '../widgets/cardrenderer';
import { CommandIDs } from '../widgets/commandids';

const COMMANDS: Readonly<Record<string, string>> = {
  extend: CommandIDs.extend,
  describe: CommandIDs.describe,
  stop: CommandIDs.stop,
  'attach-here': CommandIDs.attachHere,
  open: CommandIDs.open
};

export const cardsPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-dra:cards',
  description: 'Makes the buttons of device cards work.',
  autoStart: true,
  requires: [IGPUSessions],
  activate: (app: JupyterFrontEnd): void => {
    document.addEventListener(CARD_EVENT, event => {
      const detail: unknown = (event as CustomEvent<unknown>).detail;
      if (typeof detail !== 'object' || detail === null) {
        return;
      }
      const { action, session } = detail as Record<string, unknown>;
      const command = typeof action === 'string' && Object.hasOwn(COMMANDS, action) ? COMMANDS[action] : undefined;
      if (command) {
        const args = typeof session === 'string' && action !== 'open' ? { session } : {};
        void app.commands.execute(command, args);
      }
    });
  }
};
