/** Cards in outputs: the device, a list of sessions, an ended session, none. */

import type { ReactElement } from 'react';

import type { Session } from '../api/types';
import type { Card, CardRequest } from '../model/card';
import type { CardNews } from '../model/cardnews';
import type { WayAgain } from '../format/again';
import { gapWords } from '../format/outputgap';
import { cutMiddle, fill, plain, sessionName } from '../format/text';
import { Button } from './controls';
import { CompactCard, DeviceCard, type CardAction, type DeviceCardProps } from './devicecard';
import { EndedOutput, endOfCard } from './endedcard';
import { Glyph } from './glyph';
import { Icon } from './icons';
import { RequestCard, type AskedAction } from './requestcard';
import { useSpeech } from './speech';

/** What a card's buttons ask for; each of them asks the person before anything is spent or lost. */
export interface CardActions {
  act: (action: CardAction, session: string) => void;
  again: (ended: Pick<Session, 'requirement'>, way: WayAgain) => void;
  log: (session: Session) => void;
  useHere: (session: Session) => void;
  getDevice: () => void;
  ask: (action: AskedAction, request: CardRequest, session: string | null) => void;
}

/** What the page works out about a running session. */
export interface RunningFacts {
  readonly extendSeconds: number;
  readonly endsSoon: boolean;
  readonly idle: number | null;
}

export interface CardProps {
  card: Card;
  news: CardNews;
  running: (session: Session) => RunningFacts;
  /** News of another session, for lists. */
  newsOf: (id: string) => CardNews;
  /** Null where nothing can be pressed: without trust, or outside our own pages. */
  actions: CardActions | null;
  onCopy: (text: string) => void;
}

function deviceProps(props: CardProps, news: CardNews): DeviceCardProps {
  const { card, actions, onCopy, running } = props;
  const facts = news.session ? running(news.session) : { extendSeconds: 0, endsSoon: false, idle: null };
  return { card, news, ...facts, onAction: actions?.act ?? null, onCopy };
}

function Device(props: CardProps): ReactElement {
  const { card, news, actions } = props;
  const { session } = news;
  if (session?.state === 'ended') {
    return (
      <EndedOutput
        session={session}
        freeNow={news.freeNow}
        onAgain={actions && (way => actions.again(session, way))}
        onDetails={actions && (() => actions.act('describe', session.id))}
        onLog={actions && (() => actions.log(session))}
      />
    );
  }
  const shown = deviceProps(props, news);
  const running = session?.state === 'running' ? session : null;
  return card.compact || !running ? (
    <CompactCard {...shown} session={running} />
  ) : (
    <DeviceCard {...shown} session={running} />
  );
}

function SessionsCard(props: CardProps): ReactElement {
  const { trans } = useSpeech();
  const { card } = props;
  return (
    <div className="dra-Out-list">
      {card.sessions.map(({ id, devices }) => {
        const news = props.newsOf(id);
        const one: Card = { ...card, kind: 'device', compact: true, devices, session: nameOf(id, news) };
        return <Device key={id} {...props} card={one} news={news} />;
      })}
      {card.sessions.length === 0 && <p className="dra-mod-quiet">{trans.__('You hold no device.')}</p>}
    </div>
  );
}

function nameOf(id: string, news: CardNews): Card['session'] {
  const name = news.session?.name ?? sessionName(id);
  return { id, name, activity: null, state: null, kernel: null };
}

/** Network cards come with a device and are not counted beside it. */
function heldDevices({ devices }: Session): number {
  return Math.max(1, devices.filter(device => device.device_kind !== 'nic').length);
}

function NoneCard({ card, news, actions }: CardProps): ReactElement {
  const { trans } = useSpeech();
  const [first] = news.held;
  const n = news.held.reduce((sum, session) => sum + heldDevices(session), 0);
  const names = news.held.map(item => plain(item.name)).join(', ');
  return (
    <section className="dra-Out" aria-label={trans.__('This notebook has no device')}>
      <div className="dra-Out-head">
        <Glyph kind="gpu" state="none" size={22} />
        <div className="dra-Out-names">
          <strong className="dra-Out-title">{trans.__('This notebook has no device')}</strong>
          <div className="dra-mod-quiet">
            {card.message ? plain(card.message) : trans.__('It runs on the Jupyter server.')}
          </div>
        </div>
      </div>
      {actions && (
        <div className="dra-Out-foot">
          <span className="dra-mod-quiet">
            {first
              ? fill(
                  trans._n('You hold {n} device elsewhere: {names}.', 'You hold {n} devices elsewhere: {names}.', n),
                  { n, names }
                )
              : ''}
          </span>
          <span className="dra-Card-buttons">
            {first && (
              <Button onClick={() => actions.useHere(first)}>
                {fill(trans.__('Use {session}'), { session: cutMiddle(first.name, 24) })}
              </Button>
            )}
            <Button onClick={() => actions.getDevice()}>{trans.__('Get a device …')}</Button>
          </span>
        </div>
      )}
    </section>
  );
}

function EndedCard({ card, news, actions }: CardProps): ReactElement {
  const known = news.session;
  const session = known?.state === 'ended' ? known : endOfCard(card);
  const id = known?.id ?? card.session?.id ?? '';
  return (
    <EndedOutput
      session={session}
      freeNow={news.freeNow}
      onAgain={actions && (way => actions.again(session, way))}
      onDetails={actions && (() => actions.act('describe', id))}
      onLog={actions && known ? () => actions.log(known) : null}
    />
  );
}

/** In place of what a cell printed while nobody listened. */
function Gap({ card, news }: CardProps): ReactElement | null {
  const speech = useSpeech();
  return card.gap ? (
    <p className="dra-Out-gap">
      <Icon name="info" className="dra-mod-info" /> {gapWords(speech, card.gap, news.now)}
    </p>
  ) : null;
}

export function CardView(props: CardProps): ReactElement {
  switch (props.card.kind) {
    case 'gap':
      return <Gap {...props} />;
    case 'none':
      return <NoneCard {...props} />;
    case 'ended':
      return <EndedCard {...props} />;
    case 'request':
      return <RequestCard {...props} onAsk={props.actions?.ask ?? null} />;
    case 'sessions':
      return <SessionsCard {...props} />;
    default:
      return <Device {...props} />;
  }
}
