/** Where a notebook's kernel runs, as the few facts that the place label is made of. */

import type { Session } from '../api/types';

export type Place =
  | { kind: 'here' }
  | { kind: 'starting' }
  | { kind: 'device'; node: string; device: string; label: string | null; simulated: boolean }
  | { kind: 'devices'; count: number; node: string; simulated: boolean }
  | { kind: 'no-device'; node: string };

/** The place of a session's kernel; no session means this very server. A starting one never shows its old place. */
export function placeOf(session: Session | undefined): Place {
  if (!session || session.state === 'ended' || session.state === 'releasing') {
    return { kind: 'here' };
  }
  if (session.state !== 'running') {
    return { kind: 'starting' };
  }
  const [first] = session.devices;
  if (!first) {
    return { kind: 'no-device', node: '' };
  }
  const node = first.node ?? first.pool;
  if (session.devices.length > 1) {
    return { kind: 'devices', count: session.devices.length, node, simulated: session.simulated };
  }
  return { kind: 'device', node, device: first.device, label: first.label, simulated: session.simulated };
}
