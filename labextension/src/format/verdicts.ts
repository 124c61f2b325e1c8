/** Verdicts in words (ux.md §5, 1–8): a head and one sentence each, from codes and numbers. */

import type { Params, Plan } from '../api/types';
import { clock, duration, secondsSince } from './durations';
import { count } from './numbers';
import { number, text } from './params';
import { withArticle } from './products';
import type { Speech } from './speech';
import { sentence, type Sentence } from './text';

export interface VerdictWords {
  head: string;
  body: Sentence;
}

/** "6 devices on 3 nodes." with what is likely taken. */
export function fitsWords(
  speech: Speech,
  plan: Plan,
  likely: { label: string | null; device: string; node: string } | null
): VerdictWords {
  const { trans } = speech;
  const nodes = plan.counts.matching_nodes ?? 0;
  const devices = plan.counts.free ?? plan.counts.free_at_most ?? plan.counts.matching ?? 0;
  const values = { devices: count(speech, devices), nodes: count(speech, nodes) };
  if (!likely) {
    const template =
      nodes === 1
        ? trans._n('{devices} device on 1 node.', '{devices} devices on 1 node.', devices)
        : trans._n('{devices} device on {nodes} nodes.', '{devices} devices on {nodes} nodes.', devices);
    return { head: trans.__('Fits now'), body: sentence(template, values) };
  }
  const template =
    nodes === 1
      ? trans._n(
          '{devices} device on 1 node. Likely **{device}** on {node}.',
          '{devices} devices on 1 node. Likely **{device}** on {node}.',
          devices
        )
      : trans._n(
          '{devices} device on {nodes} nodes. Likely **{device}** on {node}.',
          '{devices} devices on {nodes} nodes. Likely **{device}** on {node}.',
          devices
        );
  const device = likely.label ? withArticle(speech, likely.label) : likely.device;
  return { head: trans.__('Fits now'), body: sentence(template, { ...values, device, node: likely.node }) };
}

export function takenWords(speech: Speech, plan: Plan, leaseEnds: string | null, now: number): VerdictWords {
  const { trans } = speech;
  const devices = plan.counts.matching ?? 0;
  const left = leaseEnds ? -(secondsSince(leaseEnds, now) ?? 0) : 0;
  if (leaseEnds && left > 0) {
    const template = trans._n(
      '{devices} device would fit, none is free. The first known lease ends at **{time}**, in {left}, unless extended.',
      '{devices} devices would fit, none is free. The first known lease ends at **{time}**, in {left}, unless extended.',
      devices
    );
    const values = {
      devices: count(speech, devices),
      time: clock(speech, leaseEnds, now),
      left: duration(speech, left)
    };
    return { head: trans.__('All taken for now'), body: sentence(template, values) };
  }
  const template = trans._n(
    '{devices} device would fit, none is free.',
    '{devices} devices would fit, none is free.',
    devices
  );
  return { head: trans.__('All taken for now'), body: sentence(template, { devices: count(speech, devices) }) };
}

export function neverWords(speech: Speech): VerdictWords {
  return {
    head: speech.trans.__('Not possible here'),
    body: sentence(speech.trans.__('No node has this, even with everything free.'))
  };
}

export function boltWords(speech: Speech): VerdictWords {
  return {
    head: speech.trans.__('Starts a node first'),
    body: sentence(speech.trans.__('No such node runs now. One is started for you; allow some minutes.'))
  };
}

/** Why the answer is open, by the first certainty code that has words of its own. */
export function unknownWords(speech: Speech, plan: Plan, codes: readonly string[]): VerdictWords {
  const { trans } = speech;
  const head = trans.__('Cannot be sure');
  const params = (code: string): Params => {
    const reason = plan.certainty.reasons.find(item => typeof item !== 'string' && item.code === code);
    return reason && typeof reason !== 'string' ? (reason.params ?? {}) : {};
  };
  if (codes.includes('claims-not-visible')) {
    const matching = plan.counts.matching ?? 0;
    const most = plan.counts.free_at_most ?? matching;
    const template = trans._n(
      '{devices} device matches, {held} are held that you can see: **at most {most} free**. You may not see other namespaces. Launching tells.',
      '{devices} devices match, {held} are held that you can see: **at most {most} free**. You may not see other namespaces. Launching tells.',
      matching
    );
    const held = Math.max(0, matching - most);
    const values = { devices: count(speech, matching), held: count(speech, held), most: count(speech, most) };
    return { head, body: sentence(template, values) };
  }
  if (codes.includes('slices-not-visible')) {
    return { head, body: sentence(trans.__('You may not see the devices. Launching tells.')) };
  }
  if (codes.includes('search-budget')) {
    return { head, body: sentence(trans.__('Too many combinations to try in time. Launching tells.')) };
  }
  if (codes.includes('device-plugin')) {
    const found = params('device-plugin');
    const devices = number(found, 'devices') ?? 0;
    const template = trans._n(
      '{node} also gives its cards out another way; {devices} may be in use.',
      '{node} also gives its cards out another way; {devices} may be in use.',
      devices
    );
    const node = text(found, 'node') || trans.__('A node');
    return { head, body: sentence(template, { node, devices: count(speech, devices) }) };
  }
  if (codes.includes('incomplete-pools')) {
    return { head, body: sentence(trans.__('Some nodes publish an incomplete list right now. Launching tells.')) };
  }
  if (codes.includes('quota-unknown')) {
    return { head, body: sentence(trans.__('Your team’s limit could not be read. Launching tells.')) };
  }
  return { head, body: sentence(trans.__('Something needed for a sure answer is not known here. Launching tells.')) };
}

export function fixWords(speech: Speech, plan: Plan): VerdictWords {
  const { trans } = speech;
  // One condition in several alternatives is found several times.
  const conditions = [
    ...new Set(plan.findings.filter(finding => finding.code.startsWith('cel')).map(finding => finding.message))
  ];
  const errors = plan.findings.filter(finding => finding.severity === 'error');
  const head = trans.__('Needs a correction');
  if (conditions.length || !errors.length) {
    const n = Math.max(1, conditions.length);
    const template = trans._n('{n} of your conditions cannot work.', '{n} of your conditions cannot work.', n);
    return { head, body: sentence(template, { n: count(speech, n) }) };
  }
  const template = trans._n(
    '{n} thing in the request cannot work.',
    '{n} things in the request cannot work.',
    errors.length
  );
  return { head, body: sentence(template, { n: count(speech, errors.length) }) };
}
