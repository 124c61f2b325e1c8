/** NVIDIA's compute capabilities as people name them. */

import type { Speech } from './speech';
import { fill } from './text';

/** NVIDIA's generations by compute capability, for "Ampere or newer". */
export const CAPABILITIES: readonly [string, string][] = [
  ['7.0', 'Volta'],
  ['7.5', 'Turing'],
  ['8.0', 'Ampere'],
  ['8.9', 'Ada Lovelace'],
  ['9.0', 'Hopper'],
  ['10.0', 'Blackwell']
];

/** The generation that a range such as ">=9.0" begins with; null where it begins elsewhere. */
export function generationOf(text: string): string | null {
  const match = /^>=\s*(\d+(?:\.\d+)?)$/.exec(text);
  return CAPABILITIES.find(([number]) => Number(number) === Number(match?.[1]))?.[1] ?? null;
}

export function capabilityWords(speech: Speech, text: string): string {
  const name = generationOf(text);
  return name
    ? fill(speech.trans.__('{generation} or newer'), { generation: name })
    : fill(speech.trans.__('compute capability {range}'), { range: text });
}
