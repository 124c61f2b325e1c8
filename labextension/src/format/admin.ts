/** "Copy for your admin": plain text that reads alone in a mail or a terminal. */

import type { Plan, Status } from '../api/types';
import { count } from './numbers';
import { reasonLine } from './reasons';
import type { Speech } from './speech';
import { fill, plain } from './text';

function verdictName(speech: Speech, plan: Plan): string {
  const { trans } = speech;
  switch (plan.verdict) {
    case 'fits':
      return trans.__('Fits now');
    case 'busy':
      return trans.__('All taken for now');
    case 'impossible':
      return trans.__('Not possible here');
    case 'invalid':
      return trans.__('Needs a correction');
    default:
      return trans.__('Cannot be sure');
  }
}

/** Request, verdict, lines, cluster; the server's own sentences under "Details". */
export function copyForAdmin(speech: Speech, status: Status | null, plan: Plan | null, request: string): string {
  const { trans } = speech;
  const place = [status?.cluster, status?.namespace].filter(Boolean).join(' / ');
  const lines = [
    fill(trans.__('Cluster: {cluster}'), { cluster: place || trans.__('none') }),
    fill(trans.__('Asked for: {request}'), { request })
  ];
  if (plan) {
    lines.push(fill(trans.__('Verdict: {verdict}'), { verdict: verdictName(speech, plan) }));
    const devices = plan.counts.devices ?? 0;
    lines.push(fill(trans._n('Of {n} device:', 'Of {n} devices:', devices), { n: count(speech, devices) }));
    for (const reason of plan.reasons) {
      const { main, sub } = reasonLine(speech, reason);
      lines.push(`  ${count(speech, reason.devices)} ${main}${sub ? ` (${sub})` : ''}`);
    }
    if (plan.claim) {
      lines.push('', trans.__('Claim:'), JSON.stringify(plan.claim, null, 2));
    }
  } else if (status) {
    lines.push(fill(trans.__('State: {state}'), { state: status.state }));
    if (status.message) {
      lines.push(plain(status.message));
    }
  }
  return `${lines.join('\n')}\n`;
}
