/** How sessions end, in words (ux.md §5, 31 and 42–48): a head, a reason, and whether something went wrong. */

import type { Ended, Session } from '../api/types';
import { clock, duration } from './durations';
import { nameList } from './numbers';
import { number, text } from './params';
import type { Speech } from './speech';
import { fill } from './text';
import { sizeLabel, usedOf } from './sizes';

export interface EndWords {
  head: string;
  body: string;
  /** Red only when something went wrong; ends by rule or by the user are grey. */
  fault: boolean;
}

const BY_RULE = new Set([
  'stopped',
  'cancelled',
  'stopped-by-admin',
  'idle',
  'lease-over',
  'wait-over',
  'server-stopped'
]);

export function isFault(ended: Pick<Ended, 'code' | 'exit_code'>): boolean {
  return !BY_RULE.has(ended.code) && !(ended.code === 'exited' && ended.exit_code === 0);
}

/** What the words of an end need: a session, or as much of it as a saved card tells. */
export type EndedSession = Pick<
  Session,
  'state' | 'requirement' | 'devices' | 'lease' | 'created_at' | 'ready_at' | 'ended' | 'right_size'
>;

/** Ended before it ever ran. */
export function endedEarly(session: EndedSession): boolean {
  return session.state === 'ended' && session.ready_at === null;
}

/** The few words for status bar and card head: "out of host memory". */
export function endShort(speech: Speech, ended: Pick<Ended, 'code'>): string {
  const { trans } = speech;
  switch (ended.code) {
    case 'out-of-memory':
      return trans.__('out of host memory');
    case 'idle':
      return trans.__('not used');
    case 'lease-over':
      return trans.__('time over');
    case 'stopped':
    case 'cancelled':
      return trans.__('stopped by you');
    case 'stopped-by-admin':
      return trans.__('stopped by an admin');
    case 'evicted':
    case 'preempted':
    case 'node-drained':
      return trans.__('moved off its node');
    case 'node-lost':
      return trans.__('node lost');
    case 'device-unhealthy':
      return trans.__('device out of service');
    case 'crashed':
      return trans.__('crashed');
    case 'exited':
      return trans.__('kernel ended');
    case 'pod-deleted':
      return trans.__('pod deleted');
    case 'claim-deleted':
      return trans.__('claim deleted');
    case 'launch-timeout':
      return trans.__('not started in time');
    case 'server-stopped':
      return trans.__('server stopped');
    default:
      return trans.__('not started');
  }
}

/** Message 31: why a launch came to nothing. */
function earlyReason(speech: Speech, ended: Ended): string | null {
  const { trans } = speech;
  const { params } = ended;
  switch (ended.code) {
    case 'image':
      return fill(trans.__('There is no image {image}.'), { image: text(params, 'image') });
    case 'limit-range':
    case 'quota': {
      const values = {
        asked: text(params, 'asked'),
        allowed: text(params, 'allowed') || text(params, 'hard'),
        namespace: text(params, 'namespace')
      };
      return values.asked && values.allowed
        ? fill(trans.__('{asked} is over the {allowed} allowed in {namespace}.'), values)
        : null;
    }
    case 'class-missing': {
      const classes = Array.isArray(params['classes']) ? params['classes'].map(String) : [];
      const values = { tier: text(params, 'tier'), tiers: nameList(speech, classes) };
      return classes.length
        ? fill(trans.__('The tier {tier} does not exist; there are: {tiers}.'), values)
        : fill(trans.__('The tier {tier} does not exist.'), values);
    }
    case 'prepare-failed': {
      const values = { device: text(params, 'device'), text: text(params, 'text') || ended.message };
      return fill(trans.__('The driver could not prepare {device}: {text}.'), values);
    }
    case 'cancelled':
    case 'stopped':
      return trans.__('You stopped it.');
    case 'wait-over':
      return trans.__('No device became free in the time you wanted to wait.');
    case 'launch-timeout':
      return trans.__('It did not start in the time allowed.');
    case 'impossible':
      return trans.__('No node has this, even with everything free.');
    default:
      return null;
  }
}

function laterReason(speech: Speech, session: EndedSession, ended: Ended): string | null {
  const { trans } = speech;
  const { params } = ended;
  const device = session.devices[0];
  switch (ended.code) {
    case 'out-of-memory': {
      const limit = sizeLabel(text(params, 'host_memory'));
      const usage = number(params, 'device_used_bytes');
      const total = number(params, 'device_total_bytes');
      const first = limit
        ? fill(trans.__('It used more than its {limit} of the node’s memory.'), { limit })
        : trans.__('It used more than its share of the node’s memory.');
      return usage !== null && total !== null
        ? `${first} ${fill(trans.__('The device’s own memory was not the problem ({used}).'), {
            used: usedOf(speech, usage, total)
          })}`
        : first;
    }
    case 'idle':
      return trans.__('No cell ran and the device was idle.');
    case 'lease-over':
      return trans.__('It had reached the end of its time.');
    case 'stopped':
    case 'cancelled':
      return trans.__('You stopped it.');
    case 'stopped-by-admin': {
      const values = { who: ended.by ?? trans.__('An admin'), text: text(params, 'detail') };
      return values.text
        ? fill(trans.__('{who} stopped it: {text}.'), values)
        : fill(trans.__('{who} stopped it.'), values);
    }
    case 'evicted': {
      const values = {
        node: device?.node ?? text(params, 'node'),
        what: text(params, 'resource') || trans.__('memory')
      };
      return fill(trans.__('The node {node} ran low on {what} and ended the kernel.'), values);
    }
    case 'node-drained':
      return fill(trans.__('The node {node} was taken out of work.'), { node: device?.node ?? text(params, 'node') });
    case 'preempted':
      return trans.__('It made room for work with a higher priority.');
    case 'device-unhealthy': {
      const values = {
        device: device?.device ?? text(params, 'device'),
        node: device?.node ?? text(params, 'node'),
        reason: text(params, 'reason') || text(params, 'key')
      };
      const template = values.reason
        ? trans.__(
            'The driver marked {device} on {node} as broken ({reason}) and the cluster ended the kernel. Nothing in your code caused this.'
          )
        : trans.__(
            'The driver marked {device} on {node} as broken and the cluster ended the kernel. Nothing in your code caused this.'
          );
      return fill(template, values);
    }
    case 'node-lost': {
      const since = text(params, 'since');
      const values = {
        node: device?.node ?? text(params, 'node'),
        time: clock(speech, since || ended.at, Date.parse(ended.at))
      };
      return fill(trans.__('{node} has not answered since {time}.'), values);
    }
    case 'pod-deleted':
      return trans.__('Somebody deleted the kernel’s pod.');
    case 'claim-deleted':
      return trans.__('Somebody deleted the claim.');
    case 'crashed':
      return text(params, 'signal') === '11' || text(params, 'signal') === 'SIGSEGV'
        ? trans.__('It crashed in native code (segmentation fault).')
        : fill(trans.__('The kernel stopped by itself (exit code {code}).'), { code: ended.exit_code ?? '?' });
    case 'exited':
      return fill(trans.__('The kernel stopped by itself (exit code {code}).'), { code: ended.exit_code ?? '?' });
    case 'server-stopped':
      return trans.__('The Jupyter server was stopped.');
    default:
      return null;
  }
}

function endHead(speech: Speech, session: EndedSession, ended: Ended): string {
  const { trans } = speech;
  switch (ended.code) {
    case 'out-of-memory':
      return trans.__('The kernel was ended: out of host memory');
    case 'idle': {
      const limit = session.lease?.idle_limit_seconds;
      return limit
        ? fill(trans.__('The session ended: not used for {time}'), { time: duration(speech, limit) })
        : trans.__('The session ended: not used');
    }
    case 'lease-over': {
      const length = session.lease?.ends_at
        ? (Date.parse(session.lease.ends_at) - Date.parse(session.created_at)) / 1000
        : null;
      return length
        ? fill(trans.__('The session ended: its time was over ({time})'), { time: duration(speech, length) })
        : trans.__('The session ended: its time was over');
    }
    case 'device-unhealthy':
      return trans.__('The device was taken out of service');
    case 'stopped':
    case 'cancelled':
    case 'stopped-by-admin':
    case 'server-stopped':
      return trans.__('The session was stopped');
    default:
      return trans.__('The kernel was ended');
  }
}

/**
 * The whole message of an ended session; the server's own words where no code has any.
 *
 * `freeNow`: a device of its tier is free as far as is known.
 */
export function endWords(speech: Speech, session: EndedSession, freeNow = false): EndWords {
  const { trans } = speech;
  const { ended } = session;
  if (!ended) {
    return { head: trans.__('The session ended'), body: '', fault: false };
  }
  if (endedEarly(session)) {
    const reason = earlyReason(speech, ended) ?? (ended.message || endShort(speech, ended));
    const advice = ended.code === 'image' ? trans.__('Check its name. Everything was given back.') : null;
    return { head: reason, body: advice ?? trans.__('Everything was given back.'), fault: isFault(ended) };
  }
  const reason = laterReason(speech, session, ended) ?? ended.message;
  const returned = ended.device_returned_at
    ? fill(trans.__('Variables are gone; the notebook is kept. The device was given back at {time}.'), {
        time: clock(speech, ended.device_returned_at, Date.parse(ended.device_returned_at))
      })
    : trans.__('Variables are gone; the notebook is kept.');
  const free = freeNow ? trans.__('A device like it is free now.') : '';
  return {
    head: endHead(speech, session, ended),
    body: [reason, returned, free].filter(Boolean).join(' '),
    fault: isFault(ended)
  };
}
