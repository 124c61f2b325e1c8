/** The verdict that follows the form: debounced, superseded requests cancelled, the old answer kept meanwhile. */

import { Problem, type DRAClient } from '../api/client';
import type { Plan, Requirement } from '../api/types';
import { record } from '../format/params';
import { Observable } from './observable';

export interface PlanState {
  readonly plan: Plan | null;
  /** What `plan` answers. */
  readonly asked: Requirement | null;
  /** The answer is late by 150 ms: shown dimmed. */
  readonly busy: boolean;
  /** Late by 10 s: worth saying. */
  readonly slow: boolean;
  readonly problem: Problem | null;
  /** Counts answers to a changed form, not background refreshes: what is spoken without a change of verdict. */
  readonly generation: number;
}

/** Between two keys of one number; what is asked in vain is cancelled. */
export const TYPING_MS = 60;
const BUSY_MS = 150;
const SLOW_MS = 10_000;

const START: PlanState = { plan: null, asked: null, busy: false, slow: false, problem: null, generation: 0 };

type Timer = ReturnType<typeof setTimeout>;

export class PlanModel {
  constructor(private readonly _client: Pick<DRAClient, 'plan'>) {}

  readonly state = new Observable<PlanState>(START);

  /** Asks after `delay` ms unless asked again before. */
  request(requirement: Requirement, delay = 0): void {
    clearTimeout(this._debounce);
    this._abort?.abort();
    this._debounce = setTimeout(() => {
      this._debounce = undefined;
      void this._ask(requirement, false);
    }, delay);
  }

  /** Asks the last question again, which nobody typed; after what is being asked now, if anything is. Never throws. */
  async refresh(): Promise<void> {
    const { asked } = this.state.value;
    if (this._debounce !== undefined) {
      return;
    }
    if (this._abort) {
      this._again = true;
    } else if (asked) {
      await this._ask(asked, true);
    }
  }

  dispose(): void {
    clearTimeout(this._debounce);
    this._abort?.abort();
    this.state.dispose();
  }

  private async _ask(requirement: Requirement, background: boolean): Promise<void> {
    const abort = new AbortController();
    this._abort = abort;
    const late: Timer[] = [
      setTimeout(() => this.state.update(state => ({ ...state, busy: true })), BUSY_MS),
      setTimeout(() => this.state.update(state => ({ ...state, slow: true })), SLOW_MS)
    ];
    try {
      const plan = await this._client.plan({ requirement }, 'full', { signal: abort.signal });
      if (this._abort === abort) {
        this._settle({ plan, asked: requirement, problem: null }, background);
      }
    } catch (error) {
      if (this._abort === abort) {
        const problem = error instanceof Problem ? error : null;
        this._settle({ problem, ...(problem ? { asked: requirement } : {}) }, background);
      }
    } finally {
      late.forEach(clearTimeout);
      if (this._abort === abort) {
        this._abort = null;
        const again = this._again;
        this._again = false;
        if (again) {
          void this.refresh();
        }
      }
    }
  }

  private _settle(change: Partial<PlanState>, background: boolean): void {
    this.state.update(state => ({
      ...state,
      ...change,
      busy: false,
      slow: false,
      generation: state.generation + (background ? 0 : 1)
    }));
  }

  private _debounce: Timer | undefined;
  private _abort: AbortController | null = null;
  private _again = false;
}

export interface Answer {
  /** What the button says. */
  readonly button: 'launch' | 'launch-and-see' | 'wait';
  readonly enabled: boolean;
  /** Which verdict is shown; permission comes before the scheduler's answer. */
  readonly face: 'fits' | 'taken' | 'never' | 'unknown' | 'fix' | 'bolt' | 'limit' | 'policy';
}

/** What the dock offers for a plan: the rule that couples verdict, permission and button. */
export function answerOf(plan: Plan): Answer {
  const codes = certaintyCodes(plan);
  const { can, code } = plan.launch;
  // A longer lease than is allowed is no count that stopping something would lower.
  if (code === 'policy' || (code === 'limit' && typeof plan.launch.params['longest_seconds'] === 'number')) {
    return { button: 'launch', enabled: false, face: 'policy' };
  }
  if (code === 'limit' || code === 'quota') {
    return { button: 'launch', enabled: false, face: 'limit' };
  }
  switch (plan.verdict) {
    case 'fits':
      return { button: 'launch', enabled: can === 'yes', face: 'fits' };
    case 'busy':
      return { button: 'wait', enabled: can !== 'no', face: 'taken' };
    case 'unknown':
      return codes.includes('scales-from-zero')
        ? { button: 'launch', enabled: can !== 'no', face: 'bolt' }
        : { button: 'launch-and-see', enabled: can !== 'no', face: 'unknown' };
    case 'invalid':
      return { button: 'launch', enabled: false, face: 'fix' };
    default:
      return { button: 'launch', enabled: false, face: 'never' };
  }
}

export function certaintyCodes(plan: Plan): string[] {
  return plan.certainty.reasons.map(reason => (typeof reason === 'string' ? reason : reason.code));
}

/** The reason lines shown: at most five by number, the rest summed as one; the numbers still add up. */
export function topReasons(plan: Plan): { shown: Plan['reasons']; rest: number } {
  const sorted = [...plan.reasons].filter(reason => reason.devices > 0).sort((a, b) => b.devices - a.devices);
  const shown = sorted.length > 5 ? sorted.slice(0, 4) : sorted;
  return { shown, rest: sorted.slice(shown.length).reduce((sum, reason) => sum + reason.devices, 0) };
}

const CHANGE_ORDER = [
  'join-session',
  'drop-near',
  'drop-spread',
  'less-memory',
  'more-kinds',
  'fewer-devices',
  'part',
  'other-tier',
  'tolerate'
];

/** Changes in the order of the design; accepting marked devices is never first. */
export function sortChanges(changes: Plan['relaxations']): Plan['relaxations'] {
  const rank = (code: string): number => {
    const index = CHANGE_ORDER.indexOf(code);
    return index === -1 ? CHANGE_ORDER.length - 1.5 : index;
  };
  return [...changes].sort((a, b) => rank(a.code) - rank(b.code));
}

/** What is wrong with the conditions, each once; `rewrite` is a condition as it was meant, where the plan knows. */
export function conditionProblems(
  plan: Plan | null
): { message: string; fix: string | null; rewrite: string | null }[] {
  const errors = (plan?.findings ?? []).filter(item => item.severity === 'error' && item.code.startsWith('cel'));
  const [rewrite = null] = (plan?.reasons ?? []).flatMap(reason => {
    const { text: better } = record(reason.params, 'rewrite');
    return reason.code === 'condition-error' && typeof better === 'string' ? [better] : [];
  });
  return errors
    .filter((item, index) => errors.findIndex(other => other.message === item.message) === index)
    .map(item => ({ message: item.message, fix: item.fix ?? null, rewrite }));
}

/** You, then namespaces you see by number of devices, then what is not visible. */
export function sortHolders(holders: Plan['holders']): Plan['holders'] {
  const rank = (who: string): number => (who === 'you' ? 0 : who === 'hidden' || who === 'unknown' ? 2 : 1);
  return [...holders].sort((a, b) => rank(a.who) - rank(b.who) || (b.devices ?? 1) - (a.devices ?? 1));
}

/** The holder whose lease is known to end first. */
export function firstLeaseEnd(plan: Plan): string | null {
  const ends = plan.holders.map(holder => holder.lease_ends).filter((at): at is string => Boolean(at));
  return ends.sort()[0] ?? null;
}

/** The device the plan expects to take; null where it names none. */
export function likelyDevice(plan: Plan): { label: string | null; device: string; node: string } | null {
  const node = plan.nodes.find(item => item.likely) ?? plan.nodes[0];
  const device = node?.devices[0];
  return node && device ? { label: device.label, device: device.device, node: node.name } : null;
}

/** The class that the likely device is asked from: of the alternative that was planned, where there are several. */
export function likelyClass(plan: Plan): string | null {
  const node = plan.nodes.find(item => item.likely) ?? plan.nodes[0];
  const [request, alternative] = node?.devices[0]?.request.split('/') ?? [];
  const spec = plan.claim?.['spec'] as { devices?: { requests?: readonly ClaimRequest[] } } | undefined;
  const asked = spec?.devices?.requests?.find(item => item.name === request);
  const body = alternative ? asked?.firstAvailable?.find(item => item.name === alternative) : asked?.exactly;
  return body?.deviceClassName ?? null;
}

interface ClaimRequest {
  name?: string;
  exactly?: { deviceClassName?: string };
  firstAvailable?: readonly { name?: string; deviceClassName?: string }[];
}
