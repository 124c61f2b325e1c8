/** The models of the page together: what a launch does to the form. */

import { Signal } from '@lumino/signaling';

import type { DRAClient } from '../../src/api/client';
import type { ChangeStream } from '../../src/api/stream';
import type { Session } from '../../src/api/types';
import { Observable } from '../../src/model/observable';
import type { Notebooks } from '../../src/model/target';
import { Workbench } from '../../src/model/workbench';
import { kernel, plan, session } from '../data/answers';

const STARTING = session('a', { state: 'starting', ready_at: null });
const READY = session('a', { revision: 2, kernels: [kernel('k', null)] });

/** A page whose launches answer with a starting session; `tell` says that it became ready. */
function page(): { bench: Workbench; tell: () => Promise<void> } {
  const owner = {};
  const signal = (): Signal<object, unknown> => new Signal<object, unknown>(owner);
  const told = signal();
  const stream = { session: told, inventory: signal(), status: signal(), lost: signal(), server: signal() };
  const client = {
    unreachable: signal(),
    launch: () => Promise.resolve(STARTING),
    fetchSession: () => Promise.resolve(READY),
    rename: () => Promise.resolve(READY),
    plan: () => Promise.resolve(plan()),
    previewClaim: () => Promise.reject(new Error('not shown'))
  };
  const notebooks = { current: null, changed: signal(), openNew: () => Promise.resolve('a.ipynb') };
  const bench = new Workbench(
    client as unknown as DRAClient,
    stream as unknown as ChangeStream,
    notebooks as unknown as Notebooks,
    new Observable(true),
    null
  );
  const tell = async (): Promise<void> => {
    told.emit({ id: STARTING.id, revision: 2, change: 'state', state: 'running', step: null, code: null });
    for (let turn = 0; turn < 5; turn += 1) {
      await Promise.resolve();
    }
  };
  return { bench, tell };
}

const isOpen = (bench: Workbench): boolean => bench.remembered.state.value.open.new;
const state = (bench: Workbench): Session['state'] | undefined => bench.sessions.get(STARTING.id)?.state;

test('the form folds once the session it asked for is ready', async () => {
  const { bench, tell } = page();
  bench.prefill({ vram: '40GB' });
  await bench.launch();
  expect(isOpen(bench)).toBe(true);
  await tell();
  expect([state(bench), isOpen(bench)]).toEqual(['running', false]);
  bench.dispose();
});

test('a form that holds the next request by then stays open', async () => {
  const { bench, tell } = page();
  bench.prefill({ vram: '40GB' });
  await bench.launch();
  bench.prefill({ vram: '80GB' });
  await tell();
  expect([state(bench), isOpen(bench)]).toEqual(['running', true]);
  bench.dispose();
});

test('a session that somebody else started leaves the form as it is', async () => {
  const { bench, tell } = page();
  await tell();
  expect([state(bench), isOpen(bench)]).toEqual(['running', true]);
  bench.dispose();
});

test('a card says for five seconds that its session is ready, and only where this page asked for it', async () => {
  const { bench, tell } = page();
  await bench.launch();
  await tell();
  const session = bench.sessions.get(STARTING.id)!;
  const now = Date.now();
  const clock = jest.spyOn(Date, 'now');
  clock.mockReturnValue(now + 4000);
  expect(bench.isFreshlyReady(session)).toBe(true);
  clock.mockReturnValue(now + 6000);
  expect(bench.isFreshlyReady(session)).toBe(false);
  clock.mockRestore();
  bench.dispose();
  const other = page();
  await other.tell();
  expect(other.bench.isFreshlyReady(session)).toBe(false);
  other.bench.dispose();
});
