/** What happened to a session, line by line. */

import type { HistoryEntry, Session } from '../api/types';
import { endShort } from './ends';
import { list, text } from './params';
import type { Speech } from './speech';
import { nameList } from './numbers';
import { fill } from './text';

/** Why a kernel ended or stayed where it is: the code in words, with what the cluster said. */
function why(speech: Speech, entry: HistoryEntry): string {
  const code = text(entry, 'code');
  const short = code ? endShort(speech, { code }) : '';
  return [short, text(entry, 'detail')].filter(Boolean).join(': ') || speech.trans.__('not known why');
}

/** Null for an event that has no words; a newer server may tell of more. */
export function historyWords(speech: Speech, entry: HistoryEntry): string | null {
  const { trans } = speech;
  const values = {
    pod: text(entry, 'pod'),
    why: why(speech, entry),
    sees: nameList(speech, list(entry, 'sees').map(String))
  };
  switch (entry.event) {
    case 'moving':
      return fill(trans.__('The kernel is moving to pod {pod}.'), values);
    case 'moved':
      return fill(trans.__('The kernel moved to pod {pod}.'), values);
    case 'not-moved':
      return fill(trans.__('The kernel stayed in its pod: {why}'), { why: text(entry, 'detail') || values.why });
    case 'kernel-ended':
      return fill(trans.__('A kernel ended: {why}'), values);
    case 'reattached':
      return text(entry, 'output') === 'lost-until-here'
        ? trans.__('A server took the kernel over. What it printed before was not kept.')
        : trans.__('A server took the kernel over.');
    case 'connection-lost':
      return trans.__('The connection to the kernel was lost.');
    case 'connected-again':
      return trans.__('The kernel is connected again.');
    case 'pod-lost':
      return fill(trans.__('The pod {pod} was lost: {why}'), values);
    case 'replaced':
      return entry['same_device'] === true
        ? fill(trans.__('The kernel started anew in pod {pod}, on the same device; its variables are gone.'), values)
        : fill(trans.__('The kernel started anew in pod {pod}, on another device; its variables are gone.'), values);
    case 'restarted':
      return trans.__('The kernel restarted in place, on the same device.');
    case 'died':
      return fill(trans.__('The kernel died: {why}'), values);
    case 'node-not-ready':
      return trans.__('The node does not answer.');
    case 'node-ready':
      return trans.__('The node answers again.');
    case 'sees-other-devices':
      return fill(trans.__('The kernel sees devices it was not given: {sees}'), values);
    case 'shared': {
      const users = Number(text(entry, 'users'));
      return fill(trans._n('{n} person may join.', '{n} people may join.', users), { n: users });
    }
    default:
      return null;
  }
}

/** Newest first, those with words. */
export function historyLines(speech: Speech, session: Session): { at: string; words: string }[] {
  return [...(session.history ?? [])].reverse().flatMap(entry => {
    const words = historyWords(speech, entry);
    return words ? [{ at: new Date(entry.at * 1000).toISOString(), words }] : [];
  });
}
