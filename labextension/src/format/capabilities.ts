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

export function capabilityWords(speech: Speech, text: string): string {
  const match = /^>=\s*(\d+(?:\.\d+)?)$/.exec(text);
  const name = CAPABILITIES.find(([number]) => Number(number) === Number(match?.[1]))?.[1];
  return name
    ? fill(speech.trans.__('{generation} or newer'), { generation: name })
    : fill(speech.trans.__('compute capability {range}'), { range: text });
}
