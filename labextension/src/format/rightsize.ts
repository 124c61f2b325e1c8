/** A smaller device would have done (ux.md §5, 49). */

import type { RightSize } from '../api/types';
import { price } from './numbers';
import { usedOf } from './sizes';
import type { Speech } from './speech';
import { fill } from './text';

export function rightSizeWords(speech: Speech, hint: RightSize): string {
  const { trans } = speech;
  const cost = price(speech, hint.price);
  const values = {
    used: usedOf(speech, hint.peak_bytes, hint.total_bytes),
    size: hint.label,
    cost: cost ?? ''
  };
  return cost
    ? fill(trans.__('Peak was {used}: a {size} device would do, from {cost}.'), values)
    : fill(trans.__('Peak was {used}: a {size} device would do.'), values);
}
