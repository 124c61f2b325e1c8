/** Turns a plan into what the dock shows: codes become words here, and nowhere else. */

import type { Holder, Plan, Relaxation, Requirement, Session, TierList } from '../api/types';
import { count, price } from '../format/numbers';
import { changeWords, gainWords } from '../format/changes';
import { holderWords, type NamedHolder } from '../format/holders';
import { reasonLine } from '../format/reasons';
import { fieldWords, requirementLine } from '../format/requirement';
import { fill, initial, sentence, type Sentence } from '../format/text';
import type { Speech } from '../format/speech';
import { limitWords, policyWords } from '../format/permission';
import {
  boltWords,
  fitsWords,
  fixWords,
  neverWords,
  takenWords,
  unknownWords,
  type VerdictWords
} from '../format/verdicts';
import {
  answerOf,
  certaintyCodes,
  firstLeaseEnd,
  likelyClass,
  likelyDevice,
  sortChanges,
  sortHolders,
  topReasons,
  type Answer,
  type PlanState
} from '../model/plan';
import { idleSeconds } from '../model/sessions';
import { rightSizeHint } from '../model/rightsize';
import type { Target } from '../model/target';
import type { DockProps } from '../components/dock';

export interface DockContext {
  speech: Speech;
  state: PlanState;
  tiers: TierList | null;
  tierName: (name: string) => string;
  sessions: readonly Session[];
  target: Target;
  now: number;
  allChanges: boolean;
  error: string | null;
}

type Callbacks = Pick<
  DockProps,
  'onLaunch' | 'onWays' | 'onTarget' | 'onChange' | 'onMoreChanges' | 'onRetry' | 'onCheck'
> & {
  onStopOne: (session: Session) => void | Promise<unknown>;
  onShowSessions: () => void;
  onCopyForAdmin: () => void;
  onGoToFix: () => void;
  onBelow: (maxVram: string) => void;
};

const FEW_CHANGES = 3;
const FEW_HOLDERS = 4;

function words(context: DockContext, plan: Plan, face: Answer['face']): VerdictWords {
  const { speech, now } = context;
  switch (face) {
    case 'fits':
      return fitsWords(speech, plan, likelyDevice(plan));
    case 'taken':
      return takenWords(speech, plan, firstLeaseEnd(plan), now);
    case 'bolt':
      return boltWords(speech);
    case 'unknown':
      return unknownWords(speech, plan, certaintyCodes(plan));
    case 'fix':
      return fixWords(speech, plan);
    case 'limit':
      return limitWords(speech, plan);
    case 'policy':
      return policyWords(speech, plan);
    default:
      return neverWords(speech);
  }
}

function why(context: DockContext, plan: Plan): DockProps['why'] {
  const { speech } = context;
  const { trans } = speech;
  const { shown, rest } = topReasons(plan);
  if (!shown.length) {
    return null;
  }
  const rows = shown.map(reason => ({
    count: count(speech, reason.devices),
    devices: reason.devices,
    line: reasonLine(speech, reason)
  }));
  if (rest) {
    rows.push({ count: count(speech, rest), devices: rest, line: { main: trans.__('other reasons'), sub: null } });
  }
  const devices = plan.counts.devices ?? 0;
  const nodes = plan.counts.nodes ?? 0;
  const values = { devices: count(speech, devices), nodes: count(speech, nodes) };
  const title =
    nodes === 1
      ? trans._n('Why: {devices} device on 1 node', 'Why: {devices} devices on 1 node', devices)
      : trans._n('Why: {devices} device on {nodes} nodes', 'Why: {devices} devices on {nodes} nodes', devices);
  return { title: fill(title, values), rows, total: devices };
}

/** It offers the target notebook a session that it is on already. */
function isJoined({ sessions, target }: DockContext, { code, change }: Relaxation): boolean {
  const session = code === 'join-session' ? sessions.find(item => item.id === change['session']) : undefined;
  return target.kind === 'notebook' && (session?.kernels.some(kernel => kernel.notebook === target.path) ?? false);
}

function changes(context: DockContext, plan: Plan): DockProps['changes'] {
  const { speech, tierName } = context;
  const offered = plan.relaxations.filter(relaxation => !isJoined(context, relaxation));
  return sortChanges(offered).map(relaxation => ({
    relaxation,
    text: changeWords(speech, relaxation, plan.requirement ?? {}, tierName),
    gain: gainWords(speech, relaxation)
  }));
}

function buttonText(speech: Speech, answer: Answer): string {
  const { trans } = speech;
  switch (answer.button) {
    case 'wait':
      return trans.__('Wait for a device');
    case 'launch-and-see':
      return trans.__('Launch and see');
    default:
      return trans.__('Launch');
  }
}

/** The price of what is likely taken: that of the tier its request names. */
function planPrice({ speech, tiers }: DockContext, plan: Plan): string | null {
  const chosen = plan.requirement?.tier;
  const tier = chosen
    ? tiers?.tiers.find(item => item.name === chosen)
    : tiers?.tiers.find(item => item.device_class === likelyClass(plan));
  return tier ? price(speech, tier.price) : null;
}

function extras(context: DockContext, plan: Plan, face: Answer['face'], callbacks: Callbacks): DockProps['extra'] {
  const { trans } = context.speech;
  const copy = { text: trans.__('Copy for your admin'), icon: 'copy' as const, onPress: callbacks.onCopyForAdmin };
  if (face === 'never' || face === 'policy') {
    return [copy];
  }
  if (face === 'fix') {
    return [{ text: trans.__('Go to it'), onPress: callbacks.onGoToFix }];
  }
  if (face === 'limit') {
    const held = Array.isArray(plan.launch.params['names']) ? plan.launch.params['names'].map(String) : [];
    // The one that nobody has used for longest is missed least.
    const idle = (session: Session): number => idleSeconds(session, context.now) ?? -1;
    const [last] = context.sessions
      .filter(
        session =>
          session.mine &&
          session.state === 'running' &&
          (!held.length || held.includes(session.name) || held.includes(session.id))
      )
      .sort((a, b) => idle(b) - idle(a));
    return [
      ...(last
        ? [
            {
              text: fill(trans.__('Stop {session} …'), { session: last.name }),
              onPress: () => callbacks.onStopOne(last)
            }
          ]
        : []),
      { text: trans.__('Show sessions'), onPress: callbacks.onShowSessions }
    ];
  }
  return [];
}

/** What the page knows of your own sessions: which devices, how long unused, until when. */
function withOwnFacts(holder: Holder, context: DockContext): NamedHolder {
  const session = holder.who === 'you' ? context.sessions.find(item => item.id === holder.session) : undefined;
  if (!session) {
    return holder;
  }
  return {
    ...holder,
    name: session.name,
    device_names: holder.device_names ?? session.devices.map(device => device.device),
    idle_seconds: holder.idle_seconds ?? idleSeconds(session, context.now)
  };
}

const EMPTY: Sentence = sentence('');

function blank(context: DockContext, callbacks: Callbacks): DockProps {
  const { trans } = context.speech;
  const { problem, busy, slow, generation } = context.state;
  // What the server could not do is nothing to correct.
  const failed = problem !== null && problem.status >= 500;
  return {
    face: problem ? 'problem' : 'loading',
    head: failed
      ? trans.__('No answer from the server')
      : problem
        ? trans.__('Needs a correction')
        : trans.__('Looking …'),
    body: problem ? sentence('{text}', { text: problem.message }) : EMPTY,
    price: null,
    hint: null,
    busy,
    slow,
    generation,
    why: null,
    holders: [],
    moreHolders: 0,
    changes: [],
    moreChanges: 0,
    changesTitle: '',
    nothingHelps: false,
    button: trans.__('Launch'),
    enabled: false,
    showLaunch: true,
    foot: null,
    extra: failed ? [{ text: trans.__('Try again'), onPress: callbacks.onRetry }] : [],
    target: null,
    error: context.error,
    ...callbacks
  };
}

export function dockProps(context: DockContext, callbacks: Callbacks): DockProps {
  const { speech, state } = context;
  const { trans } = speech;
  const { plan } = state;
  if (!plan || state.problem) {
    return blank(context, callbacks);
  }
  const answer = answerOf(plan);
  const { head, body } = words(context, plan, answer.face);
  const offered = answer.face === 'never' || answer.face === 'taken' ? changes(context, plan) : [];
  const shownChanges = context.allChanges ? offered : offered.slice(0, FEW_CHANGES);
  const holders = answer.face === 'taken' ? sortHolders(plan.holders) : [];
  const hint = answer.face === 'fits' ? rightSizeHint(plan, context.tiers) : null;
  return {
    ...blank(context, callbacks),
    face: answer.face,
    head,
    body,
    price: ['fits', 'taken', 'unknown', 'bolt'].includes(answer.face) ? planPrice(context, plan) : null,
    hint: hint && {
      text: sentence(trans.__('May take {device}.'), { device: hint.device }),
      press: fill(trans.__('Stay below {size}'), { size: hint.size }),
      onPress: () => callbacks.onBelow(hint.maxVram)
    },
    why: answer.face === 'never' ? why(context, plan) : null,
    holders: holders.slice(0, FEW_HOLDERS).map(holder => ({
      holder,
      line: holderWords(speech, withOwnFacts(holder, context), context.now),
      initial: initial(holder.session ?? '')
    })),
    moreHolders: Math.max(0, holders.length - FEW_HOLDERS) + (holders.length ? (plan.holders_left_out ?? 0) : 0),
    changes: shownChanges,
    moreChanges: offered.length - shownChanges.length,
    changesTitle:
      answer.face === 'taken'
        ? trans.__('Or start now')
        : trans._n('A small change that fits now', 'A small change that fits now', offered.length),
    nothingHelps: answer.face === 'never' && offered.length === 0,
    button: buttonText(speech, answer),
    enabled: answer.enabled,
    showLaunch: answer.face !== 'limit',
    foot: answer.face === 'taken' ? trans.__('The cluster decides who is next; there is no fixed order.') : null,
    extra: extras(context, plan, answer.face, callbacks),
    target:
      context.target.kind === 'notebook'
        ? { name: context.target.name, isNotebook: true }
        : { name: trans.__('New notebook'), isNotebook: true }
  };
}

/** What a pressed change replaced, for "Undo: 80 GB". */
export function undoWords(
  speech: Speech,
  before: Requirement | null,
  after: Requirement,
  tierName: (name: string) => string
): string | null {
  if (!before) {
    return null;
  }
  const fields = [
    'vram',
    'max_vram',
    'near',
    'spread',
    'count',
    'architecture',
    'product',
    'compute_capability',
    'tier',
    'share'
  ] as const;
  const changed = fields.find(field => JSON.stringify(before[field]) !== JSON.stringify(after[field]));
  if (!changed || before[changed] === undefined) {
    return requirementLine(speech, before, tierName);
  }
  return fieldWords(speech, before, changed, tierName);
}
