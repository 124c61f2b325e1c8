/** One row per session in the list of running things; shutting down a row is Stop. */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IRunningSessionManagers, type IRunningSessions } from '@jupyterlab/running';

import type { Session } from '../api/types';
import { duration } from '../format/durations';
import { placeLabel } from '../format/sessions';
import { cutMiddle, fill, plain } from '../format/text';
import { placeOf } from '../model/place';
import { idleSeconds } from '../model/sessions';
import { IGPUSessions } from '../tokens';
import { draIcon } from '../widgets/icons';

function row(session: Session, { workbench, actions }: IGPUSessions): IRunningSessions.IRunningItem {
  const { speech } = actions;
  const now = workbench.ticker.now.value;
  const place = placeLabel(speech, placeOf(session), workbench.cluster.state.value.lost?.since ?? null, now);
  const idle = idleSeconds(session, now);
  return {
    icon: () => draIcon,
    label: () => cutMiddle(plain(session.name)),
    labelTitle: () => plain(session.name),
    detail: () =>
      idle !== null && idle >= 60
        ? fill(speech.trans.__('{place} · idle {time}'), { place, time: duration(speech, idle) })
        : place,
    open: () => void actions.open(session, session.kernels[0]?.notebook ?? null),
    shutdown: () => void actions.stop(session)
  };
}

export const runningPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-dra:running',
  description: 'Lists GPU sessions among the running things.',
  autoStart: true,
  requires: [IGPUSessions, IRunningSessionManagers],
  activate: (_app: JupyterFrontEnd, sessions: IGPUSessions, managers: IRunningSessionManagers): void => {
    const { workbench, actions } = sessions;
    const { trans } = actions.speech;
    managers.add({
      name: trans.__('GPU sessions'),
      supportsMultipleViews: false,
      running: () => workbench.live.map(session => row(session, sessions)),
      shutdownAll: () => {
        for (const session of workbench.live) {
          void workbench.sessions.stop(session.id);
        }
      },
      refreshRunning: () => void workbench.sessions.refresh(),
      runningChanged: workbench.sessions.state.changed,
      shutdownLabel: trans.__('Stop and give back'),
      shutdownAllLabel: trans.__('Stop all'),
      shutdownAllConfirmationText: trans.__('Stop all GPU sessions? Variables are lost; files are kept.')
    });
  }
};
