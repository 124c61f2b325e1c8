/** The card of an ended session in an output: why, what is lost, and how to start again. */

import type { ReactElement } from 'react';

import type { Session } from '../api/types';
import type { Card } from '../model/card';
import { waysAgain, type WayAgain } from '../format/again';
import { endWords, isFault } from '../format/ends';
import { Button } from './controls';
import { Icon } from './icons';
import { useSpeech } from './speech';

export interface EndedCardProps {
  /** As the server knows it, or as far as the card tells it. */
  session: Session;
  /** A device like it is free. */
  freeNow: boolean;
  /** Null in front ends where nothing can be pressed. */
  onAgain: ((way: WayAgain) => void) | null;
  onDetails: (() => void) | null;
  onLog: (() => void) | null;
}

/** A session made of what a saved card says: enough for the words of its end. */
export function sessionOfCard(card: Card): Session {
  const { ended, session } = card;
  return {
    id: session?.id ?? '',
    name: session?.name ?? '',
    state: 'ended',
    activity: null,
    revision: 0,
    mine: true,
    user: null,
    server: null,
    namespace: null,
    requirement: null,
    claim: null,
    devices: card.devices.slice(0, 1).map(device => ({
      request: '',
      driver: device.driver ?? '',
      pool: '',
      device: device.name,
      node: device.node,
      label: device.label,
      share: null,
      predicted: null
    })),
    kernels: [],
    steps: [],
    wait: null,
    lease: null,
    usage: null,
    price: null,
    created_at: '',
    ready_at: '',
    ended: {
      at: ended?.at ?? '',
      code: ended?.code ?? 'exited',
      exit_code: ended?.exitCode ?? null,
      by: null,
      message: ended?.message ?? null,
      params: ended?.params ?? {},
      device_returned_at: null
    },
    orphan: false,
    simulated: false
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
