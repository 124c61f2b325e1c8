/** A session's state, place, use and time in words. */

import type { Session, SessionDevice, Wait } from '../api/types';
import type { Place } from '../model/place';
import { clock, duration, runningClock } from './durations';
import { decimal, soFar } from './numbers';
import { parseSize, sizeLabel, usedOf, wireBytes } from './sizes';
import type { Speech } from './speech';
import { fill, plain } from './text';

/** "H100 80 GB", "A100 40 GB, part 2g.10gb". */
export function deviceLabel(speech: Speech, device: SessionDevice): string {
  const label = device.label ?? device.device;
  const { profile } = device;
  return profile ? fill(speech.trans.__('{device}, part {profile}'), { device: label, profile }) : label;
}

/** Messages 33 to 38: what stands between the ones on a device. */
export function sharingWords(speech: Speech, session: Session): string {
  const { trans } = speech;
  const [device] = session.devices;
  const { share } = session.requirement;
  const notebooks = session.kernels.length;
  if (share?.profile || device?.profile) {
    return trans.__('A fixed part (MIG). Own memory and own compute, kept apart by the card.');
  }
  if (share?.strategy === 'time-slicing') {
    return trans.__('Taking turns (time slices). Memory is not divided: one notebook can crowd out the others.');
  }
  if (share?.strategy === 'mps') {
    const limit = share['memory_limit'];
    return typeof limit === 'string'
      ? fill(
          trans.__(
            'Side by side (MPS). Runs at the same time; memory limit {size} each. A crash of one can end the others.'
          ),
          { size: sizeLabel(limit) }
        )
      : trans.__('Side by side (MPS). Runs at the same time; no memory limit. A crash of one can end the others.');
  }
  if (share?.memory || device?.share) {
    return trans.__('An amount of memory, counted but not enforced.');
  }
  return notebooks > 1
    ? fill(trans._n('whole device, your {n} notebook', 'whole device, your {n} notebooks', notebooks), { n: notebooks })
    : trans._n(
        'Whole device. Nobody else is on it.',
        'Whole devices. Nobody else is on them.',
        Math.max(1, session.devices.length)
      );
}

/** "7 GiB, got 8 GiB": where a shared device gives memory in steps; null where it gave what was asked for. */
export function askedWords(speech: Speech, session: Session): string | null {
  const asked = session.requirement?.share?.memory;
  const consumed = session.devices[0]?.share?.['consumed'];
  const memory = typeof consumed === 'object' && consumed !== null ? Object.entries(consumed) : [];
  const given: unknown = memory.find(([name]) => name.split('/').pop() === 'memory')?.[1];
  if (!asked || typeof given !== 'string' || parseSize(asked)?.bytes === parseSize(given)?.bytes) {
    return null;
  }
  return fill(speech.trans.__('{asked}, got {given}'), { asked: sizeLabel(asked), given: sizeLabel(given) });
}

/** "1 other part in use", "31 of 45 GiB given out to 4 sessions"; null where it is not known or nobody can be. */
export function neighbourWords(speech: Speech, device: SessionDevice | undefined): string | null {
  const { trans } = speech;
  const around = device?.neighbours;
  if (around?.parts !== undefined) {
    const n = around.parts;
    return n
      ? fill(trans._n('{n} other part in use', '{n} other parts in use', n), { n })
      : trans.__('no other part in use');
  }
  const memory = (amounts: Readonly<Record<string, string>> | undefined): number | null =>
    wireBytes(Object.entries(amounts ?? {}).find(([name]) => name.split('/').pop() === 'memory')?.[1]);
  const [given, total, n] = [memory(around?.given), memory(around?.total), around?.shares ?? 0];
  if (given === null || !total || !n) {
    return null;
  }
  const template = trans._n('{used} given out to {n} session', '{used} given out to {n} sessions', n);
  return fill(template, { used: usedOf(speech, given, total), n });
}

/** "gpu-3, as predicted"; null where nothing was. */
export function predictionWords(speech: Speech, session: Session): string | null {
  const { trans } = speech;
  const [device] = session.devices;
  if (!device || device.predicted === null) {
    return null;
  }
  const step = session.steps.find(item => item.code === 'allocated');
  const predicted = typeof step?.params['predicted'] === 'string' ? step.params['predicted'] : '';
  if (device.predicted) {
    return fill(trans.__('{device}, as predicted'), { device: device.device });
  }
  return predicted ? fill(trans.__('{device}; {predicted} was predicted'), { device: device.device, predicted }) : null;
}

/** Below this the driver's own share is not worth a word. */
const DRIVER_SHARE = 64 * 2 ** 20;

/** "this notebook 31.0 · eval.ipynb 6.1 · driver 0.3", in GiB; null where only one is on the device. */
export function memoryByKernel(speech: Speech, session: Session, own: string | null): string | null {
  const { trans } = speech;
  const { usage, kernels } = session;
  const known = (usage?.by_kernel ?? []).filter(item => item.memory_used_bytes !== null);
  if (!usage || known.length < 2) {
    return null;
  }
  const name = (id: string): string => {
    const kernel = kernels.find(item => item.id === id);
    return kernel?.notebook?.split('/').pop() ?? kernel?.name ?? id;
  };
  const figure = (bytes: number): string => decimal(speech, bytes / 2 ** 30, 1);
  const parts = known.map(item =>
    item.kernel === own
      ? fill(trans.__('this notebook {gib}'), { gib: figure(item.memory_used_bytes ?? 0) })
      : fill(trans.__('{notebook} {gib}'), { notebook: name(item.kernel), gib: figure(item.memory_used_bytes ?? 0) })
  );
  const rest = (usage.memory_used_bytes ?? 0) - known.reduce((sum, item) => sum + (item.memory_used_bytes ?? 0), 0);
  if (rest > DRIVER_SHARE) {
    parts.push(fill(trans.__('driver {gib}'), { gib: figure(rest) }));
  }
  return parts.join(' · ');
}

/** What a session of several devices has: "8 × TPU v6e", "H100 80 GB + mlx5_0". */
function devicesLabel(speech: Speech, session: Session): string {
  const [first] = session.devices;
  return first && session.devices.every(device => device.label === first.label)
    ? `${session.devices.length} × ${deviceLabel(speech, first)}`
    : session.devices.map(device => device.label ?? device.device).join(' + ');
}

/** As short as the status bar wants it: "H100 80 GB", "8 × TPU v6e", or the session's name while there is no device. */
export function shortDevices(speech: Speech, session: Session): string {
  const [first] = session.devices;
  if (!first) {
    return session.name;
  }
  return session.devices.length > 1 ? devicesLabel(speech, session) : (first.label ?? first.device);
}

/** "H100 80 GB · dgx-h100-0 · gpu-3". */
export function devicesLine(speech: Speech, session: Session): string {
  const [first] = session.devices;
  if (!first) {
    return '';
  }
  const node = first.node ?? first.pool;
  if (session.devices.length === 1) {
    const parts = [deviceLabel(speech, first), node, first.profile ? null : first.device];
    return parts.filter(Boolean).join(' · ');
  }
  return [devicesLabel(speech, session), node].join(' · ');
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

/** "3rd", as the language writes places in a row. */
function ordinal(speech: Speech, n: number): string {
  const { trans } = speech;
  const rule = new Intl.PluralRules(speech.locale, { type: 'ordinal' }).select(n);
  const templates: Partial<Record<Intl.LDMLPluralRule, string>> = {
    one: trans.__('{n}st'),
    two: trans.__('{n}nd'),
    few: trans.__('{n}rd')
  };
  return fill(templates[rule] ?? trans.__('{n}th'), { n });
}

/** Message 26, where a queue decides: "You are 3rd in team-a’s queue, as of 12:04.", and what the queue itself says. */
export function queueWords(speech: Speech, queue: NonNullable<Wait['queue']>, now: number): string {
  const { trans } = speech;
  const time = clock(speech, queue.as_of ?? '', now);
  const words = queue.position
    ? fill(trans.__('You are {place} in {queue}’s queue, as of {time}.'), {
        place: ordinal(speech, queue.position),
        queue: queue.name,
        time
      })
    : fill(trans.__('{queue} decides when it starts; your place is not known.'), { queue: queue.name });
  return queue.message ? `${words} ${fill(trans.__('It says: {text}'), { text: queue.message })}` : words;
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

/** Share of the lease that is left, 0–1. */
export function leaseLeft(session: Session, now: number): number | null {
  const ends = session.lease?.ends_at;
  const start = Date.parse(session.ready_at ?? session.created_at);
  if (!ends) {
    return null;
  }
  const whole = Date.parse(ends) - start;
  return whole > 0 ? Math.min(1, Math.max(0, (Date.parse(ends) - now) / whole)) : null;
}

/** "€5.90": what the device has cost until now; null where no price is set, or it is counted with another session. */
export function spentWords(speech: Speech, session: Session, now: number): string | null {
  const { price, ended } = session;
  if (!price?.since) {
    return null;
  }
  const end = ended ? Date.parse(ended.device_returned_at ?? ended.at) : now;
  return soFar(speech, price, Math.max(0, end - Date.parse(price.since)) / 3600e3);
}

/** "€5.90 so far.", or with which other session the cost of the claim they share is counted. */
export function costWords(speech: Speech, session: Session, now: number): string | null {
  const payer = session.price?.counted_with;
  if (payer) {
    return fill(speech.trans.__('Its cost is counted with {session}.'), { session: payer });
  }
  const money = spentWords(speech, session, now);
  return money ? fill(speech.trans.__('{money} so far.'), { money }) : null;
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
