/** Messages 9 and 10: what the admin, the team's quota or the tier's groups do not allow. */

import type { Params, Plan, QuotaUse } from '../api/types';
import { duration } from './durations';
import { count, nameList } from './numbers';
import { number, text, texts } from './params';
import type { Speech } from './speech';
import { fill, sentence } from './text';
import type { VerdictWords } from './verdicts';

/** Message 9: the person's own limit, or the team's quota. */
export function limitWords(speech: Speech, plan: Plan): VerdictWords {
  const { trans } = speech;
  const { code, params } = plan.launch;
  if (code === 'quota') {
    const values = {
      team: text(params, 'namespace') || text(params, 'team'),
      used: text(params, 'used'),
      hard: text(params, 'hard')
    };
    const body = sentence(trans.__('{team} uses {used} of {hard}.'), values);
    return { head: trans.__('Your team’s limit is reached'), body };
  }
  const allowed = number(params, 'limit') ?? 0;
  const held = number(params, 'held') ?? 0;
  const names = nameList(speech, texts(params, 'names'));
  const template = names
    ? trans._n(
        'You may hold {allowed} device and hold {held}: {names}. Stop one, or ask your admin for more.',
        'You may hold {allowed} devices and hold {held}: {names}. Stop one, or ask your admin for more.',
        allowed
      )
    : trans._n(
        'You may hold {allowed} device and hold {held}. Stop one, or ask your admin for more.',
        'You may hold {allowed} devices and hold {held}. Stop one, or ask your admin for more.',
        allowed
      );
  const values = { allowed: count(speech, allowed), held: count(speech, held), names };
  return { head: trans.__('Your limit is reached'), body: sentence(template, values) };
}

/** A quota that is used up; null where something of it is left. `tierName` names the class whose devices it counts. */
export function fullQuotaWords(speech: Speech, use: QuotaUse, tierName: (name: string) => string): string | null {
  const { trans } = speech;
  if (use.used < use.hard) {
    return null;
  }
  const values = { team: use.namespace, used: count(speech, use.used), hard: count(speech, use.hard) };
  return use.tier === null
    ? fill(trans.__('Limit of {team}: {used} of {hard} claims. More is refused at once and does not wait.'), values)
    : fill(trans.__('Limit of {team}: {used} of {hard} {tier}. More is refused at once and does not wait.'), {
        ...values,
        tier: tierName(use.tier)
      });
}

/** Message 10. */
export function policyWords(speech: Speech, plan: Plan): VerdictWords {
  const { trans } = speech;
  const { params } = plan.launch;
  const groups = texts(params, 'groups');
  const tier = text(params, 'tier');
  const nearest = text(params, 'nearest');
  const head = trans.__('Not allowed for you');
  if (!groups.length || !tier) {
    const own = refusedWords(speech, params);
    return { head, body: sentence('{own}', { own }) };
  }
  const template = nearest
    ? trans._n(
        'Only group {groups} may use {tier}. Nearest allowed: {nearest}.',
        'Only groups {groups} may use {tier}. Nearest allowed: {nearest}.',
        groups.length
      )
    : trans._n('Only group {groups} may use {tier}.', 'Only groups {groups} may use {tier}.', groups.length);
  return { head, body: sentence(template, { groups: nameList(speech, groups), tier, nearest }) };
}

/** What of the request itself the admin does not allow. */
function refusedWords(speech: Speech, params: Params): string {
  const { trans } = speech;
  const longest = number(params, 'longest_seconds');
  if (longest !== null) {
    const most = duration(speech, longest);
    return text(params, 'limit') === 'longest-idle'
      ? fill(trans.__('The longest idle limit allowed is {most}.'), { most })
      : fill(trans.__('The longest time allowed is {most}.'), { most });
  }
  const counts = texts(params, 'counts');
  if (counts.length) {
    const values = { counts: nameList(speech, counts) };
    return fill(trans.__('This number of devices is not offered; there are {counts}.'), values);
  }
  const values = { name: text(params, 'name'), allowed: nameList(speech, texts(params, 'allowed')) };
  switch (text(params, 'what')) {
    case 'image':
      return fill(trans.__('The image {name} is not allowed. Allowed: {allowed}.'), values);
    case 'volume':
      return values.allowed
        ? fill(trans.__('There is no volume {name}; there are {allowed}.'), values)
        : fill(trans.__('There is no volume {name}.'), values);
    case 'where':
      return trans.__('Conditions of your own are not allowed here.');
    case 'tolerate':
      return trans.__('Accepting marked devices is not allowed here.');
    case 'config':
      return trans.__('Driver configuration is not allowed here.');
    case 'claim':
      return trans.__('Existing claims and claims as written are not allowed here.');
    case 'admin-access':
      return trans.__('Administrative access to devices is not for sessions.');
    default:
      return text(params, 'message') || trans.__('Your admin does not offer this to you.');
  }
}
