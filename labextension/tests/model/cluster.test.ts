import { Signal } from '@lumino/signaling';

import { Problem, Unreachable, type DRAClient } from '../../src/api/client';
import type { ChangeStream } from '../../src/api/stream';
import type { TierList } from '../../src/api/types';
import { ClusterModel, PULSE_MS } from '../../src/model/cluster';
import { Observable } from '../../src/model/observable';
import { addRecent, firstRequest, storable } from '../../src/model/remembered';
import { Ticker } from '../../src/model/ticker';
import { status, tierList } from '../data/answers';

beforeEach(() => jest.useFakeTimers({ now: 1_000_000 }));
afterEach(() => jest.useRealTimers());

function clusterOf(
  client: Partial<DRAClient>,
  visible = new Observable(true)
): {
  model: ClusterModel;
  inventoryChanged: (revision?: number) => void;
  visible: Observable<boolean>;
} {
  const owner = {};
  const inventory = new Signal<object, unknown>(owner);
  const stream = { inventory, status: new Signal<object, unknown>(owner) } as unknown as ChangeStream;
  return {
    model: new ClusterModel(client as DRAClient, stream, visible),
    inventoryChanged: (revision = 1) => inventory.emit({ revision }),
    visible
  };
}

test('several events in a row are one question for tiers; the state is asked by the pulse alone', async () => {
  const fetchStatus = jest.fn(() => Promise.resolve(status()));
  const fetchTiers = jest.fn(() => Promise.resolve(tierList()));
  const { model, inventoryChanged } = clusterOf({ fetchStatus, fetchTiers });
  await model.refresh();
  inventoryChanged();
  inventoryChanged();
  inventoryChanged();
  await jest.advanceTimersByTimeAsync(1000);
  expect(fetchTiers).toHaveBeenCalledTimes(2);
  expect(fetchStatus).toHaveBeenCalledTimes(1);
  await jest.advanceTimersByTimeAsync(10 * PULSE_MS);
  expect(fetchTiers).toHaveBeenCalledTimes(2);
  expect(fetchStatus).toHaveBeenCalledTimes(11);
});

test('events without a pause are answered all the same', async () => {
  const fetchTiers = jest.fn(() => Promise.resolve(tierList()));
  const { model, inventoryChanged } = clusterOf({ fetchStatus: () => Promise.resolve(status()), fetchTiers });
  await model.refresh();
  for (let turn = 0; turn < 50; turn += 1) {
    inventoryChanged();
    await jest.advanceTimersByTimeAsync(100);
  }
  expect(fetchTiers.mock.calls.length).toBeGreaterThan(10);
});

test('the longer an answer takes, the longer nothing is asked again', async () => {
  const fetchTiers = jest.fn(() => new Promise<TierList>(done => setTimeout(() => done(tierList()), 1000)));
  const { model, inventoryChanged } = clusterOf({ fetchStatus: () => Promise.resolve(status()), fetchTiers });
  const first = model.refresh();
  await jest.advanceTimersByTimeAsync(1000);
  await first;
  for (let turn = 0; turn < 100; turn += 1) {
    inventoryChanged();
    await jest.advanceTimersByTimeAsync(100);
  }
  expect(fetchTiers.mock.calls.length).toBeLessThanOrEqual(4);
});

test('what happens unseen is asked for once somebody looks', async () => {
  const fetchTiers = jest.fn(() => Promise.resolve(tierList()));
  const client = { fetchStatus: () => Promise.resolve(status()), fetchTiers };
  const { model, inventoryChanged, visible } = clusterOf(client);
  await model.refresh();
  visible.set(false);
  inventoryChanged();
  inventoryChanged();
  await jest.advanceTimersByTimeAsync(600_000);
  expect(fetchTiers).toHaveBeenCalledTimes(1);
  visible.set(true);
  await jest.advanceTimersByTimeAsync(1000);
  expect(fetchTiers).toHaveBeenCalledTimes(2);
});

test.each([
  ['another server answers', { started_at: '2026-11-30T13:00:00Z' }],
  ['another cluster was chosen elsewhere', { cluster: 'research' }],
  ['changes were not told', { revision: 9 }]
])('the pulse notices that %s', async (_, change) => {
  const fetchStatus = jest.fn(() => Promise.resolve(status({ revision: 5 })));
  const fetchTiers = jest.fn(() => Promise.resolve(tierList()));
  const { model } = clusterOf({ fetchStatus, fetchTiers });
  const missed = jest.fn();
  model.missed.connect(missed);
  await model.refresh();
  await jest.advanceTimersByTimeAsync(PULSE_MS);
  expect(missed).not.toHaveBeenCalled();
  fetchStatus.mockImplementation(() => Promise.resolve(status({ revision: 5, ...change })));
  await jest.advanceTimersByTimeAsync(PULSE_MS);
  expect(missed).toHaveBeenCalledTimes(1);
  expect(fetchTiers).toHaveBeenCalledTimes(2);
});

test('the last device gone is a new state, not only another number', async () => {
  const fetchStatus = jest
    .fn()
    .mockResolvedValueOnce(status())
    .mockResolvedValue(status({ state: 'no-devices' }));
  const fetchTiers = jest
    .fn()
    .mockResolvedValueOnce(tierList())
    .mockResolvedValue({ ...tierList([]), devices: 0 });
  const { model, inventoryChanged } = clusterOf({ fetchStatus, fetchTiers });
  await model.refresh();
  inventoryChanged();
  await jest.advanceTimersByTimeAsync(1000);
  expect(model.state.value.status?.state).toBe('no-devices');
});

test('a doubt asks once, and not while the connection is known to be lost', async () => {
  const fetchStatus = jest.fn().mockResolvedValueOnce(status()).mockRejectedValue(new Unreachable('x'));
  const { model } = clusterOf({ fetchStatus, fetchTiers: () => Promise.resolve(tierList()) });
  await model.refresh();
  model.doubt();
  model.doubt();
  await jest.advanceTimersByTimeAsync(0);
  model.doubt();
  expect(fetchStatus).toHaveBeenCalledTimes(2);
  expect(model.state.value.lost).not.toBeNull();
});

test('the first inventory shows nothing, then a skeleton, then words, then an offer', async () => {
  const { model } = clusterOf({ fetchStatus: () => new Promise(() => undefined) });
  void model.refresh();
  expect(model.state.value.loading).toBe('soon');
  await jest.advanceTimersByTimeAsync(300);
  expect(model.state.value.loading).toBe('skeleton');
  await jest.advanceTimersByTimeAsync(700);
  expect(model.state.value.loading).toBe('words');
  await jest.advanceTimersByTimeAsync(9000);
  expect(model.state.value.loading).toBe('long');
});

test('a server without our part is told apart from one that does not answer', async () => {
  const missing = clusterOf({ fetchStatus: () => Promise.reject(new Problem(404, {})) });
  await missing.model.refresh();
  expect(missing.model.state.value.serverMissing).toBe(true);
  const gone = clusterOf({ fetchStatus: () => Promise.reject(new Unreachable('x')) });
  await gone.model.refresh();
  expect(gone.model.state.value.serverMissing).toBe(false);
  expect(gone.model.state.value.lost).not.toBeNull();
});

test('a lost connection keeps the numbers, says since when, and tries again with growing pauses', async () => {
  const fetchStatus = jest.fn().mockResolvedValueOnce(status()).mockRejectedValue(new Unreachable('x'));
  const { model } = clusterOf({ fetchStatus, fetchTiers: () => Promise.resolve(tierList()) });
  await model.refresh();
  await jest.advanceTimersByTimeAsync(5000);
  await model.refresh();
  expect(model.state.value).toMatchObject({ lost: { since: 1_000_000, retryAt: 1_007_000 } });
  expect(model.state.value.tiers).not.toBeNull();
  await jest.advanceTimersByTimeAsync(2000);
  expect(fetchStatus).toHaveBeenCalledTimes(3);
  expect(model.state.value.lost?.retryAt).toBe(1_011_000);
});

test('nobody looks, nobody tries; looking again refreshes at once', async () => {
  const fetchStatus = jest.fn().mockRejectedValue(new Unreachable('x'));
  const { model, visible } = clusterOf({ fetchStatus });
  await model.refresh();
  visible.set(false);
  await jest.advanceTimersByTimeAsync(120_000);
  expect(fetchStatus).toHaveBeenCalledTimes(1);
  visible.set(true);
  await jest.advanceTimersByTimeAsync(0);
  expect(fetchStatus).toHaveBeenCalledTimes(2);
});

test('the clock ticks each second in a launch, else each half minute, never unseen', async () => {
  const visible = new Observable(true);
  const ticker = new Ticker(visible);
  const ticks = jest.fn();
  ticker.now.changed.connect(ticks);
  await jest.advanceTimersByTimeAsync(30_000);
  expect(ticks).toHaveBeenCalledTimes(1);
  ticker.fast = true;
  ticks.mockClear();
  await jest.advanceTimersByTimeAsync(5000);
  expect(ticks).toHaveBeenCalledTimes(5);
  visible.set(false);
  ticks.mockClear();
  await jest.advanceTimersByTimeAsync(60_000);
  expect(ticks).not.toHaveBeenCalled();
  ticker.dispose();
});

test('five recent requests, newest first, each once; accepted marks and environment are not kept', () => {
  let recent = addRecent([], { vram: '1GB', tolerate: [{}], env: { SECRET: 'x' } });
  expect(recent).toEqual([{ name: null, requirement: { vram: '1GB' } }]);
  for (const size of ['2GB', '3GB', '4GB', '5GB', '6GB', '3GB']) {
    recent = addRecent(recent, { vram: size });
  }
  expect(recent.map(preset => preset.requirement.vram)).toEqual(['3GB', '6GB', '5GB', '4GB', '2GB']);
  const named = { name: 'mine', requirement: { vram: '9GB' } };
  expect(addRecent([...recent, named], { vram: '7GB' })).toContainEqual(named);
  expect(storable({ name: 'x', namespace: 'y', tier: 'z' })).toEqual({ tier: 'z' });
});

test('the form starts with the first request that exists', () => {
  expect(firstRequest({ vram: '1GB' }, { vram: '2GB' }, { vram: '3GB' }, {})).toEqual({ vram: '1GB' });
  expect(firstRequest(null, undefined, { vram: '3GB' }, { vram: '4GB' })).toEqual({ vram: '3GB' });
  expect(firstRequest(null, undefined, undefined, undefined)).toEqual({});
});

test('while the server itself still reads the inventory, the page says so as if the answer were late', async () => {
  const states = ['loading', 'loading', 'ready'] as const;
  let turn = 0;
  const fetchStatus = jest.fn(() => Promise.resolve(status({ state: states[Math.min(turn++, 2)]! })));
  const { model } = clusterOf({ fetchStatus, fetchTiers: () => Promise.resolve(tierList()) });
  await model.refresh();
  expect(model.state.value.status?.state).toBe('loading');
  await jest.advanceTimersByTimeAsync(400);
  expect(model.state.value.loading).toBe('skeleton');
  await jest.advanceTimersByTimeAsync(700);
  expect(model.state.value.loading).toBe('words');
  await model.refresh();
  expect(model.state.value.loading).toBe('words');
  await model.refresh();
  expect(model.state.value.loading).toBe('no');
  model.dispose();
});
