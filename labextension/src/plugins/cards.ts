/** Draws device cards in outputs and makes their buttons work, each with a question first. */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import type { ReadonlyJSONObject } from '@lumino/coreutils';

import type { CardActions } from '../components/card';
import type { AskedAction } from '../components/requestcard';
import { foreignRequirement } from '../model/commandargs';
import { cardNews } from '../model/cardnews';
import { extendBy, idleSeconds, warningOf } from '../model/sessions';
import { IGPUSessions } from '../tokens';
import { CommandIDs } from '../widgets/commandids';
import { CardRenderer, MIME_TYPE, type CardHost } from '../widgets/cardrenderer';

/** What a request card may ask for, by the command that asks the person first. */
const ASKS: Record<AskedAction, string> = {
  launch: CommandIDs.launchHere,
  wait: CommandIDs.launchHere,
  attach: CommandIDs.attachHere,
  extend: CommandIDs.extend,
  stop: CommandIDs.stop,
  open: CommandIDs.open
};

function askCommand(app: JupyterFrontEnd): CardActions['ask'] {
  return (action, { requirement }, session) => {
    const onSession = action === 'attach' || action === 'extend' || action === 'stop';
    const about = onSession ? (session === null ? {} : { session }) : { requirement: foreignRequirement(requirement) };
    const args = action === 'wait' ? { ...about, wait: true } : about;
    void app.commands.execute(ASKS[action], args as unknown as ReadonlyJSONObject);
  };
}

function actionsOf(app: JupyterFrontEnd, { workbench, actions }: IGPUSessions): CardActions {
  const withSession = (id: string, run: 'extend' | 'describe' | 'stop'): void => {
    const session = workbench.sessions.get(id);
    if (session) {
      void (run === 'describe' ? actions.describe(session) : actions[run](session, true));
    }
  };
  return {
    act: (action, id) => withSession(id, action),
    again: (session, way) => actions.again(session, way),
    log: session => void actions.showLog(session),
    useHere: session => void actions.attachHere(session),
    getDevice: () => {
      workbench.remembered.toggle('new', true);
      actions.reveal();
    },
    ask: askCommand(app)
  };
}

export const cardsPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-dra:cards',
  description: 'Shows device cards of GPU sessions in outputs.',
  autoStart: true,
  requires: [IGPUSessions, IRenderMimeRegistry],
  activate: (app: JupyterFrontEnd, sessions: IGPUSessions, rendermime: IRenderMimeRegistry): void => {
    const { workbench, actions } = sessions;
    const host: CardHost = {
      speech: actions.speech,
      changed: workbench.changed,
      actions: actionsOf(app, sessions),
      news: id => cardNews(workbench, id),
      running: session => {
        const { now } = workbench.ticker;
        return {
          extendSeconds: extendBy(session),
          endsSoon: warningOf(session, now.value)?.kind === 'lease',
          idle: idleSeconds(session, now.value)
        };
      }
    };
    rendermime.addFactory({ safe: true, mimeTypes: [MIME_TYPE], createRenderer: () => new CardRenderer(host) }, 0);
  }
};
