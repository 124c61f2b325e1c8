/** What a card says of a device in names and values: what people ask first, then everything the driver published. */

import type { ReactElement } from 'react';

import type { Session } from '../api/types';
import type { Card, CardDevice } from '../model/card';
import { askedWords, neighbourWords, predictionWords, sharingWords } from '../format/sessions';
import type { Speech } from '../format/speech';
import { fill } from '../format/text';
import { Icon } from './icons';
import { Name, useSpeech } from './speech';

/** Attributes in the order people ask for them, by the last part of their name. */
const KNOWN = [
  'architecture',
  'tpuGen',
  'topology',
  'cudaComputeCapability',
  'computeCapability',
  'driverVersion',
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
    case 'topology':
      return trans.__('Topology');
    case 'cudaComputeCapability':
    case 'computeCapability':
      return trans.__('Capability');
    case 'driverVersion':
      return trans.__('Driver');
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

export interface Fact {
  name: string;
  value: string;
  source: string | null;
  copy: boolean;
  /** Set where the value was compared and found right. */
  good?: boolean;
  /** A sentence: it gets the whole width. */
  wide?: boolean;
}

function attribute(device: CardDevice, id: string): CardDevice['attributes'][number] | undefined {
  return device.attributes.find(entry => entry.name.split('/').pop() === id);
}

function plainVersion(value: string): string {
  return value.replace(/^(\d+\.\d+)\.0$/, '$1');
}

function deviceFacts(speech: Speech, device: CardDevice): Fact[] {
  return KNOWN.flatMap(id => {
    const item = attribute(device, id);
    if (!item) {
      return [];
    }
    const cuda = id === 'driverVersion' ? attribute(device, 'cudaDriverVersion') : undefined;
    const value = cuda
      ? fill(speech.trans.__('{driver}, CUDA {cuda}'), { driver: item.value, cuda: plainVersion(cuda.value) })
      : /apability$/.test(id)
        ? plainVersion(item.value)
        : item.value;
    return [{ name: factName(speech, id), value, source: sourceName(speech, item.source), copy: id === 'uuid' }];
  });
}

/** Several devices that people would not tell apart: their names once, and what is the same of all. */
function alikeFacts(speech: Speech, devices: readonly CardDevice[]): Fact[] {
  const [first, last] = [devices[0]!, devices[devices.length - 1]!];
  const names = fill(speech.trans.__('{first} to {last}'), { first: first.name, last: last.name });
  const same = deviceFacts(speech, first).filter(fact =>
    devices.every(device =>
      deviceFacts(speech, device).some(other => other.name === fact.name && other.value === fact.value)
    )
  );
  return [{ name: speech.trans.__('Devices'), value: names, source: null, copy: false }, ...same];
}

function isAlike(devices: readonly CardDevice[]): boolean {
  return (
    new Set(devices.map(device => [device.kind, device.driver, device.label, device.product].join('/'))).size === 1
  );
}

/** Two devices of different kinds: one line each, and what they share. */
function severalFacts(speech: Speech, devices: readonly CardDevice[]): Fact[] {
  const { trans } = speech;
  const lines = devices.map(device => ({
    name: device.kind === 'nic' ? trans.__('Network card') : device.kind === 'tpu' ? trans.__('TPU') : trans.__('GPU'),
    value: [device.name, device.driver, device.label].filter(Boolean).join(', '),
    source: null,
    copy: false
  }));
  const shared = (['pcieRoot', 'numaNode'] as const).flatMap(id => {
    const values = new Set(devices.map(device => attribute(device, id)?.value ?? null));
    const [value] = values;
    return values.size === 1 && value ? [{ name: factName(speech, id), value, source: null, copy: false }] : [];
  });
  return [...lines, ...shared];
}

/** `session` adds what only the server knows: who shares the device, and whether the prediction held. */
export function factsOf(speech: Speech, card: Card, session: Session | null): Fact[] {
  const { trans } = speech;
  const [first] = card.devices;
  const list: Fact[] = card.facts.map(item => ({ ...item, copy: false }));
  const add = (name: string, value: string | null, wide = false): void => {
    if (value) {
      list.push({ name, value, source: null, copy: false, wide });
    }
  };
  if (session) {
    add(trans.__('Sharing'), sharingWords(speech, session), true);
    add(trans.__('You asked for'), askedWords(speech, session), true);
    if (card.devices.length === 1) {
      add(first?.shared ? trans.__('Whole card') : trans.__('Neighbours'), neighbourWords(speech, session.devices[0]));
    }
  }
  if (card.devices.length === 1 && first) {
    list.push(...deviceFacts(speech, first));
  } else if (card.devices.length) {
    list.push(...(isAlike(card.devices) ? alikeFacts : severalFacts)(speech, card.devices));
  }
  if (card.sees && card.sees.count === card.sees.given && card.sees.count) {
    const n = card.sees.count;
    const template = trans._n('sees {n} device, the same one', 'sees {n} devices, the same ones', n);
    list.push({ name: trans.__('Inside'), value: fill(template, { n }), source: null, copy: false, good: true });
  }
  if (session) {
    add(trans.__('Prediction'), predictionWords(speech, session));
  }
  return list;
}

export function Facts({ facts, onCopy }: { facts: readonly Fact[]; onCopy: (text: string) => void }): ReactElement {
  const { trans } = useSpeech();
  return (
    <dl className="dra-Out-facts">
      {facts.map((fact, index) => (
        <div key={index} className={fact.wide ? 'dra-mod-wide' : fact.copy ? 'dra-mod-copy' : undefined}>
          <dt>
            <Name text={fact.name} limit={28} />
          </dt>
          <dd title={fact.source ? fill(trans.__('from {source}'), { source: fact.source }) : undefined}>
            <Name text={fact.value} limit={fact.copy ? 18 : 100} />
            {fact.good && <Icon name="done" size={13} className="dra-mod-fits" />}
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
export function AllAttributes({ devices }: { devices: readonly CardDevice[] }): ReactElement | null {
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
