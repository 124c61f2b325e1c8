/** Why-not lines in words (ux.md §5, 11–22). */

import type { Params, Reason } from '../api/types';
import { count, decimal, nameList } from './numbers';
import { capabilityWords, generationOf } from './capabilities';
import { list, number, record, text } from './params';
import { cardSize, sizeLabel } from './sizes';
import type { Speech } from './speech';
import { markWords } from './taints';
import { fill } from './text';

export interface Line {
  main: string;
  sub: string | null;
}

/** A number of a reason, where missing is none. */
function amount(params: Params, key: string): number {
  return number(params, key) ?? 0;
}

/** Several devices of a kind, as the reason line names them. */
export function kindPlural(speech: Speech, kind: string): string {
  const { trans } = speech;
  switch (kind) {
    case 'gpu':
      return trans.__('GPUs');
    case 'part':
      return trans.__('parts');
    case 'tpu':
      return trans.__('TPUs');
    case 'nic':
      return trans.__('network cards');
    case 'cpu':
      return trans.__('CPUs');
    case 'other':
      return trans.__('others');
    default:
      return kind;
  }
}

function nearest(speech: Speech, params: Params): string | null {
  const label = text(record(params, 'nearest'), 'label');
  // "H100 80 GB" reads as "H100, 80 GB" in a line about sizes.
  const commaed = label.replace(/^(.*\S)\s+(\d+ GB)$/, '$1, $2');
  return label ? fill(speech.trans.__('nearest: {device}'), { device: commaed }) : null;
}

function kindLine(speech: Speech, params: Params): Line {
  const kinds = list(params, 'kinds').map(kind => kindPlural(speech, String(kind)));
  return { main: speech.trans.__('another kind of device'), sub: kinds.length ? nameList(speech, kinds) : null };
}

function memoryLine(speech: Speech, params: Params): Line {
  const { trans } = speech;
  const bytes = amount(params, 'asked_bytes');
  const asked = text(params, 'asked') ? sizeLabel(text(params, 'asked')) : bytes ? cardSize(bytes) : '';
  const direction = text(params, 'direction');
  if (direction === 'unknown' || params['not_stated'] === true) {
    return { main: trans.__('memory size not known'), sub: null };
  }
  if (params['near_miss'] === true) {
    const found = record(params, 'nearest');
    const has = amount(found, 'bytes')
      ? `${decimal(speech, amount(found, 'bytes') / 2 ** 30, 2)} GiB`
      : text(params, 'has');
    const card = /(\d+ GB)$/.exec(text(found, 'label'))?.[1] ?? text(params, 'card');
    const template = trans.__('just short: {has}, you ask for {asked}. Write {card} to mean what is on the card.');
    return { main: fill(template, { has, asked, card }), sub: null };
  }
  const template = direction === 'more' ? trans.__('more than {size}') : trans.__('less than {size}');
  const main = asked ? fill(template, { size: asked }) : trans.__('another memory size');
  return { main, sub: nearest(speech, params) };
}

/** "does not state driver version", of several "do not state". */
function notStated(speech: Speech, field: string, devices: number): Line {
  const template = speech.trans._n('does not state {field}', 'do not state {field}', devices);
  return { main: fill(template, { field }), sub: null };
}

function conditionLine(speech: Speech, { params, devices }: Reason): Line {
  const { trans } = speech;
  const field = text(params, 'field');
  const name = fieldName(speech, field);
  if (params['not_stated'] === true) {
    return notStated(speech, name, devices);
  }
  const several = list(params, 'asked').map(String);
  const single = text(params, 'asked');
  const generation = field === 'compute_capability' ? generationOf(single) : null;
  if (generation) {
    return { main: fill(trans.__('not NVIDIA {generation} or newer'), { generation }), sub: nearest(speech, params) };
  }
  const asked = several.length
    ? new Intl.ListFormat(speech.locale, { type: 'disjunction' }).format(several)
    : field === 'compute_capability' && single
      ? capabilityWords(speech, single)
      : single;
  if (!asked) {
    const template = trans._n(
      'does not meet your condition on {field}',
      'do not meet your condition on {field}',
      devices
    );
    return { main: fill(template, { field: name }), sub: nearest(speech, params) };
  }
  return { main: fill(trans.__('not {asked}'), { asked }), sub: nearest(speech, params) };
}

function conditionErrorLine(speech: Speech, reason: Reason): Line {
  const { params } = reason;
  const [, pool = '', device = ''] = list(params, 'device').map(String);
  const name = text(params, 'attribute') || (/^no such key: (\S+?)\.?(\s|$)/.exec(text(params, 'error'))?.[1] ?? '');
  const place = device ? fill(speech.trans.__('{device} of {node}'), { device, node: pool }) : text(params, 'device');
  if (!place || !name) {
    return serverLine(reason);
  }
  const template = speech.trans.__(
    'Your condition stops with an error on {device}: it has no {name}. The cluster would refuse the whole request.'
  );
  return { main: fill(template, { device: place, name }), sub: null };
}

function outLine(speech: Speech, params: Params): Line {
  const { trans } = speech;
  const by = text(params, 'by');
  const marks = list(params, 'taints').map(item => {
    const taint = typeof item === 'object' && item !== null ? (item as Params) : {};
    return markWords(speech, { key: text(taint, 'key'), value: text(taint, 'value') });
  });
  const what = text(params, 'reason') || nameList(speech, marks);
  const who =
    by === 'driver' ? trans.__('driver') : by === 'admin' ? trans.__('admin') : by || trans.__('driver or admin');
  const sub = what
    ? fill(trans.__('marked by {who}: {reason}'), { who, reason: what })
    : fill(trans.__('marked by {who}'), { who });
  return { main: trans.__('out of service'), sub };
}

function counts(params: Params, key: string): [string, number][] {
  return Object.entries(record(params, key))
    .filter((entry): entry is [string, number] => typeof entry[1] === 'number')
    .sort((a, b) => b[1] - a[1])
    .slice(0, 3);
}

function takenLine(speech: Speech, params: Params): Line {
  const { trans } = speech;
  const yours = amount(params, 'yours');
  const hidden = amount(params, 'hidden');
  const parts = [
    ...(yours ? [fill(trans.__('{n} by you'), { n: count(speech, yours) })] : []),
    ...counts(params, 'users').map(([user, n]) => fill(trans.__('{n} by {user}'), { n: count(speech, n), user })),
    ...counts(params, 'namespaces').map(([namespace, n]) =>
      fill(trans.__('{n} in {namespace}'), { n: count(speech, n), namespace })
    ),
    ...(hidden ? [fill(trans.__('{n} not visible to you'), { n: count(speech, hidden) })] : [])
  ];
  return { main: trans.__('taken'), sub: parts.length ? nameList(speech, parts) : null };
}

function partnerLine(speech: Speech, reason: Reason): Line {
  const { trans } = speech;
  const { params } = reason;
  const place = alignName(speech, text(params, 'attribute') || text(params, 'align'));
  const largest = amount(params, 'largest');
  if (amount(params, 'without_attribute') === reason.devices && reason.devices) {
    const template = trans._n('does not state its {place}', 'do not state their {place}', reason.devices);
    return { main: fill(template, { place }), sub: null };
  }
  if (largest) {
    const template = trans.__('too few on the same {place}: {needed} are needed, the largest group has {largest}');
    const values = { place, needed: count(speech, amount(params, 'needed')), largest: count(speech, largest) };
    return { main: fill(template, values), sub: null };
  }
  const partner = text(params, 'partner') || trans.__('partner device');
  const label = text(params, 'label');
  const nodes = amount(params, 'nodes');
  const sub = label
    ? fill(trans._n('{device} on {nodes} node', '{device} on {nodes} nodes', nodes), {
        device: label,
        nodes: count(speech, nodes)
      })
    : null;
  return { main: fill(trans.__('no {partner} on the same {place}'), { partner, place }), sub };
}

function nodeLine(speech: Speech, params: Params): Line {
  const { trans } = speech;
  switch (text(params, 'why')) {
    case 'unschedulable':
      return { main: trans.__('on nodes that take no new work'), sub: null };
    case 'not-ready':
      return { main: trans.__('on nodes that are not ready'), sub: null };
    case 'no-node':
      return { main: trans.__('on no node that is known'), sub: null };
    default:
      return { main: trans.__('on nodes that cannot be used'), sub: null };
  }
}

function oneNodeLine(speech: Speech, { params, devices }: Reason): Line {
  const { trans } = speech;
  const most = amount(params, 'most_on_one_node');
  const free = amount(params, 'most_free_on_one_node');
  const needed = amount(params, 'needed');
  if (!needed) {
    return { main: trans.__('are free, but “all” needs every matching device of a node free'), sub: null };
  }
  return most < needed
    ? {
        main: fill(
          trans._n(
            'device matches, but no node has more than {most}. A notebook runs on one node.',
            'devices match, but no node has more than {most}. A notebook runs on one node.',
            devices
          ),
          { most: count(speech, most) }
        ),
        sub: null
      }
    : {
        main: fill(
          trans._n(
            'device is free, but no node has more than {most}. A notebook runs on one node.',
            'devices are free, but no node has more than {most}. A notebook runs on one node.',
            devices
          ),
          { most: count(speech, free) }
        ),
        sub: null
      };
}

/** Amounts by the last part of their names: "3 GiB", "3 GiB, 20 cores". */
function amounts(speech: Speech, params: Params, key: string): string {
  const texts = Object.entries(record(params, key)).map(([name, value]) => {
    const last = name.split('/').pop() ?? name;
    return last === 'memory' && value !== '0'
      ? sizeLabel(String(value))
      : last === 'memory'
        ? '0'
        : `${String(value)} ${last}`;
  });
  return nameList(speech, texts);
}

function shareLine(speech: Speech, reason: Reason): Line {
  const { trans } = speech;
  const { params } = reason;
  const missing = list(params, 'missing').map(String);
  if (missing.length) {
    return notStated(speech, nameList(speech, missing), reason.devices);
  }
  const asked = amounts(speech, params, 'asked');
  const most = amounts(speech, params, 'at_most');
  if (most) {
    const template = trans._n(
      'gives at most {most}; {asked} asked',
      'give at most {most}; {asked} asked',
      reason.devices
    );
    return { main: fill(template, { most, asked }), sub: null };
  }
  const given = amounts(speech, params, 'given');
  if (!given) {
    return serverLine(reason);
  }
  const template = trans._n('has no room for {given}', 'have no room for {given}', reason.devices);
  return { main: fill(template, { given }), sub: roomWords(speech, params, asked, given) };
}

/** Message 21: in which steps a device gives, and what is left of it. */
function roomWords(speech: Speech, params: Params, asked: string, given: string): string | null {
  const { trans } = speech;
  if (!asked) {
    return trans.__('No amount asked: takes the whole device.');
  }
  const left = amounts(speech, params, 'left');
  const total = amounts(speech, params, 'total');
  const values = { asked, given, left, total, device: text(params, 'device'), step: amounts(speech, params, 'step') };
  if (!left || !values.device) {
    return null;
  }
  return asked !== given && values.step
    ? fill(trans.__('{asked} asked; {device} gives steps of {step}, so {given}; {left} of {total} left'), values)
    : fill(trans.__('{left} of {total} left on {device}'), values);
}

/** Message 20. Places of a card that are numbered are told as slots, other counters by their names. */
function partLine(speech: Speech, params: Params): Line {
  const { trans } = speech;
  const [counter] = list(params, 'counters') as Params[];
  const slots = record(params, 'slots');
  const cards = amount(params, 'cards');
  const values = { profile: text(params, 'label') || text(params, 'profile'), cards: count(speech, cards) };
  const template = cards
    ? trans._n(
        'on {cards} card with no room left for a {profile} part',
        'on {cards} cards with no room left for a {profile} part',
        cards
      )
    : trans.__('no room left on their card for a {profile} part');
  const main = fill(template, values);
  const amountsOf = (source: Params): Record<string, string> =>
    Object.fromEntries(['counter', 'left', 'total', 'needed'].map(key => [key, text(source, key)]));
  if (text(slots, 'total')) {
    const sub = trans.__('{left} of {total} slots free, {needed} needed in a row');
    return { main, sub: fill(sub, amountsOf(slots)) };
  }
  const sub = trans.__('{counter}: {left} of {total} left, {needed} needed');
  return { main, sub: counter ? fill(sub, amountsOf(counter)) : null };
}

/** Message 22: the lists, beside the devices that stand in them. */
function inventoryLine(speech: Speech, params: Params): Line {
  const { trans } = speech;
  const lists = amount(params, 'lists');
  const values = { n: count(speech, lists) };
  if (text(params, 'state') === 'invalid') {
    const template = trans._n(
      'on {n} node whose list has a mistake of the driver',
      'on {n} nodes whose lists have a mistake of the driver',
      lists
    );
    return { main: fill(template, values), sub: trans.__('your admin can help') };
  }
  const template = trans._n(
    'on {n} node that publishes an incomplete list right now',
    'on {n} nodes that publish an incomplete list right now',
    lists
  );
  return { main: fill(template, values), sub: trans.__('usually over in a minute') };
}

/** The server's own sentence without the count that stands beside it. */
function serverLine(reason: Reason): Line {
  return { main: reason.message.replace(/^[\d,]+\s+/, ''), sub: null };
}

/** One why-not line; the count stands beside it. An unknown code falls back to the server's sentence. */
export function reasonLine(speech: Speech, reason: Reason): Line {
  const { params } = reason;
  switch (reason.code) {
    case 'kind':
      return kindLine(speech, params);
    case 'memory':
      return memoryLine(speech, params);
    case 'condition':
      return conditionLine(speech, reason);
    case 'condition-error':
      return conditionErrorLine(speech, reason);
    case 'out-of-service':
      return outLine(speech, params);
    case 'partner':
      return partnerLine(speech, reason);
    case 'one-node':
      return oneNodeLine(speech, reason);
    case 'node':
      return nodeLine(speech, params);
    case 'taken':
      return takenLine(speech, params);
    case 'part':
      return partLine(speech, params);
    case 'share':
      return shareLine(speech, reason);
    case 'inventory':
      return inventoryLine(speech, params);
    default:
      return serverLine(reason);
  }
}

export function fieldName(speech: Speech, field: string): string {
  const { trans } = speech;
  switch (field) {
    case 'architecture':
      return trans.__('generation');
    case 'product':
      return trans.__('product');
    case 'compute_capability':
      return trans.__('compute capability');
    case 'driver_version':
      return trans.__('driver version');
    case 'where':
      return trans.__('conditions');
    case 'vram':
      return trans.__('memory');
    default:
      return field;
  }
}

export function alignName(speech: Speech, align: string): string {
  const { trans } = speech;
  const id = align.split('/').pop() ?? '';
  switch (id) {
    case 'pcieRoot':
    case 'pciBusRoot':
    case '':
      return trans.__('PCIe root');
    case 'numaNode':
      return trans.__('NUMA node');
    default:
      return id;
  }
}
