/** A session that has ended, with its reason, until removed or a day old. */

import { useId, type ReactElement } from 'react';

import type { Session } from '../api/types';
import { waysAgain, type WayAgain } from '../format/again';
import { clock, duration } from '../format/durations';
import { endedEarly, endWords, isFault } from '../format/ends';
import { rightSizeWords } from '../format/rightsize';
import { spentWords } from '../format/sessions';
import { usedOf } from '../format/sizes';
import type { Speech } from '../format/speech';
import { stepViews } from '../format/steps';
import { fill } from '../format/text';
import { Button } from './controls';
import { Icon } from './icons';
import { CardHead } from './session';
import { useSpeech } from './speech';
import { Steps } from './steps';

export interface EndedProps {
  session: Session;
  now: number;
  subtitle: string;
  /** A device like it is free. */
  freeNow: boolean;
  onAgain: (session: Session, way: WayAgain) => void | Promise<unknown>;
  onLog: (session: Session) => void | Promise<unknown>;
  onDetails: (session: Session) => void | Promise<unknown>;
  onRemove: (session: Session) => void;
}

/** "Ran 2 h 02 min · peak 41.2 of 79.6 GiB · €5.90". */
function factsLine(speech: Speech, session: Session): string | null {
  const { trans } = speech;
  if (!session.ready_at || !session.ended) {
    return null;
  }
  const seconds = (Date.parse(session.ended.at) - Date.parse(session.ready_at)) / 1000;
  const parts = [
    fill(trans.__('Ran {time}'), { time: duration(speech, seconds < 60 ? Math.floor(seconds) : seconds) })
  ];
  const peak = session.usage?.peak_bytes;
  const total = session.usage?.memory_total_bytes;
  if (peak && total) {
    parts.push(fill(trans.__('peak {used}'), { used: usedOf(speech, peak, total) }));
  }
  const cost = spentWords(speech, session, Date.parse(session.ended.at));
  if (cost) {
    parts.push(cost);
  }
  return parts.join(' · ');
}

export function EndedCard(props: EndedProps): ReactElement {
  const speech = useSpeech();
  const { trans } = speech;
  const { session, now } = props;
  const id = useId();
  const { ended } = session;
  const words = endWords(speech, session, props.freeNow);
  const early = endedEarly(session);
  const fault = ended ? isFault(ended) : false;
  const time = ended ? clock(speech, ended.at, now) : '';
  const own = ended?.code === 'stopped' || ended?.code === 'cancelled';
  const badge = early
    ? {
        icon: fault ? ('never' as const) : ('stop' as const),
        color: fault ? 'error' : 'quiet',
        text: trans.__('not started')
      }
    : own
      ? { icon: 'stop' as const, color: 'quiet', text: fill(trans.__('stopped {time}'), { time }) }
      : {
          icon: fault ? ('never' as const) : ('glass' as const),
          color: fault ? 'error' : 'quiet',
          text: fill(trans.__('ended {time}'), { time })
        };
  const [way] = waysAgain(speech, session);
  const hint = session.right_size ? rightSizeWords(speech, session.right_size) : null;
  const remove = (
    <Button
      label={fill(trans.__('Remove {session} from the list'), { session: session.name })}
      onClick={() => props.onRemove(session)}
    >
      {trans.__('Remove')}
    </Button>
  );
  return (
    <article className="dra-Card dra-state-ended" aria-labelledby={id}>
      <CardHead session={session} badge={badge} subtitle={early ? props.subtitle : null} titleId={id} />
      {early ? (
        <>
          <Steps views={stepViews(session)} session={session} now={now} />
          <p>
            <strong>{words.head}</strong> {words.body}
          </p>
        </>
      ) : (
        <>
          <p className="dra-Card-why">{words.body}</p>
          {factsLine(speech, session) && <p className="dra-Hint">{factsLine(speech, session)}</p>}
          {hint && (
            <p className="dra-Hint dra-mod-icon">
              <Icon name="info" className="dra-mod-info" /> {hint}
            </p>
          )}
        </>
      )}
      <div className="dra-Card-actions">
        {way && (
          <Button
            kind={way.kind === 'image' ? 'main' : 'plain'}
            label={fill(trans.__('{action}: {session}'), { action: way.text, session: session.name })}
            onClick={() => props.onAgain(session, way)}
          >
            {way.text}
          </Button>
        )}
        {early ? (
          <Button
            label={fill(trans.__('Details of {session}'), { session: session.name })}
            onClick={() => props.onDetails(session)}
          >
            {trans.__('Details')}
          </Button>
        ) : (
          <Button
            label={fill(trans.__('Log of {session}'), { session: session.name })}
            onClick={() => props.onLog(session)}
          >
            {trans.__('Log')}
          </Button>
        )}
        {remove}
      </div>
    </article>
  );
}
