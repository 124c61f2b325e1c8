/** Every message of the table, made from the codes and numbers that the server sends. */

import type { Holder, Params, Session, Share, Step } from '../../src/api/types';
import { endWords } from '../../src/format/ends';
import { changeWords, gainWords } from '../../src/format/changes';
import { deviceTip } from '../../src/format/devices';
import { holderWords } from '../../src/format/holders';
import { moveWords } from '../../src/format/moves';
import { reasonLine } from '../../src/format/reasons';
import { givingBackWords, missingWords, queueWords, sharingWords } from '../../src/format/sessions';
import { leaseEnds, warningWords } from '../../src/format/endings';
import { mismatchWords } from '../../src/format/mismatch';
import { joinQuestion, replaceQuestion, stopQuestion, type Question } from '../../src/format/questions';
import { rightSizeWords } from '../../src/format/rightsize';
import { barWords, simulatedWord, withSimulated } from '../../src/format/simulated';
import { stateWords, type PanelState } from '../../src/format/states';
import { allTaken, waitHint, waitWords } from '../../src/format/waiting';
import { goneWords, nearestWords, wishWords } from '../../src/format/wishes';
import type { Warning } from '../../src/model/sessions';
import { gapWords } from '../../src/format/outputgap';
import { readyWords, stepDetail, stepTitle, stepViews } from '../../src/format/steps';
import type { Speech } from '../../src/format/speech';
import { sentenceText } from '../../src/format/text';
import { limitWords, policyWords } from '../../src/format/permission';
import {
  boltWords,
  fitsWords,
  fixWords,
  neverWords,
  takenWords,
  unknownWords,
  type VerdictWords
} from '../../src/format/verdicts';
import { at, device, endedAs, finding, holder, kernel, lease, NOW, plan, relaxation, session } from '../data/answers';
import { MESSAGES } from '../data/messages';
import { ENGLISH, pseudoSpeech } from '../data/speech';

type Said = Readonly<Record<string, readonly string[]>>;

const verdict = ({ head, body }: VerdictWords): string => `${head} · ${sentenceText(body)}`;

function verdicts(speech: Speech): Said {
  const likely = { label: 'A100 40 GB', device: 'gpu-1', node: 'a100-mig-0' };
  const counts = (change: object): ReturnType<typeof plan> => plan({ counts: { ...plan().counts, ...change } });
  const refused = (code: string, params: Params): ReturnType<typeof plan> =>
    plan({ launch: { can: 'no', code, params } });
  const plugin = { code: 'device-plugin', params: { node: 'node-b', devices: 2 }, message: '' };
  return {
    '1 fits': [
      verdict(fitsWords(speech, plan(), likely)),
      verdict(fitsWords(speech, counts({ free: 1, matching_nodes: 1 }), null))
    ],
    '2 busy': [
      verdict(takenWords(speech, plan(), at(38.5), NOW)),
      verdict(takenWords(speech, counts({ matching: 1 }), null, NOW))
    ],
    '3 impossible': [verdict(neverWords(speech))],
    '4 unknown, rights': [
      verdict(unknownWords(speech, counts({ matching: 8, free: null, free_at_most: 5 }), ['claims-not-visible']))
    ],
    '5 unknown, search limit': [verdict(unknownWords(speech, plan(), ['search-budget']))],
    '6 unknown, device plugin': [
      verdict(unknownWords(speech, plan({ certainty: { sure: false, reasons: [plugin] } }), ['device-plugin']))
    ],
    '7 invalid': [verdict(fixWords(speech, plan({ findings: [finding('cel', 'x')] })))],
    '8 scales from zero': [verdict(boltWords(speech))],
    '9 limit or quota': [
      verdict(limitWords(speech, refused('limit', { limit: 2, held: 2, names: ['bert-train', 'slice-demo'] }))),
      verdict(limitWords(speech, refused('quota', { namespace: 'team-a', used: 8, hard: 8 })))
    ],
    '10 policy': [
      verdict(
        policyWords(speech, refused('policy', { groups: ['vision'], tier: 'high-memory-gpu', nearest: 'Medium GPU' }))
      ),
      verdict(policyWords(speech, refused('policy', { what: 'image', name: 'other:1', allowed: ['ours:*', 'base'] }))),
      verdict(policyWords(speech, refused('policy', { what: 'where', path: 'where' }))),
      verdict(policyWords(speech, refused('limit', { limit: 'longest-lease', longest_seconds: 43200 })))
    ]
  };
}

function reasons(speech: Speech): Said {
  const line = (code: string, params: Params, devices = 4): string => {
    const { main, sub } = reasonLine(speech, { code, devices, params, message: '' });
    return sub ? `${main} · ${sub}` : main;
  };
  const memory = { asked_bytes: 141e9, nearest: { label: 'H100 80 GB' } };
  const miss = { near_miss: true, asked: '80 GiB', nearest: { label: 'H100 80 GB', bytes: 85520809984 } };
  const hopper = { field: 'compute_capability', asked: '>=9.0', nearest: { label: 'MI300X 192 GB' } };
  const counter = { counter: 'memory-slices', left: 3, total: 8, needed: 4 };
  const room = { device: 'gpu-0', left: { 'd/memory': '0' }, total: { 'd/memory': '16Gi' } };
  const marked = [
    ['driver', 'gpu.nvidia.com/xid', '63'],
    ['driver', 'gpu.nvidia.com/xid', '79'],
    ['driver', 'gpu.nvidia.com/xid', '9999'],
    ['driver', 'gpu.nvidia.com/gpu-lost', ''],
    ['admin', 'example.org/maintenance', 'friday']
  ];
  const scattered = { needed: 2, most_on_one_node: 4, most_free_on_one_node: 1 };
  return {
    '11 kind': [line('kind', { kinds: ['nic', 'tpu', 'cpu'] })],
    '12 memory': [line('memory', memory), line('memory', { direction: 'unknown' })],
    '13 near miss': [line('memory', miss)],
    '14 condition': [
      line('condition', hopper),
      line('condition', { field: 'driver_version', not_stated: true }),
      line('condition', { field: 'driver_version', not_stated: true }, 1)
    ],
    '15 condition failed': [line('condition-error', { device: ['d', 'node-b', 'gpu-0'], attribute: 'type' })],
    '16 partner': [line('partner', { partner: 'RDMA card', align: 'pcieRoot', label: 'H200', nodes: 232 })],
    '17 one node': [line('one-node', scattered), line('one-node', scattered, 1)],
    '18 out of service': [
      line('out-of-service', { by: 'driver', reason: 'too many memory errors' }),
      ...marked.map(([by, key, value]) => line('out-of-service', { by, taints: [{ key, value }] })),
      line('out-of-service', {})
    ],
    '19 taken': [line('taken', { yours: 3, hidden: 7, users: { mira: 2 } })],
    '20 parts': [
      line('part', { label: '2g.10gb', cards: 5, slots: { left: 3, total: 8, needed: 4 }, counters: [counter] }),
      line('part', { label: '2g.10gb', cards: 1, counters: [counter] })
    ],
    '21 share': [
      line(
        'share',
        { asked: { 'd/memory': '3Gi' }, given: { 'd/memory': '4Gi' }, ...room, step: { 'd/memory': '2Gi' } },
        1
      ),
      line('share', { asked: { 'd/memory': '4Gi' }, given: { 'd/memory': '4Gi' }, ...room }, 3),
      line('share', { asked: {}, given: { 'd/memory': '16Gi' } })
    ],
    '22 inventory': [
      line('inventory', { state: 'incomplete', lists: 2 }),
      line('inventory', { state: 'incomplete', lists: 1 }),
      line('inventory', { state: 'invalid', lists: 2 })
    ]
  };
}

function changes(speech: Speech): Said {
  const line = (code: string, change: Params, params: Params = {}, asked = {}): string => {
    const found = relaxation(code, change, params);
    return `${changeWords(speech, found, asked, name => name)}: ${gainWords(speech, found)}`;
  };
  return {
    '23 relaxations': [
      line('join-session', { session: 'bert-train-9d3fk' }),
      line('drop-near', {}, { partner: 'network card' }),
      line('less-memory', { vram: '80GB' }),
      line('more-kinds', { product: ['H100', 'MI300X'] }, {}, { product: 'H100' }),
      line('fewer-devices', { count: 2 }, {}, { count: 4 }),
      line('part', {}),
      line('other-tier', { tier: 'Medium GPU' }),
      line('tolerate', {}, { reason: 'maintenance' })
    ]
  };
}

function holders(speech: Speech): Said {
  const line = (who: Holder['who'], change: Partial<Holder>): string => {
    const { main, sub } = holderWords(speech, holder(who, change), NOW);
    return `${main} | ${sub ?? ''}`;
  };
  return {
    '26 order': [3, 11].map(position =>
      queueWords(speech, { name: 'team-a', position, message: null, as_of: at(1) }, NOW)
    ),
    '27 holder': [
      line('you', { session: 'bert-train-9d3fk', device_names: ['gpu-3'], idle_seconds: 2400 }),
      line('user', { user: 'mira', devices: 2, lease_ends: at(147) }),
      line('namespace', { namespace: 'team-b', devices: 1 }),
      line('hidden', { devices: 4 }),
      line('namespace', { namespace: 'team-c', devices: 1, note: 'no-pod', since: at(-6 * 1440) })
    ]
  };
}

function launches(speech: Speech): Said {
  const step = (code: string, state: Step['state'], params: Params = {}): Step => ({
    code,
    state,
    started_at: at(-1),
    seconds: state === 'done' ? 0.85 : null,
    params
  });
  const starting = session('analysis', {
    state: 'starting',
    steps: [
      step('checked', 'done'),
      step('claim-created', 'done', { claim: 'analysis-7k2xq' }),
      step('allocated', 'done', { predicted: 'gpu-4' }),
      step('scheduled', 'done', { node: 'dgx-h100-0' }),
      step('image-pulled', 'doing', { image: 'cuda:1', last_seconds: 65 }),
      step('kernel-starting', 'todo', { kernel: 'Python 3' })
    ]
  });
  const seconds = Math.floor(NOW / 1000) - 14;
  const moved = (...events: object[]): string => {
    const history = events.map(entry => ({ at: seconds, kernel: 'k', event: '', ...entry }));
    return moveWords(speech, session('a', { kernels: [kernel('k', 'a.ipynb')], history }), NOW) ?? '';
  };
  const surprised = { ...starting, devices: [{ ...starting.devices[0]!, predicted: false }] };
  const lines = stepViews(starting).map(view => {
    const detail = stepDetail(speech, view, starting);
    const title = stepTitle(speech, view, starting);
    return detail ? `${title} · ${sentenceText(detail)}` : title;
  });
  return {
    '28 steps': lines,
    '29 restart waits': [
      moved({ event: 'restarted' }, { event: 'moving' }),
      moved({ event: 'moving', at: seconds - 60, placed_at: seconds }),
      moved({ event: 'pod-lost' })
    ],
    '30 ready': [starting, surprised].map(item => sentenceText(readyWords(speech, item))),
    '32 giving back': [
      givingBackWords(speech, at(-14 / 60), NOW, 'node-b'),
      givingBackWords(speech, at(-2.5), NOW, 'node-b')
    ]
  };
}

function sharing(speech: Speech): Said {
  const words = (share: Share | null): string =>
    sharingWords(speech, session('a', { kernels: [kernel('k', 'a.ipynb')], requirement: share ? { share } : {} }));
  const amount = (consumed: Record<string, string>): string => {
    const one = session('a');
    return sharingWords(speech, { ...one, devices: [{ ...one.devices[0]!, share: { id: 'x', consumed } }] });
  };
  return {
    '33 whole': [words(null)],
    '34 MIG': [words({ profile: '2g.10gb' })],
    '35 time slices': [words({ strategy: 'time-slicing' })],
    '36 MPS': [words({ strategy: 'mps', memory_limit: '20Gi' }), words({ strategy: 'mps' })],
    '37 capacity': [amount({ memory: '8Gi' })],
    '52 not available': ['not-on-a-part', null, 'no-right'].map(why => missingWords(speech, why))
  };
}

const RETURNED = ' Variables are gone; the notebook is kept. The device was given back at 12:03.';

function ends(speech: Speech): Said {
  const words = (code: string, params: Params = {}, change: Partial<Session> = {}): ReturnType<typeof endWords> => {
    const facts = { exit_code: 1, by: 'ops', message: 'maintenance', params, device_returned_at: at(0) };
    const record = { state: 'ended' as const, ended: endedAs(code, facts) };
    return endWords(speech, session('bert', { ...record, ...change }));
  };
  const why = (code: string, params: Params = {}): string => words(code, params).body.replace(RETURNED, '');
  const early = (code: string, params: Params): string => {
    const { head, body } = words(code, params, { ready_at: null });
    return `${head} ${body}`;
  };
  const figures = { host_memory: '16Gi', device_used_bytes: 31 * 2 ** 30, device_total_bytes: 79.6 * 2 ** 30 };
  const memory = words('out-of-memory', figures);
  const quota = { asked: '16 GiB', allowed: '8 GiB', namespace: 'team-a' };
  const over = session('bert', { state: 'ended' });
  return {
    '31 ended early': [
      early('image', { image: 'x' }),
      early('limit-range', quota),
      early('class-missing', { tier: 'x', classes: ['a', 'b'] }),
      early('prepare-failed', { device: 'gpu-4', text: 'no more memory' })
    ],
    '42 host memory': [`${memory.head} · ${memory.body.replace(RETURNED, '')}`],
    '43 idle, lease, by you, by admin': [
      words('idle').head,
      words('lease-over').head,
      why('stopped'),
      why('stopped-by-admin', { detail: 'maintenance' })
    ],
    '44 evicted': [why('evicted', { resource: 'disk' }), why('node-drained'), why('preempted')],
    '45 device': [why('device-unhealthy', { reason: 'gpu-lost' })],
    '46 node lost, pod deleted, claim deleted': [why('node-lost'), why('pod-deleted'), why('claim-deleted')],
    '47 crash': [why('crashed'), why('crashed', { signal: 'SIGSEGV' })],
    '48 all ends add': [
      endWords(speech, { ...over, ended: endedAs('odd', { device_returned_at: at(0) }) }, true).body,
      endWords(speech, { ...over, ended: endedAs('odd') }).body
    ]
  };
}

function waits(speech: Speech): Said {
  const taken = { code: 'taken' as const, devices: 8, params: {}, message: '' };
  const wait = {
    since: at(-12 - 4 / 60),
    until: at(107 + 56 / 60),
    reasons: [taken],
    next_change: { code: 'lease-ends', at: at(147) },
    queue: null
  };
  const waiting = session('analysis', { state: 'waiting', wait });
  const plainly = session('analysis', {
    state: 'waiting',
    wait: { ...wait, until: null, reasons: [], next_change: null }
  });
  const line = (item: Session): string =>
    [sentenceText(waitWords(speech, item, NOW)), allTaken(speech, item), waitHint(speech, item, NOW)]
      .filter(Boolean)
      .join(' · ');
  return { '25 waiting': [line(waiting), line(plainly)] };
}

function soon(speech: Speech): Said {
  const two = [
    { ...kernel('a', 'train.ipynb', 'busy'), last_activity: at(0) },
    { ...kernel('b', 'eval.ipynb'), last_activity: at(-12) }
  ];
  const bert = session('bert-train', {
    kernels: two,
    created_at: at(-573),
    lease: lease({ ends_at: at(147), longest_until: at(147) })
  });
  const ends = (extendable: boolean): string => {
    const { head, body } = leaseEnds(speech, bert, { left: 571, extendable }, NOW);
    return `${head} · ${body}`;
  };
  const warn = (warning: Warning): string => sentenceText(warningWords(speech, bert, warning, NOW));
  return {
    '39 idle': [warn({ kind: 'idle', left: 250 }), warn({ kind: 'idle-kept', idle: 2400 })],
    '41 lease': [ends(true), ends(false)]
  };
}

function askings(speech: Speech): Said {
  const say = ({ title, body }: Question): string => `${title} ${body}`;
  const one = session('bert-train', { kernels: [kernel('a', 'w/train.ipynb', 'busy')] });
  const both = { ...one, kernels: [...one.kernels, kernel('b', 'eval.ipynb')] };
  const tierName = (name: string): string => name;
  const wish = { required: { vram: '40GB' }, preferred: { vram: '80GB' } };
  const near = {
    code: 'more-kinds' as const,
    change: { product: ['H100', 'A100 80 GB'] },
    params: {},
    verdict: 'fits' as const,
    free: 2,
    message: ''
  };
  const hint = { peak_bytes: 9.1 * 2 ** 30, total_bytes: 79.6 * 2 ** 30, label: '24 GB', tier: 'small' };
  const price = { amount: '0.60', currency: 'EUR', per: 'hour' as const };
  const seen = mismatchWords(speech, { count: 2, given: 1, extra: 'GPU-9c41aaaa-bbbb-cccc-0e' });
  return {
    '38 one claim, two notebooks': [
      say(joinQuestion(speech, one, 'eval.ipynb', false)),
      say(joinQuestion(speech, one, 'eval.ipynb', true))
    ],
    '40 wish, gone choice': [
      sentenceText(wishWords(speech, 'analysis.ipynb', wish, tierName)),
      sentenceText(wishWords(speech, 'analysis.ipynb', { ...wish, preferred: {} }, tierName)),
      sentenceText(goneWords(speech, 'gpu-old')),
      sentenceText(nearestWords(speech, near, { product: 'H100' }, tierName)),
      sentenceText(nearestWords(speech, { ...near, code: 'less-memory', change: { vram: '40GB' } }, {}, tierName))
    ],
    '49 right size': [rightSizeWords(speech, { ...hint, price }), rightSizeWords(speech, { ...hint, price: null })],
    '50 mismatch': [seen ? `${sentenceText(seen.head)} ${seen.rest}` : ''],
    '55 stop': [
      say(stopQuestion(speech, one, ['w/train.ipynb'])),
      say(stopQuestion(speech, both, ['w/train.ipynb', 'eval.ipynb'])),
      say(stopQuestion(speech, { ...one, kernels: [] }, []))
    ],
    '56 replace': [say(replaceQuestion(speech, 'analysis.ipynb'))]
  };
}

function simulated(speech: Speech): Said {
  const bar = (namespace: string | null): string => sentenceText(barWords(speech, 'dgx-lab', namespace, true));
  const marked = device('dgx-h100-0', 'gpu-0', { simulated: true, label: 'H100 80 GB', state: 'free', holders: [] });
  return {
    '58 simulated': [
      simulatedWord(speech),
      withSimulated(speech, 'gpu-3', true),
      bar('team-a'),
      bar(null),
      deviceTip(speech, marked, NOW).head
    ]
  };
}

function states(speech: Speech): Said {
  const say = (state: PanelState, params: Params = {}): string => verdict(stateWords(speech, state, params));
  return {
    '54 states': [
      say('no-devices', { driver: 'gpu.nvidia.com', nodes: 2 }),
      say('no-devices', { driver: 'gpu.nvidia.com', nodes: 1 }),
      say('no-devices'),
      say('forbidden'),
      say('no-cluster'),
      say('too-old', { served: ['v1beta1'] }),
      say('server-missing')
    ]
  };
}

function gaps(speech: Speech): Said {
  const gap = { lines: 1204, bytes: 3 * 2 ** 20, since: at(-1), until: at(15) };
  return {
    '53 output gap': [
      gapWords(speech, gap, NOW),
      gapWords(speech, { ...gap, lines: 1, until: null }, NOW),
      gapWords(speech, { ...gap, lines: 0, since: null, until: null }, NOW)
    ]
  };
}

function everything(speech: Speech): Said {
  const parts = [
    verdicts,
    reasons,
    changes,
    holders,
    launches,
    sharing,
    ends,
    gaps,
    waits,
    soon,
    askings,
    states,
    simulated
  ];
  return Object.assign({}, ...parts.map(part => part(speech))) as Said;
}

test.each(Object.entries(MESSAGES))('message %s has its exact words', (name, texts) => {
  expect(everything(ENGLISH)[name]).toEqual(texts);
});

test('no message is made that the table does not have', () => {
  expect(Object.keys(everything(ENGLISH)).sort()).toEqual(Object.keys(MESSAGES).sort());
});

test('every message goes through the translator', () => {
  const untranslated = Object.values(everything(pseudoSpeech()))
    .flat()
    .filter(text => !text.includes('⟦'));
  expect(untranslated).toEqual([]);
});
