/** Claims written by hand, in words. */

import type { KeptPart } from '../api/types';
import type { Speech } from './speech';

/** What a part of a claim is, for which the form has no field; the server's words for a code of a newer one. */
export function keptWords({ trans }: Speech, part: KeptPart): string {
  switch (part.code) {
    case 'requests':
      return trans.__('several requests');
    case 'alternatives':
      return trans.__('alternatives of a companion');
    case 'no-kind':
      return trans.__('a request without a device class');
    case 'admin-access':
      return trans.__('admin access');
    case 'capacity':
      return trans.__('an amount of something else than memory');
    case 'constraint':
      return trans.__('a condition on several requests');
    case 'config':
      return trans.__('configuration for the driver');
    default:
      return part.what;
  }
}
