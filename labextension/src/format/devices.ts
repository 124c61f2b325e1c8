/** Devices, their states and holders in words, for picture, list and tips. */

import type { Device, Holder } from '../api/types';
import { clock, duration } from './durations';
import { count } from './numbers';
import type { Speech } from './speech';
import { simulatedWord } from './simulated';
import { markWords } from './taints';
import { fill, plain, sessionName } from './text';

export function stateWords(speech: Speech, device: Device): string {
  const { trans } = speech;
  switch (device.state) {
    case 'free':
      return trans.__('free');
    case 'yours':
      return trans.__('yours');
    case 'taken':
      return trans.__('taken');
    case 'shared':
      return trans.__('shared');
    case 'releasing':
      return trans.__('taken, giving back');
    case 'out-of-service':
      return trans.__('out of service');
    case 'hidden':
      return trans.__('taken, holder not visible');
    case 'incomplete':
      return trans.__('on an incomplete list');
    default:
      return trans.__('not visible');
  }
}

function ownName(holder: Holder): string {
  return sessionName(holder.session ?? holder.claim ?? '');
}

export function heldBy(speech: Speech, device: Device): string {
  const { trans } = speech;
  const [holder] = device.holders;
  if (!holder) {
    return device.state === 'hidden' || device.state === 'unknown'
      ? trans.__('not visible')
      : stateWords(speech, device);
  }
  if (holder.who === 'you') {
    return fill(trans.__('you, {session}'), { session: ownName(holder) });
  }
  const first = holder.user ?? [holder.namespace, holder.claim].filter(Boolean).join(' / ');
  const name = plain(first) || trans.__('not visible');
  const more = device.holders.length - 1;
  return more ? fill(trans._n('{name} and {n} more', '{name} and {n} more', more), { name, n: more }) : name;
}

/** "gpu-3, H100 80 GB, yours, bert-train": a cell's name for screen readers. */
export function cellName(speech: Speech, device: Device): string {
  const [holder] = device.holders;
  const who = holder ? (holder.who === 'you' ? ownName(holder) : (holder.user ?? holder.namespace ?? '')) : '';
  return [device.name, device.label ?? device.product ?? '', stateWords(speech, device), who]
    .filter(Boolean)
    .map(plain)
    .join(', ');
}

export interface Tip {
  head: string;
  lines: string[];
}

/** What stands in the tip of a device in focus. */
export function deviceTip(speech: Speech, device: Device, now: number): Tip {
  const { trans } = speech;
  const lines: string[] = [];
  const taint = device.taints?.[0];
  if (device.state === 'out-of-service' && taint) {
    const values = {
      who: taint.key?.startsWith(device.driver) ? trans.__('the driver') : trans.__('your admin'),
      what: markWords(speech, { key: taint.key ?? '', value: taint.value ?? '' }),
      since: taint.timeAdded ? clock(speech, taint.timeAdded, now) : ''
    };
    lines.push(
      values.since
        ? fill(trans.__('Marked by {who}: {what}, since {since}.'), values)
        : fill(trans.__('Marked by {who}: {what}.'), values),
      trans.__('Not offered unless you accept marked devices.')
    );
  }
  for (const holder of device.holders.slice(0, 3)) {
    const facts = [
      holder.since
        ? fill(trans.__('since {time}'), { time: duration(speech, (now - Date.parse(holder.since)) / 1000) })
        : null,
      idleWords(speech, holder)
    ].filter(Boolean);
    const name =
      holder.who === 'you'
        ? fill(trans.__('you, {session}'), { session: ownName(holder) })
        : plain(holder.user ?? holder.namespace ?? trans.__('not visible'));
    lines.push([name, ...facts].join(' · '));
  }
  if (device.memory_published) {
    lines.push(fill(trans.__('Memory as published: {memory}'), { memory: device.memory_published }));
  }
  const simulated = device.simulated ? simulatedWord(speech) : '';
  const head = [device.name, device.label ?? device.product ?? '', simulated, stateWords(speech, device)]
    .filter(Boolean)
    .map(plain)
    .join(' · ');
  return { head, lines };
}

export function idleWords(speech: Speech, holder: Holder | undefined): string {
  const { trans } = speech;
  if (!holder) {
    return '';
  }
  if (holder.note === 'no-pod') {
    return trans.__('no pod');
  }
  if (holder.idle_seconds === null || holder.idle_seconds === undefined) {
    return trans.__('not known');
  }
  return holder.idle_seconds < 60 ? trans.__('busy') : duration(speech, holder.idle_seconds);
}

/**
 * The devices a picture of a node shows: not its network cards where it has others, and of a card that can be cut
 * into parts the card and the parts in use, not every part there could be.
 */
export function drawnDevices(devices: readonly Device[]): readonly Device[] {
  const main = devices.filter(device => device.device_kind !== 'nic' && device.device_kind !== 'cpu');
  const shown = main.length ? main : devices;
  const whole = shown.some(device => device.device_kind === 'gpu');
  return whole ? shown.filter(device => device.device_kind !== 'part' || device.holders.length > 0) : shown;
}

/** "8 × H100 80 GB · 3 free". */
export function nodeSummary(speech: Speech, devices: readonly Device[]): string {
  const { trans } = speech;
  const all = drawnDevices(devices);
  const labels = new Map<string, number>();
  for (const device of all) {
    const label = device.label ?? device.product ?? device.name;
    labels.set(label, (labels.get(label) ?? 0) + 1);
  }
  const kinds = [...labels].sort((a, b) => b[1] - a[1]).slice(0, 2);
  const names = kinds.map(([label, n]) => (n > 1 ? `${n} × ${plain(label)}` : plain(label))).join(', ');
  const free = all.filter(device => device.state === 'free').length;
  return `${names} · ${fill(trans.__('{n} free'), { n: count(speech, free) })}`;
}
