/** One line in the status bar. */

import type { ReactElement } from 'react';

import type { Status } from '../model/statusitem';
import type { Session } from '../api/types';
import { clock, duration, runningClock } from '../format/durations';
import { endShort } from '../format/ends';
import { percent } from '../format/numbers';
import { shortDevices } from '../format/sessions';
import { stepTitle, stepViews } from '../format/steps';
import type { Speech } from '../format/speech';
import { fill, plain } from '../format/text';
import { Spinner } from './controls';
import { Glyph } from './glyph';
import { Icon } from './icons';
import { useSpeech } from './speech';

function startingText(speech: Speech, session: Session, now: number): string {
  const views = stepViews(session);
  const step = views.find(view => view.state === 'now') ?? views.find(view => view.state === 'todo');
  const clockText = runningClock((now - Date.parse(step?.startedAt ?? session.created_at)) / 1000);
  return step ? `${stepTitle(speech, step, session)} · ${clockText}` : clockText;
}

interface Words {
  icon: ReactElement;
  text: string;
  strong?: boolean;
  share?: number;
}

function words(speech: Speech, status: Status, now: number): Words {
  const { trans } = speech;
  const label = (session: Session): string => plain(shortDevices(speech, session));
  const glyph = <Glyph kind="gpu" state="yours" size={11} />;
  switch (status.kind) {
    case 'running': {
      const { session } = status;
      const [device, ...more] = session.devices;
      const { usage } = session;
      const share =
        usage?.memory_used_bytes != null && usage.memory_total_bytes
          ? usage.memory_used_bytes / usage.memory_total_bytes
          : undefined;
      const which = device?.label && !more.length ? plain(device.device) : null;
      const name = [label(session), which].filter(Boolean).join(' · ');
      return { icon: glyph, text: name, ...(share === undefined ? {} : { share }) };
    }
    case 'idle': {
      const values = { device: label(status.session), time: duration(speech, status.seconds) };
      return { icon: glyph, text: fill(trans.__('{device} · idle {time}'), values) };
    }
    case 'starting':
      return { icon: <Spinner />, text: startingText(speech, status.session, now) };
    case 'waiting': {
      const since = status.session.wait?.since ?? status.session.created_at;
      const values = { clock: runningClock((now - Date.parse(since)) / 1000) };
      return { icon: <Icon name="taken" size={14} />, text: fill(trans.__('Waiting for a device · {clock}'), values) };
    }
    case 'ends-soon': {
      const values = { device: label(status.session), time: duration(speech, status.left) };
      return {
        icon: <Icon name="glass" size={14} />,
        text: fill(trans.__('{device} · {time} left'), values),
        strong: true
      };
    }
    case 'elsewhere': {
      const template = trans._n('No device here · {n} held', 'No device here · {n} held', status.held);
      return { icon: <Glyph kind="gpu" state="none" size={11} />, text: fill(template, { n: status.held }) };
    }
    case 'ended': {
      const reason = status.session.ended ? endShort(speech, status.session.ended) : '';
      return { icon: <Icon name="never" size={14} />, text: fill(trans.__('Ended: {reason}'), { reason }) };
    }
    default: {
      const values = {
        device: label(status.session),
        time: clock(speech, new Date(status.since).toISOString(), now)
      };
      return { icon: <Icon name="plug-off" size={14} />, text: fill(trans.__('{device} · as of {time}'), values) };
    }
  }
}

export function StatusItem(props: { status: Status; now: number; onPress: () => void }): ReactElement {
  const speech = useSpeech();
  const { icon, text, strong, share } = words(speech, props.status, props.now);
  return (
    <button type="button" className="dra-StatusItem" title={speech.trans.__('GPU sessions')} onClick={props.onPress}>
      {icon}
      <span>{strong ? <strong>{text}</strong> : text}</span>
      {share !== undefined && (
        <>
          <span className="dra-StatusItem-bar" aria-hidden="true">
            <span style={{ width: `${Math.round(share * 100)}%` }} />
          </span>
          <span>{percent(speech, share * 100)}</span>
        </>
      )}
    </button>
  );
}
