/** What a notebook asks for, and a choice that is gone (ux.md §5, 40). */

import type { Relaxation, Requirement } from '../api/types';
import { changeWords } from './changes';
import { nameList } from './numbers';
import { requirementLine, type TierNames } from './requirement';
import { sizeLabel } from './sizes';
import type { Speech } from './speech';
import { fill, sentence, type Sentence } from './text';

/** "analysis.ipynb asks for at least 40 GB; 80 GB is better." */
export function wishWords(
  speech: Speech,
  notebook: string,
  wish: { required: Requirement; preferred: Requirement },
  tierName: TierNames
): Sentence {
  const { trans } = speech;
  const say = (requirement: Requirement): string => requirementLine(speech, requirement, tierName);
  // The second size needs no words of its own.
  const { vram, ...others } = wish.preferred;
  const preferred = vram && !Object.keys(others).length ? sizeLabel(vram) : say(wish.preferred);
  const template = Object.keys(wish.preferred).length
    ? trans.__('{notebook} asks for **{required}**; {preferred} is better.')
    : trans.__('{notebook} asks for **{required}**.');
  return sentence(template, { notebook, required: say(wish.required), preferred });
}

export function goneWords(speech: Speech, tier: string): Sentence {
  return sentence(speech.trans.__('Your last choice, {tier}, is no longer offered. Choose again.'), { tier });
}

function names(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : typeof value === 'string' ? [value] : [];
}

/** "A100 80 GB instead of H100", where the change is one of kinds. */
function kindInstead(speech: Speech, near: Relaxation, asked: Requirement): string | null {
  const key = near.change['architecture'] === undefined ? 'product' : 'architecture';
  const before = names(asked[key]);
  const added = names(near.change[key]).filter(name => !before.includes(name));
  if (near.code !== 'more-kinds' || !before.length || !added.length) {
    return null;
  }
  const values = { added: nameList(speech, added), asked: nameList(speech, before) };
  return fill(speech.trans.__('{added} instead of {asked}'), values);
}

export function nearestWords(speech: Speech, near: Relaxation, asked: Requirement, tierName: TierNames): Sentence {
  const change = kindInstead(speech, near, asked) ?? changeWords(speech, near, asked, tierName);
  return sentence(speech.trans.__('Nearest to what this notebook asks for: {change}.'), { change });
}
