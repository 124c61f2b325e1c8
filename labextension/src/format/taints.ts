/** What a mark on a device means, where its driver's words for it are known; else the mark as it stands. */

import type { Speech } from './speech';
import { fill } from './text';

export interface Mark {
  readonly key: string;
  readonly value: string;
}

/** NVIDIA's numbered errors that take a card out of use (the driver's catalogue of Xid errors). */
function xidWords({ trans }: Speech, number: string): string | null {
  switch (number) {
    case '48':
    case '94':
    case '95':
      return trans.__('memory errors that cannot be corrected');
    case '63':
    case '64':
      return trans.__('too many memory errors');
    case '74':
      return trans.__('errors on the NVLink');
    case '79':
      return trans.__('the card cannot be reached');
    case '119':
    case '120':
      return trans.__('the card’s own controller does not answer');
    default:
      return null;
  }
}

/** "the card cannot be reached (Xid 79)", "maintenance=friday". */
export function markWords(speech: Speech, { key, value }: Mark): string {
  const { trans } = speech;
  const name = key.split('/').pop() ?? key;
  const bare = value && value !== 'true' ? `${name}=${value}` : name;
  if (!key.startsWith('gpu.nvidia.com/')) {
    return bare;
  }
  switch (name) {
    case 'xid': {
      const known = xidWords(speech, value);
      return known ? fill(trans.__('{what} (Xid {number})'), { what: known, number: value }) : bare;
    }
    case 'gpu-lost':
      return trans.__('the card is gone (gpu-lost)');
    case 'unmonitored':
      return trans.__('nobody watches its health (unmonitored)');
    default:
      return bare;
  }
}
