/** Cards in outputs: the device, compact or full, an ended session, a mismatch, none. */

import { useState, type ReactElement } from 'react';

import type { Card, CardDevice } from '../model/card';
import { clock, duration } from '../format/durations';
import { endWords, isFault } from '../format/ends';
import { percent } from '../format/numbers';
import { missingWords } from '../format/sessions';
import { usedOf } from '../format/sizes';
import type { Speech } from '../format/speech';
import { cutMiddle, fill, initial, plain, sentence } from '../format/text';
import { Button } from './controls';
import { Glyph } from './glyph';
import { Icon } from './icons';
import { Meter } from './meters';
import { Name, Said, useSpeech } from './speech';

export type CardAction = 'extend' | 'describe' | 'stop' | 'attach-here' | 'open';

export interface CardProps {
  card: Card;
  now: number;
  /** The output was made in this page's life, so that use and lease still mean something. */
  live: boolean;
  onAction: (action: CardAction, session: string | null) => void;
  onCopy: (text: string) => void;
}

/** Attributes in the order people ask for them, by the last part of their name. */
const KNOWN = [
  'architecture',
  'tpuGen',
  'profile',
  'topology',
  'cudaComputeCapability',
  'computeCapability',
  'driverVersion',
  'cudaDriverVersion',
  'pciBusID',
  'pcieRoot',
  'numaNode',
  'uuid'
] as const;

type Known = (typeof KNOWN)[number];

function factName(speech: Speech, id: Known): string {
  const { trans } = speech;
  switch (id) {
    case 'architecture':
    case 'tpuGen':
      return trans.__('Generation');
    case 'profile':
      return trans.__('Part');
    case 'topology':
      return trans.__('Topology');
    case 'cudaComputeCapability':
    case 'computeCapability':
      return trans.__('Capability');
    case 'driverVersion':
      return trans.__('Driver');
    case 'cudaDriverVersion':
      return 'CUDA';
    case 'pciBusID':
      return trans.__('PCI address');
    case 'pcieRoot':
      return trans.__('PCIe root');
    case 'numaNode':
      return trans.__('NUMA node');
    default:
      return 'UUID';
  }
}

function sourceName(speech: Speech, source: string | null): string | null {
  const { trans } = speech;
  switch (source) {
    case 'session':
      return trans.__('told by the Jupyter server');
    case 'driver-file':
      return trans.__('driver’s file in the pod');
    case 'measured':
      return trans.__('measured in the pod');
    default:
      return source;
  }
}

function titleOf(speech: Speech, devices: readonly CardDevice[]): string {
  const { trans } = speech;
  const [first] = devices;
  if (!first) {
    return trans.__('This notebook has no device');
  }
  const name = first.product ?? first.label ?? first.name;
  if (first.profile) {
    return fill(trans.__('Part {profile} of {device}'), { profile: first.profile, device: first.label ?? name });
  }
  if (devices.length === 1) {
    return plain(name);
  }
  const same = devices.every(item => item.label === first.label);
  return same
    ? `${devices.length} × ${plain(first.label ?? name)}`
    : devices.map(item => plain(item.label ?? item.name)).join(' + ');
}

function Activity({ activity }: { activity: string | null }): ReactElement | null {
  const { trans } = useSpeech();
  if (activity === 'busy') {
    return (
      <span className="dra-Badge">
        <Icon name="run" className="dra-mod-fits" /> {trans.__('busy')}
      </span>
    );
  }
  return activity === 'idle' ? (
    <span className="dra-Badge">
      <Icon name="taken" /> {trans.__('idle')}
    </span>
  ) : null;
}

function Head(props: { card: Card; live: boolean }): ReactElement {
  const speech = useSpeech();
  const { card, live } = props;
  const [device] = card.devices;
  const place = [card.session?.name ?? null, device?.node ?? null, card.devices.map(item => item.name).join(', ')];
  return (
    <div className="dra-Out-head">
      <Glyph
        kind={device?.kind ?? 'gpu'}
        state={!device ? 'none' : live ? 'yours' : 'taken'}
        size={22}
        initial={initial(card.session?.name ?? '')}
      />
      <div className="dra-Out-names">
        <strong className="dra-Out-title">{titleOf(speech, card.devices)}</strong>
        <div className="dra-mod-quiet">
          {place
            .filter(Boolean)
            .map(text => cutMiddle(plain(text ?? '')))
            .join(' · ')}
        </div>
      </div>
      {live && <Activity activity={card.session?.activity ?? null} />}
    </div>
  );
}

function Use({ card, now }: { card: Card; now: number }): ReactElement | null {
  const speech = useSpeech();
  const { trans } = speech;
  const { usage } = card;
  const left = card.leaseEnds ? (Date.parse(card.leaseEnds) - now) / 1000 : null;
  if (!usage && left === null) {
    return null;
  }
  return (
    <div className="dra-Meters">
      {usage &&
        (usage.usedBytes !== null && usage.totalBytes ? (
          <Meter
            label={trans.__('Memory')}
            pieces={[{ share: usage.usedBytes / usage.totalBytes, pattern: 'solid' }]}
            text={`${usedOf(speech, usage.usedBytes, usage.totalBytes)} · ${percent(speech, (100 * usage.usedBytes) / usage.totalBytes)}`}
          />
        ) : (
          <Meter label={trans.__('Memory')} pieces={null} text={missingWords(speech, usage.whyMissing)} />
        ))}
      {usage && (
        <Meter
          label={trans.__('Compute')}
          pieces={usage.percent === null ? null : [{ share: usage.percent / 100, pattern: 'solid' }]}
          text={usage.percent === null ? missingWords(speech, usage.whyMissing) : percent(speech, usage.percent)}
        />
      )}
      {left !== null && left > 0 && (
        <Meter
          label={trans.__('Lease')}
          pieces={null}
          text={fill(trans.__('{time} left'), { time: duration(speech, Math.floor(left)) })}
        />
      )}
    </div>
  );
}

interface Fact {
  name: string;
  value: string;
  source: string | null;
  copy: boolean;
}

function factsOf(speech: Speech, card: Card): Fact[] {
  const { trans } = speech;
  const list: Fact[] = card.facts.map(item => ({ ...item, copy: false }));
  const [first] = card.devices;
  if (card.devices.length === 1 && first) {
    for (const id of KNOWN) {
      const item = first.attributes.find(entry => entry.name.split('/').pop() === id);
      if (item) {
        const value = /apability$|cudaDriverVersion/.test(id)
          ? item.value.replace(/^(\d+\.\d+)\.0$/, '$1')
          : item.value;
        list.push({ name: factName(speech, id), value, source: sourceName(speech, item.source), copy: id === 'uuid' });
      }
    }
  } else {
    for (const device of card.devices) {
      const value = [device.name, device.driver, device.label].filter(Boolean).join(', ');
      list.push({ name: device.kind === 'nic' ? 'nic' : 'gpu', value, source: null, copy: false });
    }
  }
  if (card.sees && card.sees.count === card.sees.given) {
    const n = card.sees.count;
    const template = trans._n('sees {n} device, the same one', 'sees {n} devices, the same ones', n);
    list.push({ name: trans.__('Inside'), value: fill(template, { n }), source: null, copy: false });
  }
  return list;
}

function Facts({ facts, onCopy }: { facts: readonly Fact[]; onCopy: (text: string) => void }): ReactElement {
  const { trans } = useSpeech();
  return (
    <dl className="dra-Out-facts">
      {facts.map((fact, index) => (
        <div key={index}>
          <dt>
            <Name text={fact.name} limit={28} />
          </dt>
          <dd title={fact.source ? fill(trans.__('from {source}'), { source: fact.source }) : undefined}>
            <Name text={fact.value} limit={fact.copy ? 18 : 48} />
            {fact.copy && (
              <button
                type="button"
                className="dra-IconButton"
                aria-label={fill(trans.__('Copy {name}'), { name: fact.name })}
                onClick={() => onCopy(fact.value)}
              >
                <Icon name="copy" size={12} />
              </button>
            )}
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** Everything the driver published, folded. */
function AllAttributes({ devices }: { devices: readonly CardDevice[] }): ReactElement | null {
  const { trans } = useSpeech();
  const n = devices.reduce((sum, device) => sum + device.attributes.length, 0);
  if (!n) {
    return null;
  }
  return (
    <details className="dra-Out-all">
      <summary>{fill(trans._n('All {n} attribute', 'All {n} attributes', n), { n })}</summary>
      <dl>
        {devices.flatMap(device =>
          device.attributes.map(item => (
            <div key={`${device.name}/${item.name}`}>
              <dt>
                <Name text={item.name} limit={60} />
              </dt>
              <dd>
                <Name text={item.value} limit={80} />
              </dd>
            </div>
          ))
        )}
      </dl>
    </details>
  );
}

function checked(speech: Speech, card: Card, now: number): string | null {
  const { trans } = speech;
  const cluster = card.asOf ? clock(speech, card.asOf, now) : null;
  const kernel = card.checkedInKernel ? clock(speech, card.checkedInKernel, now) : null;
  if (cluster && kernel) {
    return fill(trans.__('Checked: cluster {cluster}, kernel {kernel}'), { cluster, kernel });
  }
  return cluster ? fill(trans.__('As of {time}'), { time: cluster }) : null;
}

function DeviceCard(props: CardProps): ReactElement {
  const speech = useSpeech();
  const { trans } = speech;
  const { card, now, live, onAction } = props;
  const id = card.session?.id ?? null;
  const foot = checked(speech, card, now);
  const mismatch = card.sees && card.sees.count !== card.sees.given ? card.sees : null;
  return (
    <section className="dra-Out" aria-label={titleOf(speech, card.devices)}>
      <Head card={card} live={live} />
      {live && <Use card={card} now={now} />}
      {mismatch && (
        <div className="dra-Out-strip">
          <Icon name="fix" className="dra-mod-warn" />
          <span>
            <Said
              text={sentence(
                trans._n(
                  '**This kernel sees {n} device but was given {given}.**',
                  '**This kernel sees {n} devices but was given {given}.**',
                  mismatch.count
                ),
                { n: mismatch.count, given: mismatch.given }
              )}
            />{' '}
            {mismatch.extra
              ? fill(trans.__('The extra one ({extra}) may belong to someone else; do not use it.'), {
                  extra: cutMiddle(mismatch.extra, 16)
                })
              : ''}
          </span>
        </div>
      )}
      {!mismatch &&
        card.notes.map((note, index) => (
          <div key={index} className="dra-Out-strip">
            <Icon
              name={card.kind === 'mismatch' ? 'fix' : 'info'}
              className={card.kind === 'mismatch' ? 'dra-mod-warn' : 'dra-mod-info'}
            />
            <span>{plain(note)}</span>
          </div>
        ))}
      <Facts facts={factsOf(speech, card)} onCopy={props.onCopy} />
      <AllAttributes devices={card.devices} />
      {(foot || (live && id)) && (
        <div className="dra-Out-foot">
          <span className="dra-mod-quiet">{foot}</span>
          {live && id && (
            <span className="dra-Card-buttons">
              <Button
                label={fill(trans.__('Extend {session}'), { session: card.session?.name ?? '' })}
                onClick={() => onAction('extend', id)}
              >
                {trans.__('Extend')}
              </Button>
              <Button
                label={fill(trans.__('Claim of {session}'), { session: card.session?.name ?? '' })}
                onClick={() => onAction('describe', id)}
              >
                {trans.__('Claim')}
              </Button>
              <Button
                label={fill(trans.__('Stop {session}'), { session: card.session?.name ?? '' })}
                onClick={() => onAction('stop', id)}
              >
                {trans.__('Stop …')}
              </Button>
            </span>
          )}
        </div>
      )}
    </section>
  );
}

/** One line; "Facts" unfolds what was known then. */
function CompactCard(props: CardProps): ReactElement {
  const speech = useSpeech();
  const { trans } = speech;
  const { card, now, live } = props;
  const [open, setOpen] = useState(false);
  const [device] = card.devices;
  const { usage } = card;
  const when = card.asOf ? clock(speech, card.asOf, now) : null;
  return (
    <section className="dra-Out dra-mod-compact" aria-label={titleOf(speech, card.devices)}>
      <div className="dra-Out-line">
        <Glyph
          kind={device?.kind ?? 'gpu'}
          state={!device ? 'none' : live ? 'yours' : 'taken'}
          size={13}
          initial={initial(card.session?.name ?? '')}
        />
        <strong>
          <Name text={[device?.label ?? device?.name, device?.profile].filter(Boolean).join(', ')} />
        </strong>
        <span className="dra-mod-quiet">
          {[device?.node, device?.name]
            .filter(Boolean)
            .map(text => plain(text ?? ''))
            .join(' · ')}
        </span>
        {live && usage?.usedBytes != null && usage.totalBytes ? (
          <span>{usedOf(speech, usage.usedBytes, usage.totalBytes)}</span>
        ) : null}
        {!live && when ? <span className="dra-mod-quiet">{fill(trans.__('as of {time}'), { time: when })}</span> : null}
        <button type="button" className="dra-Link" aria-expanded={open} onClick={() => setOpen(!open)}>
          {trans.__('Facts')}
        </button>
      </div>
      {open && <Facts facts={factsOf(speech, card)} onCopy={props.onCopy} />}
    </section>
  );
}

function EndedOut({ card, onAction }: CardProps): ReactElement {
  const speech = useSpeech();
  const { trans } = speech;
  const ended = card.ended ?? { code: 'exited', at: null, exitCode: null, message: null, params: {} };
  const record = {
    at: ended.at ?? '',
    code: ended.code,
    exit_code: ended.exitCode,
    by: null,
    message: ended.message,
    params: ended.params,
    device_returned_at: null
  };
  const fault = isFault(record);
  const [device] = card.devices;
  const words = endWords(speech, {
    id: card.session?.id ?? '',
    name: card.session?.name ?? '',
    state: 'ended',
    activity: null,
    revision: 0,
    mine: true,
    user: null,
    server: null,
    namespace: null,
    requirement: null,
    claim: null,
    devices: device
      ? [
          {
            request: '',
            driver: device.driver ?? '',
            pool: '',
            device: device.name,
            node: device.node,
            label: device.label,
            share: null,
            predicted: null
          }
        ]
      : [],
    kernels: [],
    steps: [],
    wait: null,
    lease: null,
    usage: null,
    price: null,
    created_at: '',
    ready_at: '',
    ended: record,
    orphan: false,
    simulated: false
  });
  return (
    <section className={`dra-Out dra-mod-ended${fault ? ' dra-mod-fault' : ''}`} aria-label={words.head}>
      <div className="dra-Out-strip">
        <Icon name={fault ? 'never' : 'glass'} className={fault ? 'dra-mod-error' : ''} />
        <div>
          <strong>{words.head}</strong>
          <p>{words.body}</p>
          <Button kind="main" onClick={() => onAction('open', null)}>
            {trans.__('Start again …')}
          </Button>
        </div>
      </div>
    </section>
  );
}

function NoneCard({ card, onAction }: CardProps): ReactElement {
  const speech = useSpeech();
  const { trans } = speech;
  const [first] = card.held;
  const names = card.held.map(item => plain(item.name)).join(', ');
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
      <div className="dra-Out-foot">
        <span className="dra-mod-quiet">
          {first
            ? fill(
                trans._n(
                  'You hold {n} device elsewhere: {names}.',
                  'You hold {n} devices elsewhere: {names}.',
                  card.held.length
                ),
                {
                  n: card.held.length,
                  names
                }
              )
            : ''}
        </span>
        <span className="dra-Card-buttons">
          {first && (
            <Button onClick={() => onAction('attach-here', first.id)}>
              {fill(trans.__('Use {session}'), { session: cutMiddle(first.name, 24) })}
            </Button>
          )}
          <Button onClick={() => onAction('open', null)}>{trans.__('Get a device …')}</Button>
        </span>
      </div>
    </section>
  );
}

export function CardView(props: CardProps): ReactElement {
  const { card, live } = props;
  switch (card.kind) {
    case 'none':
      return <NoneCard {...props} />;
    case 'ended':
      return <EndedOut {...props} />;
    default:
      return card.compact || !live ? <CompactCard {...props} /> : <DeviceCard {...props} />;
  }
}
