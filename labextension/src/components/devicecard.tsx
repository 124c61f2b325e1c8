/** The device card in an output: while its session runs with use, lease and buttons, later as one line. */

import { useState, type ReactElement } from 'react';

import type { Session } from '../api/types';
import type { Card, CardDevice } from '../model/card';
import type { CardNews } from '../model/cardnews';
import { clock, clockSeconds, duration } from '../format/durations';
import { percent } from '../format/numbers';
import { mismatchWords } from '../format/mismatch';
import { withArticle } from '../format/products';
import { kernelState, memoryByKernel, missingWords, timeLeft } from '../format/sessions';
import { usedOf } from '../format/sizes';
import type { Speech } from '../format/speech';
import { cutMiddle, fill, initial, plain } from '../format/text';
import { AllAttributes, factsOf, Facts } from './cardfacts';
import { Button } from './controls';
import { Glyph } from './glyph';
import { Icon } from './icons';
import { LeaseMeter, memoryPieces, Meter } from './meters';
import { Name, Said, useSpeech } from './speech';

export type CardAction = 'extend' | 'describe' | 'stop';

export interface DeviceCardProps {
  card: Card;
  news: CardNews;
  /** How long an extension would be, in seconds; 0 where there is none. */
  extendSeconds: number;
  /** The lease ends within ten minutes. */
  endsSoon: boolean;
  /** Seconds nobody has used it. */
  idle: number | null;
  /** Null in front ends where nothing can be pressed. */
  onAction: ((action: CardAction, session: string) => void) | null;
  onCopy: (text: string) => void;
}

export function titleOf(speech: Speech, devices: readonly CardDevice[]): string {
  const { trans } = speech;
  const [first] = devices;
  if (!first) {
    return trans.__('This notebook has no device');
  }
  const name = first.product ?? first.label ?? first.name;
  if (devices.length === 1 && first.profile) {
    const device = withArticle(speech, first.label ?? name);
    return fill(trans.__('Part {profile} of {device}'), { profile: first.profile, device });
  }
  if (devices.length === 1) {
    return first.shared ? fill(trans.__('Share of {device}'), { device: withArticle(speech, name) }) : plain(name);
  }
  const kind = (item: CardDevice): string =>
    item.label ?? (item.kind === 'nic' ? trans.__('network card') : (item.product ?? item.name));
  const kinds = [...new Set(devices.map(kind))];
  if (kinds.length > 1) {
    return kinds.map(plain).join(' + ');
  }
  const values = { n: devices.length, device: kinds[0]! };
  return new Set(devices.map(item => item.node)).size === 1
    ? fill(trans.__('{n} × {device}, one node'), values)
    : fill(trans.__('{n} × {device}'), values);
}

/** "gpu-3", or "gpu-0, slots 4–5" of a part whose places on the card are numbered. */
function nameOf(speech: Speech, device: CardDevice, session: Session): string {
  const [first, last] = session.devices.find(item => item.device === device.name)?.slots ?? [];
  if (first === undefined || last === undefined) {
    return device.name;
  }
  const values = { device: device.name, first, last };
  return first === last
    ? fill(speech.trans.__('{device}, slot {first}'), values)
    : fill(speech.trans.__('{device}, slots {first}–{last}'), values);
}

/** "bert-train · dgx-h100-0 · gpu-3". */
function placeOf(speech: Speech, card: Card, session: Session): string {
  const names = card.devices.map(item => nameOf(speech, item, session));
  const shown = names.length > 4 ? `${names.slice(0, 3).join(', ')} …` : names.join(', ');
  return [card.session?.name, card.devices[0]?.node, shown]
    .filter((text): text is string => Boolean(text))
    .map(text => cutMiddle(plain(text)))
    .join(' · ');
}

function Badge(props: { session: Session; idle: number | null; asOf: number | null; now: number }): ReactElement {
  const speech = useSpeech();
  const { trans } = speech;
  if (props.asOf !== null) {
    const time = clock(speech, new Date(props.asOf).toISOString(), props.now);
    return (
      <span className="dra-Badge">
        <Icon name="unknown" className="dra-mod-info" /> {fill(trans.__('as of {time}'), { time })}
      </span>
    );
  }
  const busy = props.session.activity === 'busy';
  return (
    <span className="dra-Badge">
      <Icon name={busy ? 'run' : 'taken'} className={busy ? 'dra-mod-fits' : ''} />{' '}
      {kernelState(speech, busy ? 'busy' : 'idle', props.idle)}
    </span>
  );
}

function Use({ card, news, endsSoon }: DeviceCardProps & { session: Session }): ReactElement {
  const speech = useSpeech();
  const { trans } = speech;
  const session = news.session!;
  const { usage } = session;
  const [used, total] = [usage?.memory_used_bytes ?? null, usage?.memory_total_bytes ?? null];
  const by = memoryByKernel(speech, session, card.session?.kernel ?? null);
  return (
    <div className="dra-Meters">
      {usage && used !== null && total ? (
        <Meter
          label={trans.__('Memory')}
          pieces={memoryPieces(session)}
          text={`${usedOf(speech, used, total)} · ${percent(speech, (100 * used) / total)}`}
          sub={by}
        />
      ) : usage ? (
        <Meter label={trans.__('Memory')} pieces={null} text={missingWords(speech, usage.why_missing)} />
      ) : null}
      {usage && (
        <Meter
          label={trans.__('Compute')}
          pieces={
            usage.utilisation_percent === null ? null : [{ share: usage.utilisation_percent / 100, pattern: 'solid' }]
          }
          text={
            usage.utilisation_percent === null
              ? missingWords(speech, usage.why_missing)
              : percent(speech, usage.utilisation_percent)
          }
        />
      )}
      <LeaseMeter session={session} now={news.now} soon={endsSoon} withCost />
    </div>
  );
}

function Mismatch({ card }: { card: Card }): ReactElement | null {
  const words = mismatchWords(useSpeech(), card.sees);
  return words ? (
    <div className="dra-Out-strip">
      <Icon name="fix" className="dra-mod-warn" />
      <span>
        <Said text={words.head} /> {words.rest}
      </span>
    </div>
  ) : null;
}

function Notes({ card }: { card: Card }): ReactElement {
  const mismatch = card.kind === 'mismatch';
  return (
    <>
      {card.notes.map((note, index) => (
        <div key={index} className="dra-Out-strip">
          <Icon name={mismatch ? 'fix' : 'info'} className={mismatch ? 'dra-mod-warn' : 'dra-mod-info'} />
          <span>{plain(note)}</span>
        </div>
      ))}
    </>
  );
}

function EndsSoon({ session, now }: { session: Session; now: number }): ReactElement {
  const speech = useSpeech();
  const time = clock(speech, session.lease?.ends_at ?? '', now);
  return (
    <div className="dra-Out-strip">
      <Icon name="glass" className="dra-mod-warn" />
      <span>
        {fill(speech.trans.__('Ends at {time}, even if a cell runs. Results in variables are lost then.'), { time })}
      </span>
    </div>
  );
}

function checked(speech: Speech, card: Card): string | null {
  const cluster = card.asOf ? clockSeconds(speech, card.asOf) : null;
  const kernel = card.checkedInKernel ? clockSeconds(speech, card.checkedInKernel) : null;
  if (cluster && kernel) {
    return fill(speech.trans.__('Checked: cluster {cluster}, kernel {kernel}'), { cluster, kernel });
  }
  return cluster ? fill(speech.trans.__('Checked: {time}'), { time: cluster }) : null;
}

function Foot(props: DeviceCardProps & { session: Session }): ReactElement {
  const speech = useSpeech();
  const { trans } = speech;
  const { card, session, onAction, endsSoon, extendSeconds } = props;
  const longest = session.lease?.longest_until ?? null;
  const button = (action: CardAction, label: string, text: string, main = false): ReactElement => (
    <Button
      kind={main ? 'main' : 'plain'}
      label={fill(label, { session: session.name })}
      onClick={() => onAction?.(action, session.id)}
    >
      {text}
    </Button>
  );
  const extend = endsSoon
    ? fill(trans.__('Extend by {time}'), { time: duration(speech, extendSeconds) })
    : trans.__('Extend');
  const upTo = longest ? fill(trans.__('up to {time}'), { time: clock(speech, longest, props.news.now) }) : null;
  return (
    <div className="dra-Out-foot">
      <span className="dra-mod-quiet">{endsSoon ? upTo : checked(speech, card)}</span>
      {onAction && props.news.asOf === null && (
        <span className="dra-Card-buttons">
          {extendSeconds > 0 && button('extend', trans.__('Extend {session}'), extend, endsSoon)}
          {button('describe', trans.__('Claim of {session}'), trans.__('Claim'))}
          {button('stop', trans.__('Stop {session}'), trans.__('Stop …'))}
        </span>
      )}
    </div>
  );
}

/** The whole card, while its session runs. */
export function DeviceCard(props: DeviceCardProps & { session: Session }): ReactElement {
  const speech = useSpeech();
  const { trans } = speech;
  const { card, session, news, endsSoon } = props;
  const title = titleOf(speech, card.devices);
  return (
    <section className={`dra-Out${endsSoon ? ' dra-mod-soon' : ''}`} aria-label={title}>
      <div className="dra-Out-head">
        <Glyph kind={card.devices[0]?.kind ?? 'gpu'} state="yours" size={22} initial={initial(session.name)} />
        <div className="dra-Out-names">
          <strong className="dra-Out-title">{title}</strong>
          <div className="dra-mod-quiet">{placeOf(speech, card, session)}</div>
        </div>
        <Badge session={session} idle={props.idle} asOf={news.asOf} now={news.now} />
      </div>
      <Use {...props} />
      {endsSoon && <EndsSoon session={session} now={news.now} />}
      <Mismatch card={card} />
      {!card.sees || card.sees.count === card.sees.given ? <Notes card={card} /> : null}
      {card.devices.some(device => device.shared) && (
        <div className="dra-Out-strip">
          <Icon name="info" className="dra-mod-info" />
          <span>{trans.__('Others can use more than their amount. If memory runs out, it may hit you.')}</span>
        </div>
      )}
      <Facts facts={factsOf(speech, card, session)} onCopy={props.onCopy} />
      <AllAttributes devices={card.devices} />
      <Foot {...props} />
    </section>
  );
}

/** One line; "Facts" unfolds what was known then. Use, lease and price stand in it only while the session runs. */
export function CompactCard(props: DeviceCardProps & { session: Session | null }): ReactElement {
  const speech = useSpeech();
  const { trans } = speech;
  const { card, news, session } = props;
  const [open, setOpen] = useState(false);
  const [device] = card.devices;
  const usage = session?.usage;
  const [used, total] = [usage?.memory_used_bytes ?? null, usage?.memory_total_bytes ?? null];
  const when = card.asOf ? clock(speech, card.asOf, news.now) : null;
  const then = news.over
    ? when
      ? fill(trans.__('{time} · over'), { time: when })
      : trans.__('over')
    : when && fill(trans.__('as of {time}'), { time: when });
  const name = device?.profile
    ? [device.label ?? device.name, device.profile].join(', ')
    : (device?.label ?? device?.name);
  return (
    <section className="dra-Out dra-mod-compact" aria-label={titleOf(speech, card.devices)}>
      <div className="dra-Out-line">
        <Glyph
          kind={device?.kind ?? 'gpu'}
          state={!device ? 'none' : session ? 'yours' : 'taken'}
          size={13}
          initial={initial(card.session?.name ?? '')}
        />
        <strong>
          <Name text={name ?? ''} />
        </strong>
        <span className="dra-mod-quiet">
          {[device?.node, device?.profile ? null : device?.name]
            .filter(Boolean)
            .map(text => plain(text ?? ''))
            .join(' · ')}
        </span>
        {session && used !== null && total ? (
          <>
            <span className="dra-Meter-bar dra-mod-short" aria-hidden="true">
              {memoryPieces(session).map((piece, index) => (
                <span
                  key={index}
                  className={`dra-Meter-piece dra-mod-${piece.pattern}`}
                  style={{ width: `${Math.min(100, piece.share * 100)}%` }}
                />
              ))}
            </span>
            <span>{usedOf(speech, used, total)}</span>
          </>
        ) : null}
        {session ? <LineState session={session} idle={props.idle} now={news.now} /> : null}
        {!session && then ? <span className="dra-mod-quiet">{then}</span> : null}
        {card.devices.some(item => item.attributes.length > 0) && (
          <button type="button" className="dra-Link" aria-expanded={open} onClick={() => setOpen(!open)}>
            {trans.__('Facts')}
          </button>
        )}
      </div>
      {open && (
        <>
          <Facts facts={factsOf(speech, card, null)} onCopy={props.onCopy} />
          <AllAttributes devices={card.devices} />
        </>
      )}
    </section>
  );
}

/** "1 h 58 min left", or "idle 26 min" where that is the news. */
function LineState({ session, idle, now }: { session: Session; idle: number | null; now: number }): ReactElement {
  const speech = useSpeech();
  const left = session.lease?.ends_at ? (Date.parse(session.lease.ends_at) - now) / 1000 : null;
  const text =
    idle !== null && idle >= 60
      ? kernelState(speech, 'idle', idle)
      : left !== null && left > 0
        ? timeLeft(speech, session, now)
        : kernelState(speech, session.activity ?? 'idle', idle);
  return <span className="dra-mod-quiet">{text}</span>;
}
