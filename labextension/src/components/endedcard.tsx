/** The card of an ended session in an output: why, what is lost, and how to start again. */

import type { ReactElement } from 'react';

import type { Card } from '../model/card';
import { waysAgain, type WayAgain } from '../format/again';
import { endWords, isFault, type EndedSession } from '../format/ends';
import { Button } from './controls';
import { Icon } from './icons';
import { useSpeech } from './speech';

export interface EndedCardProps {
  /** As the server knows it, or as far as the card tells it. */
  session: EndedSession;
  /** A device like it is free. */
  freeNow: boolean;
  /** Null in front ends where nothing can be pressed. */
  onAgain: ((way: WayAgain) => void) | null;
  onDetails: (() => void) | null;
  onLog: (() => void) | null;
}

/** What a saved card says of the end of its session. */
export function endOfCard({ ended, devices }: Card): EndedSession {
  return {
    state: 'ended',
    requirement: {},
    devices: devices.slice(0, 1).map(device => ({
      request: '',
      driver: device.driver ?? '',
      pool: '',
      device: device.name,
      node: device.node,
      label: device.label,
      share: null,
      predicted: null,
      device_kind: null,
      profile: null,
      slots: null,
      memory_published: null,
      choice: null,
      conditions: []
    })),
    lease: null,
    created_at: '',
    ready_at: '',
    ended: {
      at: ended?.at ?? '',
      code: ended?.code ?? 'exited',
      exit_code: ended?.exitCode ?? null,
      by: null,
      message: ended?.message ?? '',
      next: null,
      params: ended?.params ?? {},
      device_returned_at: null
    },
    right_size: null
  };
}

/** Ends whose cause is in the log of the kernel. */
const IN_THE_LOG = new Set(['out-of-memory', 'crashed', 'exited', 'prepare-failed', 'launch-timeout']);

export function EndedOutput({ session, freeNow, onAgain, onDetails, onLog }: EndedCardProps): ReactElement {
  const speech = useSpeech();
  const { trans } = speech;
  const words = endWords(speech, session, freeNow);
  const fault = session.ended ? isFault(session.ended) : false;
  const [first, ...others] = waysAgain(speech, session);
  const log = onLog && IN_THE_LOG.has(session.ended?.code ?? '') ? onLog : null;
  return (
    <section className={`dra-Out dra-mod-ended${fault ? ' dra-mod-fault' : ''}`} aria-label={words.head}>
      <div className="dra-Out-strip">
        <Icon name={fault ? 'never' : 'glass'} className={fault ? 'dra-mod-error' : ''} />
        <div>
          <strong className="dra-Out-title">{words.head}</strong>
          <p>{words.body}</p>
          {onAgain && first && (
            <div className="dra-Card-buttons">
              <Button kind="main" onClick={() => onAgain(first)}>
                {first.text}
              </Button>
              {others.map(way => (
                <Button key={way.kind} onClick={() => onAgain(way)}>
                  {way.text}
                </Button>
              ))}
              {first.kind === 'other-device' && onDetails && <Button onClick={onDetails}>{trans.__('Details')}</Button>}
            </div>
          )}
        </div>
      </div>
      {log && (
        <div className="dra-Out-foot">
          <Button kind="link" onClick={log}>
            {trans.__('Last lines of the log')}
          </Button>
        </div>
      )}
    </section>
  );
}
