/** A requirement in words: as chips, and as one line. */

import type { Requirement } from '../api/types';
import { capabilityWords } from './capabilities';
import { spacedDuration } from './durations';
import { alignName } from './reasons';
import { nameList } from './numbers';
import { sizeLabel } from './sizes';
import type { Speech } from './speech';
import { fill } from './text';

export type TierNames = (name: string) => string;

function names(value: string | readonly string[] | undefined): string[] {
  return value === undefined ? [] : typeof value === 'string' ? [value] : [...value];
}

function shareWords(speech: Speech, share: NonNullable<Requirement['share']>): string {
  const { trans } = speech;
  if (share.profile) {
    return fill(trans.__('part {profile}'), { profile: share.profile });
  }
  if (share.memory) {
    return fill(trans.__('{size} of a shared device'), { size: sizeLabel(share.memory) });
  }
  return share.strategy === 'mps' ? trans.__('side by side (MPS)') : trans.__('taking turns (time slices)');
}

/** The companion of a device, "network card" where its tier has no words of its own. */
export function partnerName(speech: Speech, near: Requirement, tierName: TierNames): string {
  return near.tier ? tierName(near.tier) : speech.trans.__('network card');
}

/** What one field says, as its chip. */
export function fieldWords(
  speech: Speech,
  requirement: Requirement,
  field: keyof Requirement,
  tierName: TierNames
): string {
  const { trans } = speech;
  switch (field) {
    case 'tier':
      return tierName(requirement.tier ?? '');
    case 'vram':
      return fill(trans.__('at least {size}'), { size: sizeLabel(requirement.vram) });
    case 'max_vram':
      return fill(trans.__('at most {size}'), { size: sizeLabel(requirement.max_vram) });
    case 'count': {
      if (requirement.count === 'all') {
        return trans.__('all devices of a node');
      }
      const n = Number(requirement.count ?? 1);
      return fill(trans._n('{n} device', '{n} devices', n), { n });
    }
    case 'product':
      return nameList(speech, names(requirement.product));
    case 'architecture':
      return nameList(speech, names(requirement.architecture));
    case 'compute_capability':
      return capabilityWords(speech, requirement.compute_capability ?? '');
    case 'driver_version':
      return fill(trans.__('driver {range}'), { range: requirement.driver_version ?? '' });
    case 'where': {
      const n = names(requirement.where).length;
      return fill(trans._n('{n} own condition', '{n} own conditions', n), { n });
    }
    case 'near': {
      const partner = nameList(
        speech,
        (requirement.near ?? []).map(near => partnerName(speech, near, tierName))
      );
      return fill(trans.__('{partner}, same {place}'), { partner, place: alignName(speech, requirement.align ?? '') });
    }
    case 'spread':
      return fill(trans.__('spread over {attribute}'), { attribute: requirement.spread ?? '' });
    case 'or_else': {
      const n = requirement.or_else?.length ?? 0;
      return fill(trans._n('{n} second choice', '{n} other choices', n), { n });
    }
    case 'share':
      return shareWords(speech, requirement.share ?? {});
    case 'tolerate':
      return trans.__('marked devices accepted');
    case 'claim':
      return typeof requirement.claim === 'string'
        ? fill(trans.__('claim {name}'), { name: requirement.claim })
        : trans.__('claim as written');
    default:
      return String(field);
  }
}

/** One line: "40 GB or more", "High-memory GPU, Hopper or newer". */
export function requirementLine(speech: Speech, requirement: Requirement, tierName: TierNames): string {
  const { trans } = speech;
  const fields: (keyof Requirement)[] = ['tier', 'vram', 'max_vram', 'product', 'architecture', 'compute_capability'];
  const parts = fields
    .filter(field => requirement[field])
    .map(field => fieldWords(speech, requirement, field, tierName));
  if (requirement.count && requirement.count !== 1) {
    parts.unshift(fieldWords(speech, requirement, 'count', tierName));
  }
  if (requirement.near?.length) {
    parts.push(fieldWords(speech, requirement, 'near', tierName));
  }
  if (requirement.share) {
    parts.push(fieldWords(speech, requirement, 'share', tierName));
  }
  return parts.length ? nameList(speech, parts) : trans.__('any GPU');
}

/** The folded options in grey: "Python 3, 4 CPU, 16 GiB, 4 h". */
export function optionsLine(speech: Speech, requirement: Requirement): string {
  const { trans } = speech;
  const cpu = requirement.cpu === undefined ? null : fill(trans.__('{n} CPU'), { n: requirement.cpu });
  const parts = [requirement.image ?? null, cpu, requirement.host_memory ? sizeLabel(requirement.host_memory) : null];
  const shown = [...parts, requirement.lease ? spacedDuration(requirement.lease) : null].filter(
    (part): part is string => part !== null
  );
  return nameList(speech, shown);
}
