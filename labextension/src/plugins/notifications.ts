/** News that reach the user wherever they look: lease, ends by fault, lost devices, starts after waiting. */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Notification } from '@jupyterlab/apputils';

import type { Session } from '../api/types';
import { newsOf, type News } from '../model/news';
import { extendBy } from '../model/sessions';
import { duration } from '../format/durations';
import { leaseEnds } from '../format/endings';
import { endWords } from '../format/ends';
import { fill, plain } from '../format/text';
import { IGPUSessions } from '../tokens';
import { setTitled } from '../widgets/toasts';

function announce(news: News, { workbench, actions }: IGPUSessions): void {
  const { speech } = actions;
  const { trans } = speech;
  const { session } = news;
  const show = {
    label: trans.__('Show'),
    callback: () => {
      workbench.remembered.toggle('sessions', true);
      actions.reveal();
    }
  };
  switch (news.kind) {
    case 'lease': {
      const seconds = extendBy(session);
      const extend = {
        label: fill(trans.__('Extend by {time}'), { time: duration(speech, seconds) }),
        displayType: 'accent' as const,
        callback: () => void actions.extend(session)
      };
      const { head, body } = leaseEnds(speech, session, { left: news.left, extendable: seconds > 0 }, Date.now());
      setTitled(
        Notification.warning(`${head}\n${body}`, { autoClose: false, actions: seconds > 0 ? [show, extend] : [show] })
      );
      break;
    }
    case 'fault': {
      const { head, body } = endWords(speech, session);
      Notification.error(plain(`${session.name}: ${head}. ${body}`), { autoClose: false, actions: [show] });
      break;
    }
    case 'ended': {
      const { head } = endWords(speech, session);
      Notification.info(plain(`${session.name}: ${head}`), { autoClose: 8000, actions: [show] });
      break;
    }
    default: {
      const text = fill(trans.__('{session} has its device: {device}'), {
        session: session.name,
        device: session.devices[0]?.label ?? session.devices[0]?.device ?? ''
      });
      Notification.success(text, { autoClose: 8000, actions: [show] });
    }
  }
}

export const notificationsPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-dra:notifications',
  description: 'Tells when a lease ends soon, a session ends, or a waiting one starts.',
  autoStart: true,
  requires: [IGPUSessions],
  activate: (_app: JupyterFrontEnd, sessions: IGPUSessions): void => {
    const { workbench, actions } = sessions;
    const said = new Set<string>();
    let before: readonly Session[] | null = null;
    const look = (): void => {
      const { sessions: after, known } = workbench.sessions.state.value;
      if (!known) {
        return;
      }
      const inView = (session: Session): boolean =>
        workbench.opensNotebook(session) ||
        session.kernels.some(kernel => kernel.notebook !== null && workbench.notebooks.isVisible(kernel.notebook));
      for (const news of newsOf(before, after, Date.now(), inView)) {
        const key = `${news.kind}/${news.session.id}/${news.session.lease?.ends_at ?? ''}`;
        if (!said.has(key)) {
          said.add(key);
          announce(news, sessions);
        }
      }
      before = after;
    };
    workbench.sessions.state.changed.connect(look);
    workbench.ticker.now.changed.connect(look);
    workbench.attachFailed.connect((_, { session, reason }) => {
      const template = actions.speech.trans.__('{session} runs, but the notebook could not be moved to it: {reason}');
      Notification.error(fill(template, { session: session.name, reason }), { autoClose: false });
    });
  }
};
