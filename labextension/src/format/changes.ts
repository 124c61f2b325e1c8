/** The changes a plan offers, in words (ux.md §5, 23). */

import type { Params, Relaxation, Requirement } from '../api/types';
import { count, nameList } from './numbers';
import { record, text } from './params';
import { sizeLabel } from './sizes';
import type { Speech } from './speech';
import { fill, sessionName } from './text';

function changed(change: Params, key: string): string[] {
  const value = change[key];
  return Array.isArray(value) ? value.map(String) : value === undefined || value === null ? [] : [String(value)];
}

/** A condition that is dropped. */
function withoutWords(speech: Speech, change: Params): string {
  const { trans } = speech;
  if ('max_vram' in change) {
    return trans.__('Also accept larger ones');
  }
  if ('compute_capability' in change) {
    return trans.__('Any compute capability');
  }
  return 'driver_version' in change ? trans.__('Any driver version') : trans.__('Without one of your conditions');
}

/** A change the planner offers, as its button says it. */
export function changeWords(
  speech: Speech,
  relaxation: Relaxation,
  asked: Requirement,
  tierName: (name: string) => string
): string {
  const { trans } = speech;
  const { change } = relaxation;
  const { params } = relaxation;
  switch (relaxation.code) {
    case 'join-session':
      return fill(trans.__('Join your session {session}'), { session: sessionName(text(change, 'session')) });
    case 'drop-near':
      return fill(trans.__('Without the {partner}'), {
        partner: tierName(text(params, 'partner')) || trans.__('network card')
      });
    case 'drop-spread':
      return trans.__('Without spreading');
    case 'less-memory': {
      const size = changed(change, 'vram')[0];
      return size ? fill(trans.__('Take {size}'), { size: sizeLabel(size) }) : trans.__('Take any memory size');
    }
    case 'more-kinds': {
      const label = text(params, 'label');
      const key = change['architecture'] !== undefined ? 'architecture' : 'product';
      const before = new Set(
        Array.isArray(asked[key]) ? (asked[key] as unknown[]).map(String) : [String(asked[key] ?? '')]
      );
      const added = changed(change, key).filter(name => !before.has(name));
      const what = label || nameList(speech, added);
      return what ? fill(trans.__('Also accept {device}'), { device: what }) : withoutWords(speech, change);
    }
    case 'fewer-devices': {
      const fewer = Number(change['count'] ?? 1);
      const template = trans._n(
        '{fewer} instead of {n} device',
        '{fewer} instead of {n} devices',
        Number(asked.count ?? 1)
      );
      return fill(template, { fewer: count(speech, fewer), n: String(asked.count ?? 1) });
    }
    case 'part':
      return text(record(change, 'share'), 'memory')
        ? fill(trans.__('A share of {size} is enough'), { size: sizeLabel(text(record(change, 'share'), 'memory')) })
        : trans.__('A part of a card is enough');
    case 'other-tier':
      return fill(trans.__('Use {tier}'), { tier: tierName(text(change, 'tier')) });
    case 'tolerate': {
      const marks = Array.isArray(change['tolerate']) ? (change['tolerate'] as Params[]) : [];
      const last = marks[marks.length - 1];
      const reason =
        text(params, 'reason') || (last ? text(last, 'value') || (text(last, 'key').split('/').pop() ?? '') : '');
      return reason ? fill(trans.__('Accept devices marked {reason}'), { reason }) : relaxation.message;
    }
    default:
      return relaxation.message;
  }
}

/** What a change would bring. */
export function gainWords(speech: Speech, relaxation: Relaxation): string | null {
  const { trans } = speech;
  if (relaxation.code === 'join-session') {
    return trans.__('start now');
  }
  if (relaxation.verdict === 'busy') {
    return trans.__('can wait');
  }
  return relaxation.free === null ? null : fill(trans.__('{n} free'), { n: count(speech, relaxation.free) });
}
