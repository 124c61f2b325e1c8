/** Lines beside the numbered messages: figures of the planner, clocks, places, requests, money. */

import type { Neighbours } from '../../src/api/types';
import { isFault } from '../../src/format/ends';
import { moveWords, staysWords } from '../../src/format/moves';
import { reasonLine } from '../../src/format/reasons';
import { fieldWords, requirementLine } from '../../src/format/requirement';
import { costWords, neighbourWords, placeLabel, queueWords, spentWords } from '../../src/format/sessions';
import { stepDetail, stepTime, stepTitle, stepViews } from '../../src/format/steps';
import { sentenceText } from '../../src/format/text';
import { at, kernel, NOW, session } from '../data/answers';
import { ENGLISH } from '../data/speech';

const reason = (code: string, devices: number, params: Record<string, unknown>): string => {
  const { main, sub } = reasonLine(ENGLISH, { code, devices, params, message: 'server text' });
  return sub ? `${main} · ${sub}` : main;
};
test('a queue that does not tell the place is named all the same, with its own reason', () => {
  const queue = { name: 'team-a', position: null, message: 'insufficient quota, 1 more needed', as_of: null };
  expect(queueWords(ENGLISH, queue, NOW)).toBe(
    'team-a decides when it starts; your place is not known. It says: insufficient quota, 1 more needed'
  );
});

test('why-not lines with the planner’s own figures', () => {
  expect(reason('memory', 14, { direction: 'more', asked: '30 GB', nearest: { label: 'A100 40 GB' } })).toBe(
    'more than 30 GB · nearest: A100, 40 GB'
  );
  expect(reason('condition', 4, { field: 'product', asked: ['H100', 'H200'], nearest: null })).toBe('not H100 or H200');
  expect(reason('one-node', 8, { needed: 9, most_free_on_one_node: 8, most_on_one_node: 8 })).toBe(
    'devices match, but no node has more than 8. A notebook runs on one node.'
  );
  expect(reason('one-node', 4, { needed: 2, most_free_on_one_node: 1, most_on_one_node: 4 })).toBe(
    'devices are free, but no node has more than 1. A notebook runs on one node.'
  );
  expect(reason('node', 4, { why: 'not-ready' })).toBe('on nodes that are not ready');
  expect(
    reason('part', 5, { label: '2g.10gb', counters: [{ counter: 'memory-slices', left: 3, total: 8, needed: 4 }] })
  ).toBe('no room left on their card for a 2g.10gb part · memory-slices: 3 of 8 left, 4 needed');
  expect(reason('partner', 6, { attribute: 'resource.kubernetes.io/pcieRoot', needed: 4, largest: 2 })).toBe(
    'too few on the same PCIe root: 4 are needed, the largest group has 2'
  );
  expect(
    reasonLine(ENGLISH, { code: 'share', devices: 3, params: {}, message: '3 have no room for 4Gi memory' }).main
  ).toBe('have no room for 4Gi memory');
});

test('a code of a newer server is shown in the server’s own words', () => {
  expect(reason('invented-later', 3, {})).toBe('server text');
});

test('28 steps, with those to come', () => {
  const starting = session('analysis', {
    state: 'starting',
    steps: [
      { code: 'checked', state: 'done', started_at: at(-1), seconds: 0.02, params: {} },
      { code: 'claim-created', state: 'done', started_at: at(-1), seconds: 0.21, params: { claim: 'analysis-7k2xq' } },
      { code: 'allocated', state: 'done', started_at: at(-1), seconds: 0.7, params: {} },
      { code: 'scheduled', state: 'done', started_at: at(-1), seconds: 0.1, params: { node: 'dgx-h100-0' } },
      {
        code: 'image-pulled',
        state: 'doing',
        started_at: at(-0.8),
        seconds: null,
        params: { image: 'cuda:1', last_seconds: 65 }
      }
    ]
  });
  const views = stepViews(starting);
  const lines = views.map(view => {
    const detail = stepDetail(ENGLISH, view, starting);
    return [
      view.state,
      stepTitle(ENGLISH, view, starting),
      detail ? sentenceText(detail) : null,
      stepTime(ENGLISH, view, NOW)
    ];
  });
  expect(lines).toEqual([
    ['done', 'Request checked', null, '< 0.1 s'],
    ['done', 'Claim created', 'analysis-7k2xq', '0.2 s'],
    ['done', 'Device reserved', 'H100 80 GB · gpu-3 on dgx-h100-0', '0.7 s'],
    ['done', 'Placed on dgx-h100-0', null, '0.1 s'],
    ['now', 'Getting the image', 'cuda:1, last time 1:05', '0:48'],
    ['todo', 'Starting the kernel', null, null],
    ['todo', 'Connecting', null, null]
  ]);
});

test('a place label is one string', () => {
  const place = { kind: 'device' as const, node: 'n', device: 'gpu-0', label: 'H100 80 GB', simulated: false };
  expect(placeLabel(ENGLISH, place, null, NOW)).toBe('n · gpu-0 · H100 80 GB');
  expect(placeLabel(ENGLISH, { ...place, simulated: true }, null, NOW)).toBe('simulated · n · gpu-0 · H100 80 GB');
  expect(placeLabel(ENGLISH, { kind: 'here' }, null, NOW)).toBe('here');
  expect(placeLabel(ENGLISH, { kind: 'devices', count: 2, node: 'n', simulated: false }, null, NOW)).toBe(
    '2 devices · n'
  );
  expect(placeLabel(ENGLISH, place, NOW, NOW)).toBe('as of 12:03');
});

test('a request reads as chips and as one line', () => {
  const tierName = (): string => 'High-memory GPU';
  expect(fieldWords(ENGLISH, { compute_capability: '>=9.0' }, 'compute_capability', tierName)).toBe('Hopper or newer');
  expect(fieldWords(ENGLISH, { near: [{}], align: 'numaNode' }, 'near', tierName)).toBe('network card, same NUMA node');
  expect(requirementLine(ENGLISH, { tier: 'x', compute_capability: '>=9.0' }, tierName)).toBe(
    'High-memory GPU, Hopper or newer'
  );
  expect(requirementLine(ENGLISH, {}, tierName)).toBe('any GPU');
});

test('an end is somebody’s fault only where something went wrong', () => {
  const fault = (code: string, exitCode = 1): boolean => isFault({ code, exit_code: exitCode });
  expect(['out-of-memory', 'crashed', 'node-lost', 'device-unhealthy', 'exited'].map(code => fault(code))).toEqual(
    Array(5).fill(true)
  );
  expect(['idle', 'lease-over', 'stopped', 'stopped-by-admin'].map(code => fault(code))).toEqual(Array(4).fill(false));
  expect(fault('exited', 0)).toBe(false);
});

test('money is shown only where the admin set a price', () => {
  expect(costWords(ENGLISH, session('a'), NOW)).toBeNull();
  const priced = session('a', {
    price: { amount: '6.00', currency: 'EUR', per: 'hour', so_far: null, since: at(-30), counted_with: null },
    ready_at: at(-20)
  });
  expect(costWords(ENGLISH, priced, NOW)).toBe('€3.00 so far.');
});

test('what a claim of two sessions costs is told by one of them', () => {
  const price = { amount: '6.00', currency: 'EUR', per: 'hour' as const, so_far: '0.00', since: null };
  const joined = session('b', { price: { ...price, counted_with: 'a-9d3fk' }, ready_at: at(-30) });
  expect(spentWords(ENGLISH, joined, NOW)).toBeNull();
  expect(costWords(ENGLISH, joined, NOW)).toBe('Its cost is counted with a-9d3fk.');
});

test('a kernel that is there, moved or not, waits for nothing', () => {
  const after = (...events: string[]): string | null => {
    const history = events.map(event => ({ at: 0, kernel: 'k', event }));
    return moveWords(ENGLISH, session('a', { kernels: [kernel('k', 'a.ipynb')], history }), NOW);
  };
  expect(after()).toBeNull();
  expect(after('moving', 'moved')).toBeNull();
  expect(after('moving', 'not-moved', 'restarted')).toBeNull();
  expect(after('pod-lost', 'replaced')).toBeNull();
});

test('a kernel that stays in its pod says why: the image by name, all else in the cluster’s words', () => {
  const words = (code: string, change: object): string =>
    staysWords(ENGLISH, session('a'), { at: 0, event: 'not-moved', code, detail: 'Insufficient cpu' }, change);
  expect(words('image', { image: 'nothing:1' })).toBe(
    'The kernel of a stays in its pod: There is no image nothing:1. Check its name.'
  );
  expect(words('launch-timeout', { cpu: '200' })).toBe('The kernel of a stays in its pod: Insufficient cpu');
});

test('who else is on a card is told in numbers, and only where it is known', () => {
  const [device] = session('a').devices;
  const words = (neighbours: Neighbours | null): string | null => neighbourWords(ENGLISH, { ...device!, neighbours });
  expect(words({ parts: 1 })).toBe('1 other part in use');
  expect(words({ parts: 3 })).toBe('3 other parts in use');
  expect(words({ parts: 0 })).toBe('no other part in use');
  const shared = { shares: 4, given: { 'd/memory': '31Gi' }, total: { 'd/memory': '45Gi' } };
  expect(words(shared)).toBe('31.0 of 45.0 GiB given out to 4 sessions');
  expect(words({ ...shared, shares: 1 })).toBe('31.0 of 45.0 GiB given out to 1 session');
  expect(words({ shares: 4, given: {}, total: {} })).toBeNull();
  expect(words(null)).toBeNull();
});
