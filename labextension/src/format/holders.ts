/** Who holds devices, in words (ux.md §5, 27). */

import type { Holder } from '../api/types';
import { clock, duration } from './durations';
import { count, nameList } from './numbers';
import type { Line } from './reasons';
import type { Speech } from './speech';
import { fill, sessionName } from './text';

/** A holder, with the session's name where the page knows it. */
export type NamedHolder = Holder & { readonly name?: string };

/** Who holds devices, with the one fact that matters next. */
export function holderWords(speech: Speech, holder: NamedHolder, now: number): Line {
  const { trans } = speech;
  const n = holder.devices ?? 1;
  const devices = count(speech, n);
  const names = nameList(speech, holder.device_names ?? []);
  const facts: string[] = names ? [names] : [];
  if (holder.note === 'no-pod') {
    const since = holder.since ? duration(speech, (now - Date.parse(holder.since)) / 1000) : null;
    facts.push(
      since ? fill(trans.__('held, not used (no pod) since {since}'), { since }) : trans.__('held, not used (no pod)')
    );
  } else if (holder.idle_seconds) {
    facts.push(fill(trans.__('idle for {time}'), { time: duration(speech, holder.idle_seconds) }));
  } else if (holder.lease_ends) {
    facts.push(fill(trans.__('lease ends {time}'), { time: clock(speech, holder.lease_ends, now) }));
  } else if (holder.who === 'namespace') {
    facts.push(trans.__('a job, no end known'));
  }
  const sub = facts.length ? facts.join(' · ') : null;
  if (holder.who === 'you') {
    const name = holder.name ?? (holder.session ? sessionName(holder.session) : (holder.claim ?? ''));
    return { main: fill(trans.__('You · {session}'), { session: name }), sub };
  }
  if (holder.user) {
    const template = trans._n('{user} · {n} device', '{user} · {n} devices', n);
    return { main: fill(template, { user: holder.user, n: devices }), sub };
  }
  if (holder.who !== 'hidden' && holder.namespace) {
    const template = trans._n('namespace {namespace} · {n} device', 'namespace {namespace} · {n} devices', n);
    return { main: fill(template, { namespace: holder.namespace, n: devices }), sub };
  }
  return {
    main: fill(trans._n('{n} device', '{n} devices', n), { n: devices }),
    sub: trans.__('you may not see the holder')
  };
}
