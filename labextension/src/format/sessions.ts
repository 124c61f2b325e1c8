/** A session's state, place, use and time in words. */

import type { Session, SessionDevice } from '../api/types';
import type { Place } from '../model/place';
import { clock, duration, runningClock } from './durations';
import { soFar } from './numbers';
import type { Speech } from './speech';
import { fill, plain } from './text';

/** "H100 80 GB", "A100 40 GB, part 2g.10gb". */
export function deviceLabel(speech: Speech, device: SessionDevice): string {
  const label = device.label ?? device.device;
  return device.share?.profile
    ? fill(speech.trans.__('{device}, part {profile}'), { device: label, profile: device.share.profile })
    : label;
}

/** "H100 80 GB · dgx-h100-0 · gpu-3". */
export function devicesLine(speech: Speech, session: Session): string {
  const [first] = session.devices;
  if (!first) {
    return '';
  }
  const node = first.node ?? first.pool;
  if (session.devices.length === 1) {
    const parts = [deviceLabel(speech, first), node, first.share?.profile ? null : first.device];
    return parts.filter(Boolean).join(' · ');
  }
  const same = session.devices.every(device => device.label === first.label);
  const labels = same
    ? [`${session.devices.length} × ${deviceLabel(speech, first)}`]
    : session.devices.map(device => device.label ?? device.device);
  return [labels.join(' + '), node].join(' · ');
}

export function placeLabel(speech: Speech, place: Place, asOf: number | null, now: number): string {
  const { trans } = speech;
  if (asOf !== null && place.kind !== 'here') {
    return fill(trans.__('as of {time}'), { time: clock(speech, new Date(asOf).toISOString(), now) });
  }
  switch (place.kind) {
    case 'here':
      return trans.__('here');
    case 'starting':
      return trans.__('starting');
    case 'no-device':
      return place.node ? fill(trans.__('{node}, no device'), { node: place.node }) : trans.__('no device');
    case 'devices': {
      const values = { n: place.count, node: place.node };
      const template = place.simulated
        ? trans._n('simulated · {n} device · {node}', 'simulated · {n} devices · {node}', place.count)
        : trans._n('{n} device · {node}', '{n} devices · {node}', place.count);
      return fill(template, values);
    }
    default: {
      const facts = [place.node, place.device, place.label ?? ''].filter(Boolean).map(plain).join(' · ');
      return place.simulated ? fill(trans.__('simulated · {place}'), { place: facts }) : facts;
    }
  }
}

export function kernelState(speech: Speech, state: string, idle: number | null): string {
  const { trans } = speech;
  if (state === 'busy') {
    return trans.__('busy');
  }
  if (state === 'idle') {
    return idle !== null && idle >= 60
      ? fill(trans.__('idle {time}'), { time: duration(speech, idle) })
      : trans.__('idle');
  }
  switch (state) {
    case 'starting':
      return trans.__('starting');
    case 'restarting':
      return trans.__('restarting');
    case 'dead':
      return trans.__('ended');
    default:
      return plain(state);
  }
}

/** Message 32: why a device is not free yet. */
export function givingBackWords(speech: Speech, since: string | null, now: number, node: string | null): string {
  const { trans } = speech;
  const seconds = since ? (now - Date.parse(since)) / 1000 : 0;
  if (seconds > 120) {
    const template = trans.__(
      'still held after {time}: the driver on {node} does not answer. Your admin can help; you can go on elsewhere.'
    );
    return fill(template, { time: duration(speech, seconds), node: node ?? trans.__('its node') });
  }
  return fill(trans.__('{clock}, waits for the old pod to end'), { clock: runningClock(seconds) });
}

export function timeLeft(speech: Speech, session: Session, now: number): string | null {
  const ends = session.lease?.ends_at;
  if (!ends) {
    return null;
  }
  const left = (Date.parse(ends) - now) / 1000;
  return left <= 0
    ? speech.trans.__('time over')
    : fill(speech.trans.__('{time} left'), { time: duration(speech, Math.floor(left)) });
}

/** Share of the lease that has passed, 0–1. */
export function leaseUsed(session: Session, now: number): number | null {
  const ends = session.lease?.ends_at;
  const start = Date.parse(session.ready_at ?? session.created_at);
  if (!ends) {
    return null;
  }
  const whole = Date.parse(ends) - start;
  return whole > 0 ? Math.min(1, Math.max(0, (now - start) / whole)) : null;
}

/** "€5.90 so far", or null where no price is set. */
export function costWords(speech: Speech, session: Session, now: number): string | null {
  if (!session.price) {
    return null;
  }
  const start = Date.parse(session.ready_at ?? session.created_at);
  const end = session.ended ? Date.parse(session.ended.at) : now;
  const amount = soFar(speech, session.price, Math.max(0, end - start) / 3600e3);
  return amount ? fill(speech.trans.__('{money} so far.'), { money: amount }) : null;
}

/** Message 52: why a figure is missing. Never 0, never blank. */
export function missingWords(speech: Speech, why: string | null): string {
  const { trans } = speech;
  switch (why) {
    case 'not-on-a-part':
      return trans.__('not available on a part');
    case 'no-right':
      return trans.__('not readable: no right');
    case 'simulated':
      return trans.__('not measured on a simulated device');
    default:
      return trans.__('not stated by the driver');
  }
}
