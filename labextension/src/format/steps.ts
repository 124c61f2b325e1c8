/** The steps of a launch in words (ux.md §5, 28–31). */

import type { Session, Step } from '../api/types';
import { duration, runningClock } from './durations';
import { decimal } from './numbers';
import type { Speech } from './speech';
import { fill, sentence, type Sentence } from './text';

/** The order in which a launch goes. */
export const STEP_ORDER = [
  'checked',
  'claim-created',
  'allocated',
  'scheduled',
  'image-pulled',
  'kernel-starting',
  'connected'
] as const;

export interface StepView {
  readonly code: string;
  readonly state: 'done' | 'now' | 'todo' | 'failed';
  readonly seconds: number | null;
  readonly startedAt: string | null;
  readonly step: Step | null;
}

/** All steps: those reported, then those still to come. */
export function stepViews(session: Session): StepView[] {
  const known = new Map(session.steps.map(step => [step.code, step]));
  const over = session.state === 'ended';
  const views = STEP_ORDER.map((code): StepView => {
    const step = known.get(code) ?? null;
    const state = step ? stepState(step, over) : 'todo';
    return { code, state, seconds: step?.seconds ?? null, startedAt: step?.started_at ?? null, step };
  });
  // A launch that has ended shows how far it came, not what it would have done.
  return over ? views.filter(view => view.state !== 'todo') : views;
}

function stepState(step: Step, over: boolean): StepView['state'] {
  switch (step.state) {
    case 'done':
      return 'done';
    case 'failed':
      return 'failed';
    case 'todo':
      return 'todo';
    default:
      return over ? 'failed' : 'now';
  }
}

function param(step: Step | null, ...keys: string[]): string {
  for (const key of keys) {
    const value = step?.params[key];
    if (typeof value === 'string' || typeof value === 'number') {
      return String(value);
    }
  }
  return '';
}

export function stepTitle(speech: Speech, view: StepView, session: Session): string {
  const { trans } = speech;
  switch (view.code) {
    case 'checked':
      return trans.__('Request checked');
    case 'claim-created':
      return trans.__('Claim created');
    case 'allocated':
      return view.state === 'done' ? trans.__('Device reserved') : trans.__('Reserving a device');
    case 'scheduled': {
      const node = param(view.step, 'node') || session.devices[0]?.node || '';
      return node && view.state === 'done'
        ? fill(trans.__('Placed on {node}'), { node })
        : trans.__('Placing on a node');
    }
    case 'image-pulled':
      return trans.__('Getting the image');
    case 'kernel-starting': {
      const kernel = param(view.step, 'kernel', 'display_name');
      return kernel ? fill(trans.__('Starting {kernel}'), { kernel }) : trans.__('Starting the kernel');
    }
    case 'connected':
      return trans.__('Connecting');
    default:
      return view.code;
  }
}

/** The grey line under a step, if it has something to say. */
export function stepDetail(speech: Speech, view: StepView, session: Session): Sentence | null {
  const { trans } = speech;
  if (view.state === 'todo') {
    return null;
  }
  if (view.code === 'claim-created') {
    const claim = param(view.step, 'claim') || session.claim?.name || '';
    return claim ? sentence('{claim}', { claim }) : null;
  }
  if (view.code === 'allocated' && session.devices.length) {
    const [first] = session.devices;
    const values = { label: first?.label ?? first?.device ?? '', device: first?.device ?? '', node: first?.node ?? '' };
    if (session.devices.length > 1) {
      const names = session.devices.map(device => device.device).join(', ');
      return sentence(trans.__('**{label}** · {names} on {node}'), { ...values, names });
    }
    return values.node
      ? sentence(trans.__('**{label}** · {device} on {node}'), values)
      : sentence('**{label}** · {device}', values);
  }
  if (view.code === 'image-pulled') {
    const image = param(view.step, 'image');
    const last = Number(param(view.step, 'last_seconds') || Number.NaN);
    if (image && Number.isFinite(last) && view.state === 'now') {
      return sentence(trans.__('{image}, last time {clock}'), { image, clock: runningClock(last) });
    }
    return image ? sentence('{image}', { image }) : null;
  }
  return null;
}

/** What stands at the right of a step: its time, or its running clock. */
export function stepTime(speech: Speech, view: StepView, now: number): string | null {
  if (view.state === 'now' && view.startedAt) {
    return runningClock((now - Date.parse(view.startedAt)) / 1000);
  }
  if (view.state === 'failed' && view.seconds !== null) {
    return runningClock(view.seconds);
  }
  if (view.state === 'done' && view.seconds !== null && view.seconds < 0.1) {
    return fill(speech.trans.__('< {seconds} s'), { seconds: decimal(speech, 0.1, 1) });
  }
  if (view.state === 'done' && view.seconds !== null) {
    return duration(speech, view.seconds < 10 ? view.seconds + 1e-9 : Math.floor(view.seconds));
  }
  return null;
}

/** Message 30: how long it took and whether the prediction held. */
export function readyWords(speech: Speech, session: Session): Sentence {
  const { trans } = speech;
  // Times on the wire are whole seconds; the steps know the fractions.
  const timed = session.steps.filter(step => step.seconds !== null);
  const seconds = timed.length
    ? timed.reduce((sum, step) => sum + (step.seconds ?? 0), 0)
    : session.ready_at
      ? (Date.parse(session.ready_at) - Date.parse(session.created_at)) / 1000
      : Number.NaN;
  const device = session.devices[0];
  const allocated = session.steps.find(step => step.code === 'allocated') ?? null;
  const predicted = param(allocated, 'predicted');
  const values = {
    time: Number.isFinite(seconds) ? duration(speech, seconds < 10 ? seconds + 1e-4 : seconds) : '',
    device: device?.device ?? '',
    predicted
  };
  if (device?.predicted === true) {
    return sentence(trans.__('Ready after **{time}**, as predicted: {device}.'), values);
  }
  if (device?.predicted === false && predicted) {
    const template = trans.__('Ready after **{time}** on {device}; {predicted} was predicted but taken meanwhile.');
    return sentence(template, values);
  }
  return device
    ? sentence(trans.__('Ready after **{time}** on {device}.'), values)
    : sentence(trans.__('Ready after **{time}**.'), values);
}
