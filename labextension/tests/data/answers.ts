/** Small answers of the server part for tests; each a whole object that a test changes where it matters. */

import type {
  Counts,
  Device,
  Ended,
  Finding,
  Holder,
  Lease,
  Plan,
  Relaxation,
  Session,
  Status,
  Tier,
  TierList,
  TierSize
} from '../../src/api/types';

export const NOW = Date.parse('2026-11-30T12:03:04Z');

export function at(minutes: number): string {
  return new Date(NOW + minutes * 60_000).toISOString();
}

export function size(label: string, bytes: number, devices: number, free: number | null): TierSize {
  return { label, min_bytes: bytes, max_bytes: bytes, devices, free, free_at_most: free, out_of_service: 0 };
}

export function tier(name: string, change: Partial<Tier> = {}): Tier {
  return {
    name,
    device_class: name,
    display_name: name,
    description: null,
    hidden: false,
    available: true,
    why_not: null,
    device_kind: 'gpu',
    drivers: ['gpu.nvidia.com'],
    devices: 4,
    nodes: 1,
    free: 3,
    free_at_most: 3,
    out_of_service: 0,
    most_on_one_node: 4,
    exclusive_parts: false,
    sizes: [],
    products: [],
    architectures: [],
    profiles: [],
    shareable: false,
    groups: [],
    price: null,
    defaults: {},
    limits: { lease_seconds: null, idle_seconds: null, counts: null },
    usual_count: 1,
    scales_from_zero: false,
    ...change
  };
}

export const SMALL = tier('small', { sizes: [size('24 GB', 24152899584, 4, 3)] });
export const MEDIUM = tier('medium', { devices: 2, free: 1, sizes: [size('40 GB', 42144366592, 2, 1)] });
export const LARGE = tier('large', {
  devices: 12,
  nodes: 2,
  free: 5,
  out_of_service: 2,
  sizes: [size('80 GB', 85520809984, 12, 5)]
});
export const SLICE = tier('slice', {
  device_kind: 'part',
  devices: 14,
  free: 6,
  exclusive_parts: true,
  sizes: [size('5 GB', 5e9, 14, 6), size('10 GB', 10e9, 6, 3)]
});
export const TPU = tier('tpu', { device_kind: 'tpu', devices: 8, free: 8 });
export const NIC = tier('nic', { device_kind: 'nic' });

export const ANY: Counts = {
  devices: 18,
  nodes: 4,
  free: 9,
  free_at_most: 9,
  out_of_service: 2,
  most_on_one_node: 8,
  sizes: [SMALL, MEDIUM, LARGE].flatMap(item => item.sizes),
  products: [],
  architectures: []
};

export const CONTEXT = { cluster: 'dgx-lab', namespace: 'team-a', server_version: '1.37', as_of: at(0) };

export function tierList(tiers: readonly Tier[] = [SMALL, MEDIUM, LARGE, SLICE, TPU, NIC]): TierList {
  return {
    kind: 'TierList',
    version: 1,
    context: CONTEXT,
    visible: { slices: true, claims: 'namespace' },
    tiers,
    any_gpu: ANY,
    devices: 48,
    nodes: 5
  };
}

export function plan(change: Partial<Plan> = {}): Plan {
  return {
    kind: 'Plan',
    version: 1,
    verdict: 'fits',
    launch: { can: 'yes', code: null, params: {} },
    certainty: { sure: true, reasons: [] },
    context: CONTEXT,
    requirement: {},
    claim: null,
    counts: { devices: 26, nodes: 5, matching: 8, free: 6, free_at_most: 6, matching_nodes: 3 },
    nodes: [],
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

export function session(name: string, change: Partial<Session> = {}): Session {
  return {
    id: `${name}-9d3fk`,
    name,
    state: 'running',
    activity: 'busy',
    revision: 1,
    mine: true,
    user: 'ada',
    server: 's',
    namespace: 'team-a',
    requirement: {},
    claim: { name: `${name}-9d3fk`, made_by_us: true, template: null },
    devices: [
      {
        request: 'gpu',
        driver: 'gpu.nvidia.com',
        pool: 'dgx-h100-0',
        device: 'gpu-3',
        node: 'dgx-h100-0',
        label: 'H100 80 GB',
        share: null,
        predicted: true,
        device_kind: 'gpu',
        profile: null,
        slots: null,
        memory_published: '81559Mi',
        choice: null,
        conditions: []
      }
    ],
    kernels: [],
    steps: [],
    wait: null,
    lease: lease(),
    usage: null,
    price: null,
    right_size: null,
    notebook: null,
    created_at: at(-10),
    ready_at: at(-10),
    launch_until: null,
    ended: null,
    orphan: false,
    simulated: false,
    image: null,
    lost_fields: [],
    history: [],
    shared_with: [],
    ...change
  };
}

export function kernel(id: string, notebook: string | null, state = 'idle'): Session['kernels'][number] {
  return {
    id,
    name: 'python3',
    pod: `pod-of-${id}`,
    notebook,
    state,
    last_activity: at(-1),
    transport: 'direct',
    encrypted: true,
    image: null,
    cpu: null,
    host_memory: null,
    next_pod: null
  };
}

export function lease(change: Partial<Lease> = {}): Lease {
  return {
    ends_at: at(240),
    longest_until: at(720),
    idle_limit_seconds: 1800,
    idle_since: null,
    device_use: null,
    ...change
  };
}

export function endedAs(code: string, change: Partial<Ended> = {}): Ended {
  return {
    at: at(0),
    code,
    exit_code: 0,
    by: null,
    message: '',
    next: null,
    params: {},
    device_returned_at: null,
    ...change
  };
}

export function device(node: string, name: string, change: Partial<Device> = {}): Device {
  return {
    driver: 'gpu.nvidia.com',
    pool: node,
    name,
    nodes: [node],
    device_kind: 'gpu',
    label: 'H100 80 GB',
    product: 'NVIDIA H100 80GB HBM3',
    memory_bytes: 85520809984,
    state: 'free',
    tiers: ['large'],
    simulated: false,
    taints: [],
    holders: [],
    ...change
  };
}

export function holder(who: Holder['who'], change: Partial<Holder> = {}): Holder {
  return {
    who,
    namespace: null,
    claim: null,
    session: null,
    user: null,
    since: null,
    lease_ends: null,
    idle_seconds: null,
    note: null,
    ...change
  };
}

export function finding(code: string, message: string): Finding {
  const place = { file: null, document: 0, item: null, object: null, path: null, line: null, column: null };
  return { code, severity: 'error', ...place, message, why: null, server: null, fix: null };
}

export function relaxation(code: string, change: Relaxation['change'], params: Relaxation['params'] = {}): Relaxation {
  return { code, change, params, verdict: 'fits', free: 240, message: '' };
}

export function status(change: Partial<Status> = {}): Status {
  return {
    kind: 'Status',
    version: 1,
    state: 'ready',
    message: null,
    next: null,
    params: {},
    cluster: 'dgx-lab',
    namespace: 'team-a',
    contexts: [],
    server_version: '1.37',
    as_of: at(0),
    started_at: at(-60),
    revision: 1,
    rights: {},
    local_cluster: { running: false },
    simulated: false,
    offers: { images: [], any_image: true, volumes: [], defaults: {}, longest_lease_seconds: 43200 },
    ...change
  };
}
