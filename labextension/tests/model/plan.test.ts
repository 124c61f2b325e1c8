import { Problem } from '../../src/api/client';
import type { Plan } from '../../src/api/types';
import {
  answerOf,
  firstLeaseEnd,
  likelyClass,
  likelyDevice,
  PlanModel,
  sortChanges,
  sortHolders,
  topReasons,
  TYPING_MS
} from '../../src/model/plan';
import { rightSizeHint } from '../../src/model/rightsize';
import { at, holder, plan, relaxation, tierList } from '../data/answers';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

const flush = async (): Promise<void> => {
  await jest.advanceTimersByTimeAsync(0);
};

function planner(): {
  model: PlanModel;
  asked: unknown[];
  answer: (index: number, value: Plan | Error) => void;
  signals: AbortSignal[];
} {
  const asked: unknown[] = [];
  const signals: AbortSignal[] = [];
  const open: { resolve: (value: Plan) => void; reject: (error: Error) => void }[] = [];
  const model = new PlanModel({
    plan: (body, _detail, options) => {
      asked.push(body);
      signals.push(options!.signal!);
      return new Promise((resolve, reject) => open.push({ resolve, reject }));
    }
  });
  return {
    model,
    asked,
    signals,
    answer: (index, value) => (value instanceof Error ? open[index]!.reject(value) : open[index]!.resolve(value))
  };
}

test('typing asks once, after the last key', async () => {
  const { model, asked } = planner();
  model.request({ vram: '8GB' }, 120);
  model.request({ vram: '80GB' }, 120);
  await jest.advanceTimersByTimeAsync(119);
  expect(asked).toHaveLength(0);
  await jest.advanceTimersByTimeAsync(1);
  expect(asked).toEqual([{ requirement: { vram: '80GB' } }]);
});

test('a superseded question is cancelled and its late answer ignored', async () => {
  const { model, answer, signals } = planner();
  model.request({ vram: '8GB' });
  await flush();
  model.request({ vram: '80GB' });
  await flush();
  expect(signals[0]!.aborted).toBe(true);
  answer(1, plan({ verdict: 'busy' }));
  await flush();
  answer(0, plan({ verdict: 'fits' }));
  await flush();
  expect(model.state.value.plan?.verdict).toBe('busy');
});

test('the old verdict stays, dimmed after 150 ms, until the new one comes', async () => {
  const { model, answer } = planner();
  model.request({});
  await flush();
  answer(0, plan());
  await flush();
  model.request({ vram: '80GB' });
  await jest.advanceTimersByTimeAsync(149);
  expect(model.state.value.busy).toBe(false);
  await jest.advanceTimersByTimeAsync(1);
  expect(model.state.value).toMatchObject({ busy: true, slow: false });
  expect(model.state.value.plan).not.toBeNull();
  await jest.advanceTimersByTimeAsync(10_000);
  expect(model.state.value.slow).toBe(true);
  answer(1, plan({ verdict: 'busy' }));
  await flush();
  expect(model.state.value).toMatchObject({ busy: false, slow: false });
});

test('a background refresh is no new generation: only a changed verdict is spoken', async () => {
  const { model, answer } = planner();
  model.request({});
  await flush();
  answer(0, plan());
  await flush();
  const { generation } = model.state.value;
  void model.refresh();
  await flush();
  answer(1, plan());
  await flush();
  expect(model.state.value.generation).toBe(generation);
});

test('a refresh neither delays nor replaces what is being typed', async () => {
  const { model, answer, asked } = planner();
  model.request({});
  await flush();
  answer(0, plan());
  await flush();
  model.request({ vram: '80GB' }, TYPING_MS);
  await model.refresh();
  await jest.advanceTimersByTimeAsync(TYPING_MS);
  expect(asked).toEqual([{ requirement: {} }, { requirement: { vram: '80GB' } }]);
});

test('a change told while a question is on its way asks it once more afterwards', async () => {
  const { model, answer, asked } = planner();
  model.request({ vram: '80GB' });
  await flush();
  void model.refresh();
  void model.refresh();
  answer(0, plan());
  await flush();
  answer(1, plan({ verdict: 'busy' }));
  await flush();
  expect(asked).toEqual([{ requirement: { vram: '80GB' } }, { requirement: { vram: '80GB' } }]);
  expect(model.state.value.plan?.verdict).toBe('busy');
});

test('what the server refuses is kept as a problem, what did not reach it leaves the old plan', async () => {
  const { model, answer } = planner();
  model.request({});
  await flush();
  answer(0, new Problem(422, { detail: 'vram or host_memory?' }));
  await flush();
  expect(model.state.value.problem?.message).toBe('vram or host_memory?');
  model.request({ vram: '1GB' });
  await flush();
  answer(1, plan());
  await flush();
  void model.refresh();
  await flush();
  answer(2, new Error('network'));
  await flush();
  expect(model.state.value.plan).not.toBeNull();
  expect(model.state.value.problem).toBeNull();
});

test.each([
  [plan(), 'fits', 'launch', true],
  [plan({ verdict: 'busy', launch: { can: 'wait', code: null, params: {} } }), 'taken', 'wait', true],
  [plan({ verdict: 'impossible', launch: { can: 'no', code: null, params: {} } }), 'never', 'launch', false],
  [plan({ verdict: 'invalid', launch: { can: 'no', code: null, params: {} } }), 'fix', 'launch', false],
  [plan({ verdict: 'unknown' }), 'unknown', 'launch-and-see', true],
  [
    plan({
      verdict: 'unknown',
      certainty: { sure: false, reasons: [{ code: 'scales-from-zero', params: {}, message: '' }] }
    }),
    'bolt',
    'launch',
    true
  ],
  [plan({ launch: { can: 'no', code: 'limit', params: {} } }), 'limit', 'launch', false],
  [plan({ launch: { can: 'no', code: 'quota', params: {} } }), 'limit', 'launch', false],
  [plan({ launch: { can: 'no', code: 'limit', params: { longest_seconds: 60 } } }), 'policy', 'launch', false],
  [plan({ verdict: 'busy', launch: { can: 'no', code: 'policy', params: {} } }), 'policy', 'launch', false]
] as const)('verdict and permission decide the button (%#)', (given, face, button, enabled) => {
  expect(answerOf(given)).toEqual({ face, button, enabled });
});

test('why-not has at most five lines by number, and they add up', () => {
  const reasons = [5, 1, 40, 3, 2, 9, 0].map((devices, index) => ({
    code: `r${index}`,
    devices,
    params: {},
    message: ''
  }));
  const { shown, rest } = topReasons(plan({ reasons }));
  expect(shown.map(reason => reason.devices)).toEqual([40, 9, 5, 3]);
  expect(rest).toBe(3);
  expect(shown.reduce((sum, reason) => sum + reason.devices, rest)).toBe(60);
  expect(topReasons(plan({ reasons: reasons.slice(0, 5) }))).toMatchObject({ rest: 0, shown: { length: 5 } });
});

test('changes stand in the order of the design, accepting marked devices last', () => {
  const codes = ['tolerate', 'other-tier', 'less-memory', 'join-session', 'drop-near'];
  const changes = codes.map(code => relaxation(code, {}));
  expect(sortChanges(changes).map(item => item.code)).toEqual([
    'join-session',
    'drop-near',
    'less-memory',
    'other-tier',
    'tolerate'
  ]);
});

test('holders: you, then whom you see by number, what is not visible last', () => {
  const holders = [
    holder('hidden', { devices: 9 }),
    holder('user', { user: 'mira', devices: 2 }),
    holder('namespace', { namespace: 'b', devices: 3 }),
    holder('you', { session: 's', devices: 1 })
  ];
  expect(sortHolders(holders).map(holder => holder.who)).toEqual(['you', 'namespace', 'user', 'hidden']);
});

test('the first known lease end is the earliest', () => {
  const holders = [holder('user', { lease_ends: at(90) }), holder('user', { lease_ends: at(30) }), holder('hidden')];
  expect(firstLeaseEnd(plan({ holders }))).toBe(at(30));
});

const onNode = (label: string): Plan['nodes'] => [
  {
    name: 'n',
    verdict: 'fits',
    likely: true,
    matching: 1,
    free: 1,
    why_not: null,
    devices: [{ claim: 0, request: 'gpu', driver: 'd', pool: 'p', device: 'gpu-0', label, share: null }]
  }
];

test('the likely device is the one the plan marks', () => {
  expect(likelyDevice(plan({ nodes: onNode('H100 80 GB') }))).toEqual({
    label: 'H100 80 GB',
    device: 'gpu-0',
    node: 'n'
  });
  expect(likelyDevice(plan())).toBeNull();
});

test('the right-size hint needs twice the memory and a smaller free device', () => {
  const large = plan({ requirement: { vram: '24GB' }, nodes: onNode('H100 80 GB') });
  expect(rightSizeHint(large, tierList())).toEqual({ device: 'H100 80 GB', size: '80 GB', maxVram: '79GB' });
  expect(rightSizeHint(plan({ requirement: { vram: '48GB' }, nodes: onNode('H100 80 GB') }), tierList())).toBeNull();
  expect(
    rightSizeHint(plan({ requirement: { vram: '24GB', max_vram: '80GB' }, nodes: onNode('H100 80 GB') }), tierList())
  ).toBeNull();
});

test('the likely device is asked from the class of its alternative, else of its request', () => {
  const node = (request: string): Plan['nodes'][number] => ({
    name: 'n1',
    verdict: 'fits',
    likely: true,
    matching: 1,
    free: 1,
    why_not: null,
    devices: [{ claim: 0, request, driver: 'd', pool: 'n1', device: 'gpu-0', label: 'H100 80 GB', share: null }]
  });
  const several = {
    devices: {
      requests: [
        {
          name: 'gpu',
          firstAvailable: [
            { name: '1', deviceClassName: 'small' },
            { name: '2', deviceClassName: 'large' }
          ]
        }
      ]
    }
  };
  const one = { devices: { requests: [{ name: 'gpu', exactly: { deviceClassName: 'large' } }] } };
  expect(likelyClass(plan({ claim: { spec: several }, nodes: [node('gpu/2')] }))).toBe('large');
  expect(likelyClass(plan({ claim: { spec: one }, nodes: [node('gpu')] }))).toBe('large');
  expect(likelyClass(plan({ claim: { spec: one }, nodes: [] }))).toBeNull();
  expect(likelyClass(plan())).toBeNull();
});
