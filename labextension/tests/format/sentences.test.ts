/** The exact sentences of the specification, from codes and numbers. */

import { endWords } from '../../src/format/ends';
import { changeWords, gainWords, holderWords, reasonLine } from '../../src/format/reasons';
import { fieldWords, requirementLine } from '../../src/format/requirement';
import { costWords, givingBackWords, missingWords, placeLabel } from '../../src/format/sessions';
import { readyWords, stepDetail, stepTime, stepTitle, stepViews } from '../../src/format/steps';
import { sentenceText } from '../../src/format/text';
import { fitsWords, fixWords, limitWords, policyWords, takenWords, unknownWords } from '../../src/format/verdicts';
import { at, NOW, plan, session } from '../data/answers';
import { ENGLISH } from '../data/speech';

const say = (value: { head: string; body: Parameters<typeof sentenceText>[0] }): string =>
  `${value.head} · ${sentenceText(value.body)}`;
const reason = (code: string, devices: number, params: Record<string, unknown>): string => {
  const { main, sub } = reasonLine(ENGLISH, { code, devices, params, message: 'server text' });
  return sub ? `${main} · ${sub}` : main;
};
const change = (code: string, changed: Record<string, unknown>, params = {}, asked = {}): string =>
  changeWords(
    ENGLISH,
    { code, change: changed, verdict: 'fits', free: 1, message: 'server text', params },
    asked,
    name => name
  );

test('1 fits', () => {
  const likely = { label: 'A100 40 GB', device: 'gpu-1', node: 'a100-mig-0' };
  expect(say(fitsWords(ENGLISH, plan(), likely))).toBe(
    'Fits now · 6 devices on 3 nodes. Likely an A100 40 GB on a100-mig-0.'
  );
  const one = plan({ counts: { ...plan().counts, free: 1, matching_nodes: 1 } });
  expect(say(fitsWords(ENGLISH, one, null))).toBe('Fits now · 1 device on 1 node.');
});

test('2 taken, with the first lease that is known', () => {
  expect(say(takenWords(ENGLISH, plan(), at(38.5), NOW))).toBe(
    'All taken for now · 8 devices would fit, none is free. The first known lease ends at 12:41, in 38 min, unless extended.'
  );
  expect(say(takenWords(ENGLISH, plan(), null, NOW))).toBe('All taken for now · 8 devices would fit, none is free.');
});

test('4 to 6 cannot be sure', () => {
  const hidden = plan({ counts: { ...plan().counts, matching: 8, free: null, free_at_most: 5 } });
  expect(say(unknownWords(ENGLISH, hidden, ['claims-not-visible']))).toBe(
    'Cannot be sure · 8 devices match, 3 are held that you can see: at most 5 free. You may not see other namespaces. Launching tells.'
  );
  expect(say(unknownWords(ENGLISH, plan(), ['search-budget']))).toBe(
    'Cannot be sure · Too many combinations to try in time. Launching tells.'
  );
  const plugin = plan({
    certainty: { sure: false, reasons: [{ code: 'device-plugin', params: { node: 'n1', devices: 2 } }] }
  });
  expect(say(unknownWords(ENGLISH, plugin, ['device-plugin']))).toBe(
    'Cannot be sure · n1 also gives its cards out another way; 2 may be in use.'
  );
});

test('7 needs a correction', () => {
  const findings = [{ code: 'cel', severity: 'error', message: 'x' }];
  expect(say(fixWords(ENGLISH, plan({ findings })))).toBe('Needs a correction · 1 of your conditions cannot work.');
});

test('9 and 10 limit, quota, policy', () => {
  const own = plan({
    launch: { can: 'no', code: 'limit', params: { limit: 2, held: 2, names: ['bert-train', 'slice-demo'] } }
  });
  expect(say(limitWords(ENGLISH, own))).toBe(
    'Your limit is reached · You may hold 2 devices and hold 2: bert-train, slice-demo. Stop one, or ask your admin for more.'
  );
  const quota = plan({ launch: { can: 'no', code: 'quota', params: { namespace: 'team-a', used: 8, hard: 8 } } });
  expect(say(limitWords(ENGLISH, quota))).toBe('Your team’s limit is reached · team-a uses 8 of 8.');
  const policy = plan({
    launch: {
      can: 'no',
      code: 'policy',
      params: { groups: ['vision'], tier: 'high-memory-gpu', nearest: 'Medium GPU' }
    }
  });
  expect(say(policyWords(ENGLISH, policy))).toBe(
    'Not allowed for you · Only group vision may use high-memory-gpu. Nearest allowed: Medium GPU.'
  );
});

test('11 to 22 why-not lines', () => {
  expect(reason('kind', 6144, { kinds: ['nic', 'tpu', 'cpu'] })).toBe(
    'another kind of device · network cards, TPUs, CPUs'
  );
  expect(reason('memory', 1, { asked_bytes: 141e9, nearest: { label: 'H100 80 GB' } })).toBe(
    'less than 141 GB · nearest: H100, 80 GB'
  );
  expect(reason('memory', 1, { direction: 'unknown', asked: '8 GB' })).toBe('memory size not known');
  expect(
    reason('memory', 2, {
      near_miss: true,
      direction: 'less',
      asked: '80 GiB',
      nearest: { label: 'H100 80 GB', bytes: 85520809984 }
    })
  ).toBe('just short: 79.65 GiB, you ask for 80 GiB. Write 80 GB to mean what is on the card.');
  expect(
    reason('condition', 1, { field: 'compute_capability', asked: '>=9.0', nearest: { label: 'MI300X 192 GB' } })
  ).toBe('not Hopper or newer · nearest: MI300X, 192 GB');
  expect(reason('condition-error', 1, { device: ['d', 'node-b', 'gpu-0'], error: 'no such key: type. consider' })).toBe(
    'Your condition stops with an error on gpu-0 of node-b: it has no type. The cluster would refuse the whole request.'
  );
  expect(reason('partner', 1, { partner: 'RDMA card', align: 'pcieRoot', label: 'H200', nodes: 232 })).toBe(
    'no RDMA card on the same PCIe root · H200 on 232 nodes'
  );
  expect(reason('out-of-service', 1, { by: 'driver', reason: 'too many memory errors' })).toBe(
    'out of service · marked by driver: too many memory errors'
  );
  expect(reason('taken', 12, { yours: 3, hidden: 7, users: { mira: 2 }, namespaces: {} })).toBe(
    'taken · 3 by you, 2 by mira, 7 not visible to you'
  );
});

test('why-not lines with the planner’s own figures', () => {
  expect(reason('memory', 14, { direction: 'more', asked: '30 GB', nearest: { label: 'A100 40 GB' } })).toBe(
    'more than 30 GB · nearest: A100, 40 GB'
  );
  expect(reason('condition', 4, { field: 'product', asked: ['H100', 'H200'], nearest: null })).toBe('not H100 or H200');
  expect(reason('one-node', 8, { needed: 9, most_free_on_one_node: 8, most_on_one_node: 8 })).toBe(
    'match, but no node has more than 8. A notebook runs on one node.'
  );
  expect(reason('one-node', 4, { needed: 2, most_free_on_one_node: 1, most_on_one_node: 4 })).toBe(
    'are free, but no node has more than 1. A notebook runs on one node.'
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

test('23 relaxations', () => {
  expect(change('join-session', { session: 's' }, { name: 'bert-train' })).toBe('Join your session bert-train');
  expect(change('drop-near', {}, { partner: 'network card' })).toBe('Without the network card');
  expect(change('less-memory', { vram: '80GB' })).toBe('Take 80 GB');
  expect(change('more-kinds', { product: ['H100', 'MI300X'] }, {}, { product: 'H100' })).toBe('Also accept MI300X');
  expect(change('fewer-devices', { count: 2 }, {}, { count: 4 })).toBe('2 instead of 4 devices');
  expect(change('part', {})).toBe('A part of a card is enough');
  expect(change('other-tier', { tier: 'Medium GPU' })).toBe('Use Medium GPU');
  expect(change('tolerate', {}, { reason: 'maintenance' })).toBe('Accept devices marked maintenance');
  const free = { code: 'x', change: {}, verdict: 'fits' as const, free: 240, message: '' };
  expect(gainWords(ENGLISH, free)).toBe('240 free');
  expect(gainWords(ENGLISH, { ...free, code: 'join-session' })).toBe('start now');
});

test('27 holders', () => {
  const line = (holder: Parameters<typeof holderWords>[1]): string => {
    const { main, sub } = holderWords(ENGLISH, holder, NOW);
    return `${main} | ${sub ?? ''}`;
  };
  expect(line({ who: 'you', session: 'bert-train-9d3fk', device_names: ['gpu-3'], idle_seconds: 2400 })).toBe(
    'You · bert-train | gpu-3 · idle for 40 min'
  );
  expect(line({ who: 'user', user: 'mira', devices: 2, lease_ends: at(147) })).toBe(
    'mira · 2 devices | lease ends 14:30'
  );
  expect(line({ who: 'hidden', devices: 4 })).toBe('4 devices | you may not see the holder');
  expect(line({ who: 'namespace', namespace: 'team-c', devices: 1, note: 'no-pod', since: at(-6 * 1440) })).toBe(
    'namespace team-c · 1 device | held, not used (no pod) since 6 d'
  );
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

test('30 ready', () => {
  const steps = [{ code: 'checked', state: 'done', started_at: null, seconds: 3.4, params: {} }];
  expect(sentenceText(readyWords(ENGLISH, session('a', { steps })))).toBe('Ready after 3.4 s, as predicted: gpu-3.');
});

test('32 giving back', () => {
  expect(givingBackWords(ENGLISH, at(-14 / 60), NOW, 'n')).toBe('0:14, waits for the old pod to end');
  expect(givingBackWords(ENGLISH, at(-2.5), NOW, 'n1')).toBe(
    'still held after 2 min: the driver on n1 does not answer. Your admin can help; you can go on elsewhere.'
  );
});

test('42 to 48 ends say why, and whose fault it was not', () => {
  const ended = (code: string, params = {}): ReturnType<typeof endWords> =>
    endWords(
      ENGLISH,
      session('bert', {
        state: 'ended',
        ended: { at: at(-1), code, exit_code: 1, by: 'ops', message: 'maintenance', params, device_returned_at: at(-1) }
      })
    );
  const memory = ended('out-of-memory', {
    limit: '16 GiB',
    device_used_bytes: 31 * 2 ** 30,
    device_total_bytes: 79.6 * 2 ** 30
  });
  expect(memory.head).toBe('The kernel was ended: out of host memory');
  expect(memory.body).toBe(
    'It used more than its 16 GiB of the node’s memory. The device’s own memory was not the problem (31.0 of 79.6 GiB). ' +
      'Variables are gone; the notebook is kept. The device was given back at 12:02.'
  );
  expect(memory.fault).toBe(true);
  expect(ended('idle').head).toBe('The session ended: not used for 30 min');
  expect(ended('idle').fault).toBe(false);
  expect(ended('stopped').fault).toBe(false);
  expect(ended('stopped-by-admin').body).toContain('ops stopped it: maintenance.');
  expect(ended('device-unhealthy', { reason: 'gpu-lost' }).body).toContain(
    'The driver marked gpu-3 on dgx-h100-0 as broken (gpu-lost) and the cluster ended the kernel. Nothing in your code caused this.'
  );
  expect(ended('crashed').body).toContain('The kernel stopped by itself (exit code 1).');
  expect(ended('evicted', { resource: 'disk' }).body).toContain(
    'The node dgx-h100-0 ran low on disk and ended the kernel.'
  );
});

test('31 a launch that came to nothing says that everything was given back', () => {
  const failed = session('a', {
    state: 'ended',
    ready_at: null,
    ended: {
      at: at(0),
      code: 'image',
      exit_code: null,
      by: null,
      message: null,
      params: { image: 'x' },
      device_returned_at: null
    }
  });
  const { head, body } = endWords(ENGLISH, failed);
  expect(`${head} ${body}`).toBe('There is no image x. Check its name. Everything was given back.');
});

test('52 what is missing is said, never shown as 0', () => {
  expect(missingWords(ENGLISH, 'not-on-a-part')).toBe('not available on a part');
  expect(missingWords(ENGLISH, null)).toBe('not stated by the driver');
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

test('money is shown only where the admin set a price', () => {
  expect(costWords(ENGLISH, session('a'), NOW)).toBeNull();
  const priced = session('a', { price: { amount: '6.00', currency: 'EUR', per: 'hour' }, ready_at: at(-30) });
  expect(costWords(ENGLISH, priced, NOW)).toBe('€3.00 so far.');
});
