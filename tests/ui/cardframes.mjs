/** The frames of cards in notebooks: what kernels are told, and what the server part knows of their sessions. */

import * as data from './fixtures.mjs';
import { notebook, output } from './notebooks.mjs';

const facts = (session, devices, change = {}) => ({
  kind: 'SessionFacts',
  version: 1,
  session: session.id,
  name: session.name,
  claim: session.id,
  namespace: 'team-a',
  node: devices[0].node,
  kernel_id: session.kernels[0]?.id ?? null,
  devices,
  written_at: '2026-11-30T12:02:50Z',
  ...change
});

const device = (name, node, change) => ({
  request: 'gpu', driver: 'gpu.nvidia.com', pool: node, device: name, node, share: null, device_kind: 'gpu', attributes: {}, capacity: {}, ...change
});

const UUID = 'GPU-edc12292-0d4b-4c5e-9a3f-2b1f6f0c1a7d';

const h100 = device('gpu-3', 'dgx-h100-0', {
  label: 'H100 80 GB',
  product: 'NVIDIA H100 80GB HBM3',
  memory_published: '81559Mi',
  memory_bytes: 85520809984,
  capacity: { 'gpu.nvidia.com/memory': { value: '81559Mi' } },
  attributes: {
    'gpu.nvidia.com/architecture': { string: 'Hopper' },
    'gpu.nvidia.com/cudaComputeCapability': { version: '9.0.0' },
    'gpu.nvidia.com/driverVersion': { version: '580.126.20' },
    'gpu.nvidia.com/cudaDriverVersion': { version: '13.0.0' },
    'resource.kubernetes.io/pciBusID': { string: '0000:61:00.0' },
    'resource.kubernetes.io/pcieRoot': { string: 'pci0000:59' },
    'resource.kubernetes.io/numaNode': { int: 0 },
    'gpu.nvidia.com/uuid': { string: UUID }
  }
});

const part = device('gpu-0-mig-9-4-2', 'a100-mig-0', {
  label: 'A100 40 GB', device_kind: 'part', product: 'NVIDIA A100-SXM4-40GB MIG 2g.10gb',
  attributes: { 'gpu.nvidia.com/profile': { string: '2g.10gb' }, 'gpu.nvidia.com/architecture': { string: 'Ampere' } }
});

const share = device('gpu-0', 'l40s-shared-0', {
  label: 'L40S 48 GB', product: 'NVIDIA L40S', share: { id: 'x', consumed: { memory: '8Gi' } },
  attributes: { 'gpu.nvidia.com/architecture': { string: 'Ada Lovelace' } }
});

const chips = Array.from({ length: 8 }, (_, index) =>
  device(`tpu-${index}`, 'tpu-v6e-0', {
    driver: 'tpu.google.com', label: 'TPU v6e', device_kind: 'tpu', product: 'TPU v6e',
    attributes: { 'tpu.google.com/topology': { string: '2x4' } }
  })
);

const pair = [
  device('gpu-5', 'dgx-h100-0', { label: 'H100 80 GB', product: 'NVIDIA H100 80GB HBM3', attributes: { 'resource.kubernetes.io/pcieRoot': { string: 'pci0000:97' }, 'resource.kubernetes.io/numaNode': { int: 1 } } }),
  device('mlx5_5', 'dgx-h100-0', { request: 'near-1', driver: 'dra.net', label: null, device_kind: 'nic', product: 'ConnectX-7', attributes: { 'resource.kubernetes.io/pcieRoot': { string: 'pci0000:97' }, 'resource.kubernetes.io/numaNode': { int: 1 } } })
];

const l4 = device('gpu-1', 'l4-2', { label: 'L4 24 GB', product: 'NVIDIA L4', attributes: { 'gpu.nvidia.com/uuid': { string: UUID } } });

const seen = (...uuids) => ({ source: 'nvml', devices: uuids.map(uuid => ({ uuid, name: 'x' })) });

/** A device that a kernel was told of, as its session has it. */
const held = ({ device: name, node, label, driver, device_kind, share: part }) =>
  data.device(name, node, label, { driver, device_kind, share: part, predicted: null });

const protoSession = data.session('proto', { usage: data.usage(5.1, 8, 22), devices: [{ ...held(share), neighbours: { shares: 4, given: { memory: '31Gi' }, total: { memory: '45Gi' } } }], requirement: { share: { memory: '7Gi' } } });
const tpuSession = data.session('llm-jax', { usage: data.usage(null, null, 71, { why_missing: 'no-library' }), devices: chips.map(held) });
const distSession = data.session('dist-train', {
  usage: data.usage(49.4, 79.6, 64),
  devices: [
    data.device('gpu-5', 'dgx-h100-0', 'H100 80 GB'),
    data.device('mlx5_5', 'dgx-h100-0', null, { device_kind: 'nic', predicted: null })
  ]
});
const ocrSession = data.session('ocr', { usage: data.usage(1.2, 22.5, 3), devices: [data.device('gpu-1', 'l4-2', 'L4 24 GB')] });

const told = (session, devices, change) => ({ as_of: data.NOW, facts: facts(session, devices, change) });
const ended = (name, code, change = {}, params = {}) =>
  data.session(name, {
    state: 'ended',
    activity: null,
    ...change,
    ended: data.ended(0, code, { exit_code: 1, params })
  });

const fromIdle = ended('nightly', 'idle');
const fromFault = ended('sweep', 'device-unhealthy', {}, { reason: 'gpu-lost' });
const cell = '%dra';

/** Each frame: cells as `[source, what the kernel was told]`, and the sessions the server part knows. */
export const CARD_FRAMES = {
  h1: { cells: [[cell, told(data.bertTrain, [h100], { seen: seen(UUID) })]], sessions: [data.bertTrain] },
  h3: {
    cells: [
      ['%dra sessions', { sessions: [data.bertTrain, data.sliceDemo] }],
      [cell, told(data.session('bert-old'), [h100])]
    ],
    sessions: [data.bertTrain, data.sliceDemo]
  },
  h4: {
    cells: [
      [cell, told(data.sliceDemo, [part])],
      [cell, told(protoSession, [share])],
      [cell, told(tpuSession, chips)]
    ],
    sessions: [data.sliceDemo, protoSession, tpuSession]
  },
  h5: {
    cells: [
      [cell, told(distSession, pair)],
      [cell, told(ocrSession, [l4], { seen: seen(UUID, 'GPU-9c41aaaa-bbbb-cccc-dddd-eeeeeeeeee0e') })],
      [cell, { as_of: data.NOW, facts: null }]
    ],
    sessions: [data.bertTrain, distSession, ocrSession]
  },
  // Ours: what a kernel without a login is asked by %dra, the page does.
  h6: {
    cells: [
      ['%dra launch --vram 40GB', { asks: 'launch', shell: 'jupyter dra launch --vram 40GB', requirement: { vram: '40GB' } }]
    ],
    sessions: [data.bertTrain]
  },
  j1: {
    cells: [
      [cell, told(data.endedMemory, [h100])],
      [cell, told(fromIdle, [h100])],
      [cell, told(fromFault, [h100])]
    ],
    sessions: [data.endedMemory, fromIdle, fromFault]
  },
  k2: { cells: [[cell, told(data.leaseSoon, [h100])]], sessions: [data.leaseSoon] }
};

/** The notebooks of these frames, by name; `bundles` makes outputs of what kernels were told. */
export function cardNotebooks(bundles) {
  return Object.fromEntries(
    Object.entries(CARD_FRAMES).map(([name, { cells }]) => {
      const outputs = bundles(cells.map(([, what]) => what));
      return [`card-${name}`, notebook(cells.map(([source], index) => ({ source, outputs: [output(outputs[index])] })))];
    })
  );
}
