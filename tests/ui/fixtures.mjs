/** Answers of the server part for the frames: an inventory of five nodes, plans for each verdict, sessions in each state. */

export const NOW = '2026-11-30T12:03:04Z';
const GB = 1e9;
const at = (minutes, seconds = 0) => new Date(Date.parse(NOW) + minutes * 60_000 + seconds * 1000).toISOString();

export const context = { cluster: 'dgx-lab', namespace: 'team-a', server_version: '1.37', as_of: NOW };

export function status(change = {}) {
  return {
    kind: 'Status',
    version: 1,
    state: 'ready',
    message: null,
    next: null,
    params: {},
    cluster: 'dgx-lab',
    namespace: 'team-a',
    contexts: [
      { name: 'dgx-lab', cluster: 'dgx-lab', namespace: 'team-a', source: 'home', current: true },
      { name: 'research', cluster: 'research', namespace: 'nlp', source: 'home', current: false }
    ],
    server_version: '1.37',
    as_of: NOW,
    started_at: at(-300),
    revision: 812,
    rights: {},
    local_cluster: { running: false },
    simulated: false,
    offers: {
      images: ['cuda-notebook:2026.10', 'pytorch-notebook:2026.10'],
      any_image: true,
      volumes: [],
      defaults: { cpu: '4', host_memory: '16Gi', lease: '4h', idle_timeout: '30m' },
      longest_lease_seconds: 43200
    },
    ...change
  };
}

const size = (label, bytes, devices, free, out = 0) => ({
  label,
  min_bytes: bytes,
  max_bytes: bytes,
  devices,
  free,
  free_at_most: free,
  out_of_service: out
});

const price = amount => ({ amount, currency: 'EUR', per: 'hour' });

function tier(name, title, change) {
  return {
    name,
    device_class: name,
    display_name: title,
    description: null,
    hidden: false,
    available: true,
    why_not: null,
    device_kind: 'gpu',
    drivers: ['gpu.nvidia.com'],
    devices: 0,
    nodes: 1,
    free: 0,
    free_at_most: 0,
    out_of_service: 0,
    exclusive_parts: false,
    sizes: [],
    products: [],
    architectures: [],
    profiles: [],
    shareable: false,
    groups: [],
    most_on_one_node: 8,
    price: null,
    defaults: {},
    limits: { lease_seconds: null, idle_seconds: null, counts: null },
    usual_count: 1,
    scales_from_zero: false,
    ...change
  };
}

const generation = (name, capability) => ({ name, vendor: 'nvidia.com', compute_capability: capability, devices: 4 });
const [AMPERE, ADA, HOPPER] = [generation('Ampere', '8.0'), generation('Ada Lovelace', '8.9'), generation('Hopper', '9.0')];

export function tiers(change = {}) {
  const s24 = size('24 GB', 24152899584, 4, 3);
  const s40 = size('40 GB', 42144366592, 2, 1);
  const s80 = size('80 GB', 85520809984, 12, 5, 2);
  return {
    kind: 'TierList',
    version: 1,
    context,
    visible: { slices: true, claims: 'namespace' },
    devices: 26,
    nodes: 5,
    any_gpu: { devices: 18, nodes: 4, free: 9, free_at_most: 9, out_of_service: 2, most_on_one_node: 8, sizes: [s24, s40, s80], products: [], architectures: [AMPERE, ADA, HOPPER] },
    tiers: [
      tier('small-gpu', 'Small GPU', { devices: 4, free: 3, free_at_most: 3, sizes: [s24], products: [{ name: 'NVIDIA L4', devices: 4 }], architectures: [ADA] }),
      tier('medium-gpu', 'Medium GPU', {
        devices: 2, free: 1, free_at_most: 1, sizes: [s40], price: price('1.10'),
        products: [{ name: 'NVIDIA A100-SXM4-40GB', devices: 2 }], architectures: [AMPERE]
      }),
      tier('high-memory-gpu', 'High-memory GPU', {
        devices: 12, nodes: 2, free: 5, free_at_most: 5, out_of_service: 2, sizes: [s80], price: price('2.90'),
        products: [{ name: 'NVIDIA H100 80GB HBM3', devices: 8 }, { name: 'NVIDIA A100-SXM4-80GB', devices: 4 }],
        architectures: [AMPERE, HOPPER]
      }),
      tier('gpu-slice', 'GPU slice', {
        device_kind: 'part', devices: 14, free: 6, free_at_most: 6, exclusive_parts: true,
        sizes: [size('5 GB', 5 * GB, 14, 6), size('10 GB', 10 * GB, 6, 3), size('20 GB', 20 * GB, 2, 1)],
        products: [{ name: 'NVIDIA A100-SXM4-40GB', devices: 14 }], profiles: ['1g.5gb', '2g.10gb', '3g.20gb']
      }),
      tier('tpu-v6e-node', 'TPU v6e node', {
        device_kind: 'tpu', drivers: ['tpu.google.com'], devices: 8, free: 8, free_at_most: 8, products: [{ name: 'TPU v6e', devices: 8 }]
      }),
      tier('rdma-nic', 'network card (RDMA)', { device_kind: 'nic', drivers: ['dra.net'], devices: 8, free: 5, free_at_most: 5 })
    ],
    ...change
  };
}

const YAML = `apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata:
  name: analysis-7k2xq
spec:
  devices:
    requests:
    - name: gpu
      firstAvailable:
      - name: "1"
        deviceClassName: medium-gpu
        selectors:
        - cel:
            expression: >-
              device.capacity["gpu.nvidia.com"]
              .?memory.orValue(quantity("0"))
              .compareTo(quantity("40G")) >= 0
      - name: "2"
        deviceClassName: high-memory-gpu
`;

export const preview = {
  claim: {},
  yaml: YAML,
  python: 'Requirement(\n    vram="40GB",\n    compute_capability=">=8.0",\n)\n',
  magic: '%dra launch --vram 40GB --compute-capability ">=8.0"\n',
  shell: "jupyter dra launch --vram 40GB --compute-capability '>=8.0'\n",
  lines: 38,
  findings: [],
  form: { vram: '40GB', compute_capability: '>=8.0' },
  kept: []
};

/** A claim that the form cannot express in full, as somebody wrote it. */
export const WRITTEN = `apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata:
  name: analysis-7k2xq
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: high-memory-gpu
        adminAccess: false
        selectors:
        - cel:
            expression: device.driver == "gpu.nvidia.com"
    config:
    - requests: [gpu]
      opaque:
        driver: gpu.nvidia.com
        parameters: {mode: exclusive}
`;

/** The server's reading of `WRITTEN`, for its text and for the requirement that holds it. */
export const writtenPreview = body =>
  body.text || body.requirement.claim
    ? {
        ...preview,
        claim: { kind: 'ResourceClaim', spec: { devices: {} } },
        yaml: WRITTEN,
        lines: WRITTEN.split('\n').length - 1,
        form: { tier: 'high-memory-gpu', where: ['device.driver == "gpu.nvidia.com"'] },
        kept: [{ path: 'spec.devices.config[0]', code: 'config', what: 'this driver configuration' }]
      }
    : preview;

/** Tiers of a cluster of that size, for the heads that count them. */
export function countedTiers(devices, nodes) {
  return () => ({ ...tiers(), devices, nodes });
}

const EITHER = {
  name: 'gpu',
  firstAvailable: [
    { name: '1', deviceClassName: 'medium-gpu' },
    { name: '2', deviceClassName: 'high-memory-gpu' }
  ]
};

export function plan(change = {}) {
  return {
    kind: 'Plan',
    version: 1,
    verdict: 'fits',
    launch: { can: 'yes', code: null, params: {} },
    certainty: { sure: true, reasons: [] },
    context,
    requirement: { vram: '40GB' },
    claim: { spec: { devices: { requests: [EITHER] } } },
    counts: { devices: 26, nodes: 5, matching: 14, free: 6, free_at_most: 6, matching_nodes: 3 },
    nodes: [
      {
        name: 'a100-mig-0', verdict: 'fits', likely: true, matching: 2, free: 1, why_not: null,
        devices: [{ claim: 0, request: 'gpu/1', driver: 'gpu.nvidia.com', pool: 'a100-mig-0', device: 'gpu-1', label: 'A100 40 GB', share: null }]
      }
    ],
    nodes_left_out: 0,
    reasons: [],
    holders: [],
    holders_left_out: 0,
    relaxations: [],
    charges: {},
    findings: [],
    ...change
  };
}

export const impossible = plan({
  verdict: 'impossible',
  launch: { can: 'no', code: 'impossible', params: {} },
  requirement: { count: 4, vram: '141GB', compute_capability: '>=9.0', near: [{ tier: 'rdma-nic' }], align: 'pcieRoot' },
  counts: { devices: 40000, nodes: 5000, matching: 0, free: 0, free_at_most: 0, matching_nodes: 0 },
  nodes: [],
  reasons: [
    { code: 'kind', devices: 6144, params: { kinds: ['nic', 'tpu', 'cpu'] }, message: '' },
    { code: 'memory', devices: 28400, params: { asked_bytes: 141e9, nearest: { label: 'H100 80 GB', bytes: 85520809984 } }, message: '' },
    { code: 'condition', devices: 3200, params: { field: 'compute_capability', asked: '>=9.0', nearest: { label: 'MI300X 192 GB' } }, message: '' },
    { code: 'out-of-service', devices: 400, params: {}, message: '' },
    { code: 'partner', devices: 1856, params: { partner: 'RDMA card', align: 'pcieRoot', label: 'H200', nodes: 232 }, message: '' }
  ],
  relaxations: [
    { code: 'drop-near', change: { near: null, align: null }, params: { partner: 'rdma-nic' }, verdict: 'fits', free: 232, message: 'Without the network card' },
    { code: 'less-memory', change: { vram: '80GB' }, params: {}, verdict: 'fits', free: 1212, message: 'Take 80 GB' },
    { code: 'more-kinds', change: { product: ['MI300X'] }, params: { label: 'MI300X' }, verdict: 'fits', free: 88, message: 'Also accept MI300X' }
  ]
});

const holder = (who, change = {}) => ({
  who, namespace: null, claim: null, session: null, user: null, since: null, lease_ends: null, idle_seconds: null, note: null, ...change
});

export const busy = plan({
  verdict: 'busy',
  launch: { can: 'wait', code: null, params: {} },
  requirement: { tier: 'high-memory-gpu', compute_capability: '>=9.0' },
  counts: { devices: 26, nodes: 5, matching: 8, free: 0, free_at_most: 0, matching_nodes: 1 },
  holders: [
    holder('you', { session: 'bert-train-9d3fk', user: 'ada', namespace: 'team-a', claim: 'bert-train-9d3fk', devices: 1, device_names: ['gpu-3'], since: at(-120), idle_seconds: 2400 }),
    holder('user', { user: 'mira', namespace: 'team-a', devices: 2, device_names: ['gpu-0', 'gpu-1'], lease_ends: at(147) }),
    holder('namespace', { namespace: 'team-b', devices: 1, device_names: ['gpu-7'] }),
    holder('hidden', { devices: 4 })
  ],
  relaxations: [
    { code: 'join-session', change: { session: 'bert-train-9d3fk' }, params: {}, verdict: 'fits', free: null, message: '' },
    { code: 'more-kinds', change: { architecture: ['Hopper', 'Ampere'] }, params: { label: 'A100 80 GB' }, verdict: 'fits', free: 2, message: '' }
  ]
});

export const unknown = plan({
  verdict: 'unknown',
  certainty: { sure: false, reasons: [{ code: 'claims-not-visible', params: {}, message: '' }] },
  requirement: { tier: 'high-memory-gpu', compute_capability: '>=9.0' },
  counts: { devices: 26, nodes: 5, matching: 8, free: null, free_at_most: 5, matching_nodes: 1 }
});

const CAPACITY = 'device.capacity["gpu.nvidia.com"].?memory.orValue(quantity("0")).compareTo(quantity("16Gi")) >= 0';

export const invalid = plan({
  verdict: 'invalid',
  launch: { can: 'no', code: 'invalid', params: {} },
  requirement: { where: ['device.attributes["gpu.nvidia.com"].memory >= "16Gi"'] },
  reasons: [{ code: 'condition-error', devices: 18, params: { rewrite: { code: 'memory-is-a-capacity', text: CAPACITY } }, message: '' }],
  findings: [
    {
      code: 'cel-compile', severity: 'error', file: null, document: 0, item: null, object: null, line: null, column: null, why: null, server: null,
      path: 'spec.devices.requests[0].exactly.selectors[0].cel.expression', message: 'Memory is a capacity, not an attribute.', fix: 'write it as a capacity'
    }
  ]
});

export const fromZero = plan({
  verdict: 'unknown',
  certainty: { sure: false, reasons: [{ code: 'scales-from-zero', params: {}, message: '' }] },
  requirement: { tier: 'high-memory-gpu' },
  counts: { devices: 0, nodes: 0, matching: 0, free: 0, free_at_most: 0, matching_nodes: 0 },
  nodes: []
});

export const limit = plan({
  launch: { can: 'no', code: 'limit', params: { limit: 2, held: 2, names: ['bert-train', 'slice-demo'] } }
});

export const device = (name, node, label, change = {}) => ({
  request: 'gpu', driver: 'gpu.nvidia.com', pool: node, device: name, node, label, share: null, predicted: true, device_kind: 'gpu',
  profile: null, slots: null, memory_published: null, choice: null, conditions: [], ...change
});

const lease = (change = {}) => ({
  ends_at: at(118), longest_until: at(600), idle_limit_seconds: 1800, idle_since: null, device_use: null, ...change
});

export const ended = (minutes, code, change = {}) => ({
  at: at(minutes), code, exit_code: null, by: null, message: '', next: null, params: {}, device_returned_at: at(minutes), ...change
});

const cost = (amount, since) => ({ ...price(amount), so_far: null, since: at(since), counted_with: null });

export function session(name, change = {}) {
  return {
    id: `${name}-9d3fk`, name, state: 'running', activity: 'busy', revision: 3, mine: true, user: 'ada', server: 'ada--lab', namespace: 'team-a',
    requirement: { tier: 'high-memory-gpu' }, claim: { name: `${name}-9d3fk`, made_by_us: true, template: null },
    devices: [device('gpu-3', 'dgx-h100-0', 'H100 80 GB')], kernels: [], steps: [], wait: null,
    lease: lease(), usage: null, price: null, right_size: null, notebook: null, created_at: at(-122), ready_at: at(-122), launch_until: null,
    ended: null, orphan: false, simulated: false, image: null, lost_fields: [], history: [], shared_with: [], ...change
  };
}

const kernel = (id, notebook, state, minutes) => ({
  id, name: 'python3', pod: 'p', notebook, state, last_activity: at(-minutes), transport: 'direct', encrypted: true, image: null, cpu: null,
  host_memory: null, next_pod: null
});

const gib = amount => Math.round(amount * 2 ** 30);

/** Figures of a session's devices; amounts in GiB, null where not known. */
export function usage(used, total, percent, change = {}) {
  const bytes = amount => (amount === null ? null : gib(amount));
  return {
    at: NOW, source: 'nvml', memory_used_bytes: bytes(used), memory_total_bytes: bytes(total), utilisation_percent: percent,
    peak_bytes: null, complete: true, by_kernel: [], why_missing: null, ...change
  };
}

export const bertTrain = session('bert-train', {
  kernels: [kernel('k1', 'train.ipynb', 'busy', 0), kernel('k2', 'eval.ipynb', 'idle', 12)],
  usage: usage(37.4, 79.6, 87, {
    by_kernel: [{ kernel: 'k1', memory_used_bytes: gib(31), cell: null }, { kernel: 'k2', memory_used_bytes: gib(6.1), cell: null }]
  }),
  price: cost('2.90', -122)
});

export const sliceDemo = session('slice-demo', {
  activity: 'idle',
  devices: [device('gpu-0-mig-9-4-2', 'a100-mig-0', 'A100 40 GB', { device_kind: 'part', profile: '2g.10gb', slots: [4, 5], neighbours: { parts: 1 } })],
  kernels: [kernel('k3', 'slice.ipynb', 'idle', 26)],
  lease: lease({ ends_at: at(174), idle_since: at(-26) }),
  usage: usage(0.8, 9.6, null, { why_missing: 'not-on-a-part' })
});

export const ocrTest = session('ocr-test', {
  state: 'releasing', devices: [device('gpu-0', 'l4-2', 'L4 24 GB')],
  ended: ended(-14 / 60, 'stopped', { device_returned_at: null })
});

const step = (code, state, seconds, params = {}, started = null) => ({ code, state, started_at: started, seconds, params });

const done = [
  step('checked', 'done', 0.12),
  step('claim-created', 'done', 0.21, { claim: 'analysis-7k2xq' }),
  step('allocated', 'done', 0.72),
  step('scheduled', 'done', 0.13, { node: 'dgx-h100-0' })
];

const happened = (minutes, event, more = {}) => ({ at: Math.floor(Date.parse(at(minutes)) / 1000), event, kernel: 'k1', ...more });

export const withHistory = {
  ...bertTrain,
  steps: [step('checked', 'done', 0.12), step('claim-created', 'done', 0.21, { claim: 'bert-train-9d3fk' })],
  history: [
    happened(-90, 'restarted'),
    happened(-60, 'connection-lost'),
    happened(-58, 'reattached', { output: 'kept' }),
    happened(-20, 'moved', { pod: 'bert-train-9d3fk-1' })
  ]
};

export const starting = session('analysis', {
  state: 'starting', activity: null, notebook: 'analysis.ipynb', ready_at: null, created_at: at(0, -49), launch_until: at(9, 11), lease: null,
  devices: [device('gpu-4', 'dgx-h100-0', 'H100 80 GB')],
  steps: [...done, step('image-pulled', 'doing', null, { image: 'cuda-notebook:2026.10', last_seconds: 65 }, at(0, -48)),
    step('kernel-starting', 'todo', null, { kernel: 'Python 3' }), step('connected', 'todo', null)]
});

export const justReady = session('analysis', {
  activity: 'idle', notebook: 'analysis.ipynb', created_at: at(0, -4), ready_at: NOW,
  devices: [device('gpu-4', 'dgx-h100-0', 'H100 80 GB')],
  kernels: [kernel('k7', 'analysis.ipynb', 'idle', 0)],
  steps: [...done, step('image-pulled', 'done', 1.04, { image: 'cuda-notebook:2026.10' }), step('kernel-starting', 'done', 1.1, { kernel: 'Python 3' }), step('connected', 'done', 0.1)]
});

export const notStarted = session('analysis', {
  state: 'ended', activity: null, notebook: 'analysis.ipynb', ready_at: null, created_at: at(0, -10),
  devices: [device('gpu-4', 'dgx-h100-0', 'H100 80 GB')],
  steps: [...done, step('image-pulled', 'failed', 6, { image: 'cuda-notebok:2026.10' })],
  ended: ended(0, 'image', { params: { image: 'cuda-notebok:2026.10' } })
});

export const waiting = session('analysis', {
  state: 'waiting', activity: null, ready_at: null, devices: [], lease: null,
  requirement: { tier: 'high-memory-gpu', compute_capability: '>=9.0' },
  wait: { since: at(-12, -4), until: at(107, 56), reasons: [{ code: 'taken', devices: 8, params: {}, message: '' }], next_change: { code: 'lease-ends', at: at(147) }, queue: null }
});

export const leaseSoon = session('bert-train', {
  kernels: [kernel('k1', 'train.ipynb', 'busy', 0)],
  lease: lease({ ends_at: at(9, 30) })
});

/** At the longest time allowed: nothing can be extended. */
export const leaseLast = session('sweep', {
  kernels: [kernel('k9', 'sweep.ipynb', 'busy', 0)],
  created_at: at(-710.5),
  lease: lease({ ends_at: at(9.5), longest_until: at(9.5) })
});

export const idle = session('bert-train', {
  activity: 'idle',
  kernels: [kernel('k1', 'train.ipynb', 'idle', 40)],
  lease: lease({ idle_limit_seconds: 7200, idle_since: at(-40) })
});

export const endedMemory = session('bert-train', {
  state: 'ended', activity: null, created_at: at(-150), ready_at: at(-150), price: cost('2.90', -150),
  requirement: { tier: 'high-memory-gpu', host_memory: '16Gi' },
  usage: usage(null, 79.6, null, { peak_bytes: gib(41.2) }),
  ended: ended(-28, 'out-of-memory', {
    exit_code: 137, params: { host_memory: '16Gi', device_used_bytes: gib(31), device_total_bytes: gib(79.6) }
  })
});

export const endedStopped = session('ocr-test', {
  state: 'ended', activity: null, created_at: at(-109), ready_at: at(-109), price: cost('2.90', -109),
  right_size: { peak_bytes: gib(9.1), total_bytes: gib(79.6), label: '24 GB', tier: 'small-gpu', price: price('0.60') },
  ended: ended(-61, 'stopped', { exit_code: 0, by: 'ada' })
});

// Devices.

const attributes = numa => ({ 'resource.kubernetes.io/numaNode': { int: numa } });

function gpu(node, name, label, bytes, state, change = {}) {
  return {
    driver: 'gpu.nvidia.com', pool: node, name, nodes: [node], device_kind: 'gpu', label, product: label, memory_bytes: bytes, memory_published: null,
    state, tiers: bytes > 50 * GB ? ['high-memory-gpu'] : bytes > 30 * GB ? ['medium-gpu'] : ['small-gpu'], simulated: false, taints: [], holders: [],
    attributes: {}, capacity: {}, ...change
  };
}

const mine = holder('you', { namespace: 'team-a', claim: 'bert-train-9d3fk', session: 'bert-train-9d3fk', user: 'ada', since: at(-122), idle_seconds: 0 });
const mira = holder('user', { namespace: 'team-a', claim: 'x', user: 'mira', since: at(-200), idle_seconds: 120 });
const unused = holder('namespace', { namespace: 'team-c', claim: 'eval', since: at(-6 * 1440), note: 'no-pod' });
export const broken = { taints: [{ key: 'gpu.nvidia.com/xid', value: '79', effect: 'NoSchedule', timeAdded: '2026-11-28T09:12:00Z' }] };

export function fewDevices() {
  const states = ['taken', 'taken', 'hidden', 'yours', 'free', 'free', 'free', 'taken'];
  const h100 = states.map((state, index) =>
    gpu('dgx-h100-0', `gpu-${index}`, 'H100 80 GB', 85520809984, state, {
      attributes: attributes(index < 4 ? 0 : 1),
      holders: state === 'yours' ? [mine] : state === 'taken' ? [mira] : []
    })
  );
  const nics = states.map((state, index) => ({
    ...gpu('dgx-h100-0', `mlx5_${index}`, 'ConnectX-7', null, state === 'yours' ? 'yours' : 'free'), driver: 'dra.net', device_kind: 'nic', tiers: ['rdma-nic'], product: 'ConnectX-7'
  }));
  const a100 = ['out-of-service', 'free', 'free', 'out-of-service'].map((state, index) =>
    gpu('a100-80-0', `gpu-${index}`, 'A100 80 GB', 85899345920, state, state === 'free' ? {} : broken)
  );
  const mig = [
    gpu('a100-mig-0', 'gpu-0', 'A100 40 GB', 42144366592, 'yours', { device_kind: 'part', tiers: ['gpu-slice'], holders: [{ ...mine, session: 'slice-demo-9d3fk' }] }),
    gpu('a100-mig-0', 'gpu-1', 'A100 40 GB', 42144366592, 'free')
  ];
  const l4 = ['taken', 'free', 'free', 'free'].map((state, index) =>
    gpu('l4-2', `gpu-${index}`, 'L4 24 GB', 24152899584, state, { holders: state === 'taken' ? [unused] : [] })
  );
  const tpu = Array.from({ length: 8 }, (_, index) => ({
    ...gpu('tpu-v6e-0', `tpu-${index}`, 'TPU v6e', null, 'free'), driver: 'tpu.google.com', device_kind: 'tpu', tiers: ['tpu-v6e-node']
  }));
  return [...h100, ...nics, ...a100, ...mig, ...l4, ...tpu];
}

/** Many nodes, the same on every run. */
export function manyDevices(groups) {
  let seed = 7;
  const random = () => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return seed / 2147483648;
  };
  return groups.flatMap(({ label, bytes, nodes, each, free, broken: lost = 0.01, kind = 'gpu' }) =>
    Array.from({ length: nodes }, (_, n) => n).flatMap(n => {
      // Some nodes are nearly empty, most are nearly full, as schedulers leave them.
      const here = random() < free ? 0.9 : 0.12 * free;
      return Array.from({ length: each }, (_, index) => {
        const dice = random();
        const mine = random() < 4 / groups.reduce((sum, group) => sum + group.nodes * group.each, 0);
        const taken = mine ? 'yours' : dice > 0.92 ? 'hidden' : 'taken';
        const state = dice < here ? 'free' : dice < here + lost ? 'out-of-service' : taken;
        const name = `${label.toLowerCase().replaceAll(' ', '-')}-${n}`;
        return { ...gpu(name, `gpu-${index}`, label, bytes, state), device_kind: kind };
      });
    })
  );
}

export const FIVE_HUNDRED = [
  { label: 'H200 141 GB', bytes: 150e9, nodes: 40, each: 8, free: 0.06 },
  { label: 'H100 80 GB', bytes: 85520809984, nodes: 160, each: 8, free: 0.25 },
  { label: 'A100 80 GB', bytes: 85899345920, nodes: 100, each: 4, free: 0.15 },
  { label: 'L4 24 GB', bytes: 24152899584, nodes: 180, each: 2, free: 0.57 },
  { label: 'TPU v5e', bytes: null, nodes: 20, each: 4, free: 0.13, kind: 'tpu' }
];

export const FIVE_THOUSAND = [
  { label: 'H200 141 GB', bytes: 150e9, nodes: 240, each: 8, free: 0.12 },
  { label: 'H100 80 GB', bytes: 85520809984, nodes: 1760, each: 8, free: 0.08 },
  { label: 'A100 80 GB', bytes: 85899345920, nodes: 1200, each: 8, free: 0.2 },
  { label: 'L4 24 GB', bytes: 24152899584, nodes: 900, each: 8, free: 0.4 },
  { label: 'T4 16 GB', bytes: 16e9, nodes: 900, each: 8, free: 0.5 }
];

export function deviceList(devices, claims = 'namespace') {
  return { kind: 'DeviceList', version: 1, context, revision: 812, visible: { slices: true, claims }, devices };
}

const waits = (user, claim, group, minutes, requirement, reasons) => ({
  who: 'user', namespace: 'team-b', claim, session: null, user, requirement, since: at(-minutes), group, queue: group === 'limit' ? 'team-a' : null,
  verdict: null, reasons
});

export const waitingList = {
  kind: 'WaitingList', version: 1, context, visible: { slices: true, claims: 'all' },
  quotas: [{ namespace: 'team-a', quota: 'gpus', tier: 'high-memory-gpu', used: 8, hard: 8 }],
  waiting: [
    waits('mira', 'ft-large', 'never', 72, { count: 4, product: 'H200', near: [{ tier: 'rdma-nic' }] }, [{ code: 'partner', devices: 40, params: { partner: 'RDMA card', align: 'pcieRoot', label: 'H200', nodes: 40 }, message: '' }]),
    waits('team-c', 'eval-7', 'taken', 26, { product: 'H200' }, [{ code: 'taken', devices: 8, params: { hidden: 8 }, message: '' }]),
    waits('jon', 'nb-31', 'starting', 4, { tier: 'small-gpu' }, []),
    waits('team-b', 'job-778', 'never', 2880, { product: 'TPU v5e', vram: '16GB' }, [{ code: 'memory', devices: 8, params: { direction: 'unknown', asked: '16 GB' }, message: '' }]),
    waits('kim', 'sweep-2', 'limit', 9, { tier: 'high-memory-gpu' }, []),
    waits('kim', 'sweep-3', 'limit', 8, { tier: 'high-memory-gpu' }, [])
  ]
};
