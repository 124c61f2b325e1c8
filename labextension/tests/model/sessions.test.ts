import { Signal } from '@lumino/signaling';

import { Problem, type DRAClient } from '../../src/api/client';
import type { ChangeStream } from '../../src/api/stream';
import type { Session } from '../../src/api/types';
import { newsOf } from '../../src/model/news';
import { Observable } from '../../src/model/observable';
import { placeOf } from '../../src/model/place';
import { extendBy, idleSeconds, isUnfolded, SessionsModel, sortSessions, warningOf } from '../../src/model/sessions';
import { statusOf } from '../../src/model/statusitem';
import { defaultTarget, losers, mustAskToReplace, type NotebookInfo } from '../../src/model/target';
import { at, CONTEXT, endedAs, kernel, lease as leaseOf, NOW, session } from '../data/answers';

function changes(): { stream: ChangeStream; emit: (id: string, revision: number) => void } {
  const owner = {};
  const signal = new Signal<object, unknown>(owner);
  return {
    stream: { session: signal } as unknown as ChangeStream,
    emit: (id, revision) => signal.emit({ id, revision, change: 'state', state: 'running', step: null, code: null })
  };
}

function modelOf(client: Partial<DRAClient>): { model: SessionsModel; emit: (id: string, revision: number) => void } {
  const { stream, emit } = changes();
  let keys = 0;
  return { model: new SessionsModel(client as DRAClient, stream, new Observable(true), () => `key-${++keys}`), emit };
}

const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn += 1) {
    await Promise.resolve();
  }
};

test('an event fetches the one session it names, once, and not for what is known', async () => {
  const fetchSession = jest.fn((id: string) => Promise.resolve(session('a', { id, revision: 5 })));
  const { model, emit } = modelOf({ fetchSession });
  emit('a-9d3fk', 5);
  emit('a-9d3fk', 5);
  await settle();
  expect(model.get('a-9d3fk')?.revision).toBe(5);
  const calls = fetchSession.mock.calls.length;
  emit('a-9d3fk', 4);
  await settle();
  expect(fetchSession.mock.calls.length).toBe(calls);
});

test('keeping an idle session asks for its own idle limit again and leaves the lease alone', async () => {
  const lease = leaseOf({ ends_at: at(60), longest_until: at(60), idle_limit_seconds: 1800, idle_since: at(-28) });
  const idle = session('a', { revision: 5, lease });
  const keep = jest.fn(() => Promise.resolve(session('a', { revision: 6 })));
  const { model, emit } = modelOf({ keep, fetchSession: () => Promise.resolve(idle) });
  emit('a-9d3fk', 5);
  await settle();
  await model.keep('a-9d3fk');
  expect(keep).toHaveBeenCalledWith('a-9d3fk', 1800);
  expect(model.get('a-9d3fk')?.revision).toBe(6);
});

test('the Jupyter server’s own event, revision 0, fetches a session whose revision did not change', async () => {
  const fetchSession = jest.fn(() => Promise.resolve(session('a', { revision: 16, state: 'running' })));
  const { model, emit } = modelOf({
    launch: () => Promise.resolve(session('a', { revision: 16, state: 'starting' })),
    fetchSession
  });
  await model.launch({ requirement: {} });
  emit('a-9d3fk', 0);
  await settle();
  expect(fetchSession).toHaveBeenCalledTimes(1);
  expect(model.get('a-9d3fk')?.state).toBe('running');
});

test('an answer older than what is shown changes nothing', async () => {
  const { model } = modelOf({
    fetchSession: jest
      .fn()
      .mockResolvedValueOnce(session('a', { revision: 9, state: 'running' }))
      .mockResolvedValueOnce(session('a', { revision: 3, state: 'starting' }))
  });
  await model.fetch('a-9d3fk');
  await model.fetch('a-9d3fk');
  expect(model.get('a-9d3fk')?.state).toBe('running');
});

test('two presses within a second are one launch, with one key', async () => {
  const launch = jest.fn(() => Promise.resolve(session('a', { state: 'starting' })));
  const { model } = modelOf({ launch });
  const [first, second] = await Promise.all([model.launch({ requirement: {} }), model.launch({ requirement: {} })]);
  expect(first).toBe(second);
  expect(launch).toHaveBeenCalledTimes(1);
  expect(launch).toHaveBeenCalledWith({ requirement: {}, key: 'key-1' });
});

test('after a refusal the next press launches again', async () => {
  const launch = jest
    .fn()
    .mockRejectedValueOnce(new Problem(409, { code: 'busy' }))
    .mockResolvedValueOnce(session('a'));
  const { model } = modelOf({ launch });
  await expect(model.launch({ requirement: {} })).rejects.toThrow(Problem);
  await expect(model.launch({ requirement: {} })).resolves.toBeDefined();
});

test('stopping a session that is already gone just removes it', async () => {
  const { model } = modelOf({
    fetchSession: () => Promise.resolve(session('a')),
    stop: () => Promise.reject(new Problem(404, {}))
  });
  await model.fetch('a-9d3fk');
  await model.stop('a-9d3fk');
  expect(model.state.value.sessions).toHaveLength(0);
});

test('a removed ended session does not come back with the next list', async () => {
  const ended = session('a', { state: 'ended' });
  const { model } = modelOf({
    fetchSessions: () => Promise.resolve({ kind: 'SessionList', version: 1, context: CONTEXT, sessions: [ended] })
  });
  await model.refresh();
  model.forget(ended.id);
  await model.refresh();
  expect(model.state.value.sessions).toHaveLength(0);
});

test('a joined kernel is waited for until the Jupyter server knows it', async () => {
  const joined = (state: string, revision: number): Session =>
    session('a', { revision, kernels: [kernel('k2', 'eval.ipynb', state)] });
  const { model, emit } = modelOf({
    addKernel: () => Promise.resolve(joined('starting', 2)),
    fetchSession: () => Promise.resolve(joined('idle', 3))
  });
  let done = false;
  const added = model.addKernel('a-9d3fk', 'eval.ipynb').then(found => {
    done = true;
    return found;
  });
  await settle();
  expect(done).toBe(false);
  emit('a-9d3fk', 3);
  await expect(added).resolves.toMatchObject({ id: 'k2' });
});

test('this notebook’s session first, then warnings, then newest; ended last, for a day', () => {
  const mine = session('mine', { created_at: at(-500), kernels: [kernel('k', 'a.ipynb')] });
  const warned = session('warned', {
    created_at: at(-400),
    lease: leaseOf({ ends_at: at(5), longest_until: null, idle_limit_seconds: null })
  });
  const fresh = session('fresh', { created_at: at(-1) });
  const older = session('older', { created_at: at(-60) });
  const over = session('over', {
    state: 'ended',
    ended: endedAs('idle', { at: at(-5) })
  });
  const yesterday = { ...over, id: 'y', ended: { ...over.ended!, at: at(-1500) } };
  const sorted = sortSessions([yesterday, over, older, fresh, warned, mine], { path: 'a.ipynb', kernelId: 'k' }, NOW);
  expect(sorted.map(item => item.name)).toEqual(['mine', 'warned', 'fresh', 'older', 'over']);
});

test('the lease warns ten minutes before, idleness five, and the lease first', () => {
  const lease = leaseOf({ ends_at: at(9), longest_until: at(600), idle_limit_seconds: 1800, idle_since: at(-26) });
  expect(warningOf(session('a', { lease }), NOW)).toMatchObject({ kind: 'lease', extendable: true });
  expect(warningOf(session('a', { lease: { ...lease, ends_at: at(60) } }), NOW)).toMatchObject({
    kind: 'idle',
    left: 240
  });
  expect(warningOf(session('a', { lease: { ...lease, ends_at: at(60), idle_since: at(-20) } }), NOW)).toBeNull();
});

test('an extension is two hours, or what the longest lease leaves', () => {
  const lease = leaseOf({ ends_at: at(10), longest_until: at(600), idle_limit_seconds: null, idle_since: null });
  expect(extendBy(session('a', { lease }))).toBe(7200);
  expect(extendBy(session('a', { lease: { ...lease, longest_until: at(40) } }))).toBe(1800);
  expect(extendBy(session('a', { lease: { ...lease, longest_until: at(10) } }))).toBe(0);
});

test('a busy session is not idle', () => {
  const lease = leaseOf({ ends_at: at(60), longest_until: null, idle_limit_seconds: 1800, idle_since: at(-3) });
  expect(idleSeconds(session('a', { lease, activity: 'idle' }), NOW)).toBe(180);
  expect(idleSeconds(session('a', { lease, activity: 'busy' }), NOW)).toBeNull();
});

const notebook = (change: Partial<NotebookInfo> = {}): NotebookInfo => ({
  path: 'a.ipynb',
  name: 'a.ipynb',
  kernelId: 'k',
  hasRun: false,
  wish: undefined,
  ...change
});

test('a launch is for the notebook whose kernel has run no cell, else for a new one', () => {
  expect(defaultTarget(notebook(), null)).toMatchObject({ kind: 'notebook', path: 'a.ipynb' });
  expect(defaultTarget(notebook({ hasRun: true }), null)).toEqual({ kind: 'new' });
  expect(defaultTarget(notebook({ hasRun: true }), 'here')).toMatchObject({ kind: 'notebook' });
  expect(defaultTarget(notebook(), 'new')).toEqual({ kind: 'new' });
  expect(defaultTarget(null, 'here')).toEqual({ kind: 'new' });
});

test('replacing asks only where a cell has run; stopping only where something is lost', () => {
  const target = { kind: 'notebook' as const, path: 'a.ipynb', name: 'a.ipynb' };
  expect(mustAskToReplace(target, { find: () => notebook() })).toBe(false);
  expect(mustAskToReplace(target, { find: () => notebook({ hasRun: true }) })).toBe(true);
  const shared = session('a', { kernels: [kernel('k', 'a.ipynb'), kernel('l', 'b.ipynb')] });
  expect(losers(shared, { find: () => notebook() })).toEqual([]);
  expect(losers(shared, { find: path => (path === 'a.ipynb' ? notebook({ hasRun: true }) : null) })).toEqual([
    'a.ipynb',
    'b.ipynb'
  ]);
});

test('a starting session never shows its old place', () => {
  expect(placeOf(session('a', { state: 'starting' }))).toEqual({ kind: 'starting' });
  expect(placeOf(session('a'))).toMatchObject({ kind: 'device', node: 'dgx-h100-0', device: 'gpu-3' });
  expect(placeOf(undefined)).toEqual({ kind: 'here' });
});

test('news are differences: what had ended before the page was opened is none', () => {
  const ended = session('a', {
    state: 'ended',
    ended: endedAs('crashed', { at: at(-1), exit_code: 1 })
  });
  expect(newsOf(null, [ended], NOW, () => false)).toEqual([]);
  expect(newsOf([session('a')], [ended], NOW, () => false)).toMatchObject([{ kind: 'fault' }]);
  const stopped = { ...ended, ended: { ...ended.ended!, code: 'stopped' } };
  expect(newsOf([session('a')], [stopped], NOW, () => false)).toEqual([]);
});

test('a session that started is news only if its notebook is not in view, or it had waited', () => {
  const starting = session('a', { state: 'starting' });
  expect(newsOf([starting], [session('a')], NOW, () => true)).toEqual([]);
  expect(newsOf([starting], [session('a')], NOW, () => false)).toMatchObject([{ kind: 'started' }]);
});

test('the status bar shows one fact about this notebook, the worst', () => {
  const bench = (sessions: Session[], change: object = {}): Parameters<typeof statusOf>[0] =>
    ({
      sessions: { state: { value: { sessions, known: true } } },
      cluster: { state: { value: { lost: null, ...change } } },
      current: notebook()
    }) as unknown as Parameters<typeof statusOf>[0];
  const own = session('a', { kernels: [kernel('k', 'a.ipynb')] });
  expect(statusOf(bench([]), NOW)).toBeNull();
  expect(statusOf(bench([own]), NOW)?.kind).toBe('running');
  expect(statusOf(bench([{ ...own, lease: { ...own.lease!, ends_at: at(9) } }]), NOW)?.kind).toBe('ends-soon');
  expect(
    statusOf(bench([{ ...own, activity: 'idle', lease: { ...own.lease!, idle_since: at(-10) } }]), NOW)?.kind
  ).toBe('idle');
  expect(statusOf(bench([{ ...own, lease: { ...own.lease!, idle_since: at(-27) } }]), NOW)).toMatchObject({
    kind: 'ends-soon',
    left: 180
  });
  expect(statusOf(bench([session('b', { state: 'starting' })]), NOW)?.kind).toBe('starting');
  expect(statusOf(bench([session('b')]), NOW)).toEqual({ kind: 'elsewhere', held: 1 });
  expect(statusOf(bench([own], { lost: { since: NOW, retryAt: null } }), NOW)?.kind).toBe('offline');
});

test('a kernel that moves is waited for, and why it stays is told', async () => {
  const moving = { ...kernel('k-1', null), next_pod: 'a-9d3fk-1' };
  const one = (revision: number, event: string, more: object = {}): Session =>
    session('a', {
      revision,
      kernels: [event === 'moving' ? moving : { ...moving, next_pod: null }],
      history: [{ at: 1, event, kernel: 'k-1', ...more }]
    });
  const restartKernel = jest.fn(() => Promise.resolve(one(20, 'moving')));
  const { model, emit } = modelOf({ restartKernel, fetchSession: () => Promise.resolve(one(21, 'moved')) });
  let answer: unknown;
  void model.moveKernel('a-9d3fk', 'k-1', { cpu: '2' }).then(value => {
    answer = value;
  });
  await settle();
  expect(answer).toBeUndefined();
  emit('a-9d3fk', 21);
  await settle();
  expect(answer).toBeNull();
  expect(restartKernel).toHaveBeenCalledWith('a-9d3fk', 'k-1', { cpu: '2' });

  restartKernel.mockResolvedValueOnce(one(30, 'not-moved', { code: 'launch-timeout', detail: 'Insufficient cpu' }));
  expect(await model.moveKernel('a-9d3fk', 'k-1', { cpu: '200' })).toMatchObject({ detail: 'Insufficient cpu' });
});

test('a card stands unfolded for the notebook in front, alone, or when its time runs out', () => {
  expect(isUnfolded(null, true, false)).toBe(true);
  expect(isUnfolded(null, false, true)).toBe(true);
  expect(isUnfolded({ kind: 'lease', left: 60, extendable: true }, false, false)).toBe(true);
  expect(isUnfolded({ kind: 'idle', left: 60 }, false, false)).toBe(false);
  expect(isUnfolded(null, false, false)).toBe(false);
});
