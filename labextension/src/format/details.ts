/** The record of a session as names and values, in the order people look for them. */

import type { Session, SessionDevice, SessionKernel } from '../api/types';
import { clock, duration } from './durations';
import { nameList, percent } from './numbers';
import { requirementLine, type TierNames } from './requirement';
import { costWords, deviceLabel, kernelState, missingWords, predictionWords, sharingWords, timeLeft } from './sessions';
import { sizeLabel, used, usedOf } from './sizes';
import type { Speech } from './speech';
import { fill } from './text';

export interface NamedValue {
  readonly name: string;
  readonly value: string;
}

type Pair = readonly [name: string, value: string | null | undefined];

function named(pairs: readonly Pair[]): NamedValue[] {
  return pairs.flatMap(([name, value]) => (value ? [{ name, value }] : []));
}

/** One device: which request it is for, where it is, what it is. */
export function deviceDetails(speech: Speech, device: SessionDevice): NamedValue[] {
  const { trans } = speech;
  const said = (device.conditions ?? [])
    .filter(item => item.status !== 'True')
    .map(item => `${item.type}: ${item.message || item.reason}`);
  const consumed = Object.entries(device.share?.consumed ?? {});
  return named([
    [trans.__('Device'), [device.device, deviceLabel(speech, device)].join(' · ')],
    [trans.__('Node'), device.node],
    [trans.__('Slots'), device.slots?.join('–')],
    [trans.__('Driver'), device.driver],
    [trans.__('Pool'), device.pool],
    [trans.__('Request'), device.request],
    [trans.__('Memory'), device.memory_published ? sizeLabel(device.memory_published) : null],
    [
      trans.__('Share'),
      nameList(
        speech,
        consumed.map(([name, amount]) => `${name.split('/').pop() ?? name} ${sizeLabel(String(amount))}`)
      )
    ],
    [trans.__('Driver says'), said.join('; ')]
  ]);
}

/** What is used of the devices, until when, and what it costs. */
export function useDetails(speech: Speech, session: Session, now: number): NamedValue[] {
  const { trans } = speech;
  const { usage, lease } = session;
  const memory =
    usage?.memory_used_bytes != null && usage.memory_total_bytes
      ? usedOf(speech, usage.memory_used_bytes, usage.memory_total_bytes)
      : usage && missingWords(speech, usage.why_missing);
  const compute =
    usage?.utilisation_percent != null
      ? percent(speech, usage.utilisation_percent)
      : usage && missingWords(speech, usage.why_missing);
  const at = (iso: string | null | undefined): string | null => (iso ? clock(speech, iso, now) : null);
  const ends = at(lease?.ends_at);
  const left = timeLeft(speech, session, now);
  return named([
    [trans.__('Sharing'), session.devices.length ? sharingWords(speech, session) : null],
    [trans.__('Prediction'), predictionWords(speech, session)],
    [trans.__('Memory'), memory],
    [trans.__('Compute'), compute],
    [trans.__('Peak'), usage?.peak_bytes ? used(speech, usage.peak_bytes) : null],
    [trans.__('Started'), at(session.ready_at ?? session.created_at)],
    [trans.__('Lease'), session.ended ? null : [ends, left].filter(Boolean).join(' · ')],
    [trans.__('At most until'), session.ended ? null : at(lease?.longest_until)],
    [
      trans.__('Given back'),
      session.ended || !lease?.idle_limit_seconds
        ? null
        : fill(trans.__('after {time} without use'), { time: duration(speech, lease.idle_limit_seconds) })
    ],
    [trans.__('Cost'), costWords(speech, session, now)]
  ]);
}

/** One kernel: its notebook, what it does, its pod. */
export function kernelDetails(speech: Speech, kernel: SessionKernel, now: number): NamedValue[] {
  const { trans } = speech;
  const idle = kernel.last_activity ? (now - Date.parse(kernel.last_activity)) / 1000 : null;
  const size = [
    kernel.cpu ? fill(trans.__('{n} CPU'), { n: kernel.cpu }) : null,
    kernel.host_memory ? sizeLabel(kernel.host_memory) : null
  ].filter((part): part is string => part !== null);
  const way = kernel.transport
    ? kernel.encrypted
      ? fill(trans.__('{way}, encrypted'), { way: kernel.transport })
      : kernel.transport
    : null;
  return named([
    [trans.__('Notebook'), kernel.notebook ?? trans.__('none')],
    [trans.__('Kernel'), [kernel.name, kernelState(speech, kernel.state, idle)].join(' · ')],
    [trans.__('Pod'), kernel.pod],
    [trans.__('Moving to'), kernel.next_pod],
    [trans.__('Image'), kernel.image],
    [trans.__('Size'), nameList(speech, size)],
    [trans.__('Connection'), way]
  ]);
}

/** What was asked for, and the objects in the cluster. */
export function claimDetails(speech: Speech, session: Session, tierName: TierNames): NamedValue[] {
  const { trans } = speech;
  const made = session.claim?.template
    ? fill(trans.__('made from the template {template}'), { template: session.claim.template })
    : session.claim?.made_by_us
      ? trans.__('made for this session')
      : trans.__('yours; it is kept when the session ends');
  return named([
    [trans.__('Asked for'), requirementLine(speech, session.requirement ?? {}, tierName)],
    [trans.__('Claim'), session.claim?.name ? `${session.claim.name} · ${made}` : null],
    [trans.__('Namespace'), session.namespace],
    [trans.__('Session'), session.id],
    [trans.__('User'), session.user],
    [trans.__('May join'), nameList(speech, [...(session.shared_with ?? [])])],
    [trans.__('Not kept by the server'), nameList(speech, [...(session.lost_fields ?? [])])]
  ]);
}
