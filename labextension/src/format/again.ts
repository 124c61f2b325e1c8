/** How an ended session can be started again, the most helpful way first, in words and as a change of its request. */

import type { Requirement } from '../api/types';
import { parseDuration, wireDuration } from './durations';
import { endedEarly, type EndedSession } from './ends';
import { parseSize } from './sizes';
import type { Speech } from './speech';
import { fill } from './text';

export interface WayAgain {
  readonly kind: 'image' | 'more-memory' | 'other-device' | 'longer' | 'smaller' | 'same';
  readonly text: string;
  readonly change: Partial<Requirement>;
}

/** What is meant where the request says nothing. */
const HOST_MEMORY = '16Gi';
const IDLE = '30m';

/** Twice the host memory. */
function doubled(memory: string | undefined): { wire: string; label: string } | null {
  const bytes = parseSize(memory ?? HOST_MEMORY)?.bytes;
  const gib = bytes ? Math.ceil((2 * bytes) / 2 ** 30) : 0;
  return gib ? { wire: `${gib}Gi`, label: `${gib} GiB` } : null;
}

export function waysAgain(speech: Speech, session: EndedSession): WayAgain[] {
  const { trans } = speech;
  const { requirement } = session;
  const code = session.ended?.code;
  if (code === 'image' && endedEarly(session)) {
    return [{ kind: 'image', text: trans.__('Choose an image'), change: {} }];
  }
  if (code === 'out-of-memory') {
    const more = doubled(requirement?.host_memory);
    const same: WayAgain = { kind: 'same', text: trans.__('Start again as before'), change: {} };
    const text = fill(trans.__('Start again with {size}'), { size: more?.label ?? '' });
    return more ? [{ kind: 'more-memory', text, change: { host_memory: more.wire } }, same] : [same];
  }
  if (code === 'device-unhealthy') {
    return [{ kind: 'other-device', text: trans.__('Start on another device'), change: {} }];
  }
  if (code === 'idle') {
    const longer = wireDuration(2 * (parseDuration(requirement?.idle_timeout ?? IDLE) ?? 1800));
    return [
      { kind: 'same', text: trans.__('Start again'), change: {} },
      { kind: 'longer', text: trans.__('Keep longer next time …'), change: { idle_timeout: longer } }
    ];
  }
  const { right_size: hint } = session;
  if (hint) {
    const change = { vram: hint.label.replace(/\s/g, '') };
    return [{ kind: 'smaller', text: fill(trans.__('Start on {size} …'), { size: hint.label }), change }];
  }
  return [{ kind: 'same', text: trans.__('Start again …'), change: {} }];
}
