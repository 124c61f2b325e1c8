import type { Device } from '../../src/api/types';
import { fitsDevice } from '../../src/model/devicefit';
import { byKind, byNode, expandDevices } from '../../src/model/devices';

function device(node: string, name: string, change: Partial<Device> = {}): Device {
  return {
    driver: 'gpu.nvidia.com',
    pool: node,
    name,
    nodes: [node],
    device_kind: 'gpu',
    label: 'H100 80 GB',
    product: 'NVIDIA H100 80GB HBM3',
    memory_bytes: 85520809984,
    memory_published: null,
    state: 'free',
    tiers: ['large'],
    holders: [],
    ...change
  };
}

test('nodes and devices are sorted as people count', () => {
  const rows = byNode([device('n10', 'gpu-10'), device('n10', 'gpu-2'), device('n2', 'gpu-0')]);
  expect(rows.map(row => [row.name, row.devices.map(item => item.name)])).toEqual([
    ['n2', ['gpu-0']],
    ['n10', ['gpu-2', 'gpu-10']]
  ]);
});

test('devices of no single node stand in one row at the end', () => {
  const rows = byNode([device('a', 'x', { nodes: null }), device('b', 'y')]);
  expect(rows.map(row => row.name)).toEqual(['b', '']);
});

test('groups by kind put the largest memory first and the most fitting nodes first', () => {
  const small = { label: 'L4 24 GB', memory_bytes: 24e9 };
  const groups = byKind(
    byNode([
      device('l', 'gpu-0', small),
      device('h1', 'gpu-0', { state: 'taken' }),
      device('h2', 'gpu-0'),
      device('h2', 'nic', { device_kind: 'nic', label: null })
    ]),
    () => true
  );
  expect(groups.map(group => group.label)).toEqual(['H100 80 GB', 'L4 24 GB']);
  expect(groups[0]?.nodes.map(row => row.name)).toEqual(['h2', 'h1']);
});

test('the picture lights up what the form asks for', () => {
  const ampere = { attributes: { 'gpu.nvidia.com/architecture': { string: 'Ampere' } } };
  expect(fitsDevice({})(device('n', 'a'))).toBe(true);
  expect(fitsDevice({})(device('n', 'a', { device_kind: 'tpu' }))).toBe(false);
  expect(fitsDevice({ tier: 'small' })(device('n', 'a'))).toBe(false);
  expect(fitsDevice({ vram: '141GB' })(device('n', 'a'))).toBe(false);
  expect(fitsDevice({ product: 'H100' })(device('n', 'a'))).toBe(true);
  expect(fitsDevice({ product: 'H10' })(device('n', 'a'))).toBe(false);
  expect(fitsDevice({ architecture: ['Hopper'] })(device('n', 'a', ampere))).toBe(false);
});

test('columns become devices again, unchanged ones the same objects', () => {
  const compact = (state: number): Parameters<typeof expandDevices>[0] => ({
    kind: 'CompactDeviceList',
    version: 1,
    context: {},
    revision: 7,
    visible: { slices: true, claims: 'all' },
    columns: [
      'node',
      'driver',
      'pool',
      'name',
      'device_kind',
      'label',
      'memory_bytes',
      'state',
      'tiers',
      'who',
      'simulated'
    ],
    values: {
      node: ['n1', null],
      driver: ['d'],
      pool: ['p'],
      device_kind: ['gpu'],
      label: ['H100 80 GB'],
      state: ['free', 'yours'],
      tiers: [['large']],
      who: [null, 'you']
    },
    rows: [
      [0, 0, 0, 'gpu-0', 0, 0, 80e9, 0, 0, 0, 1],
      [1, 0, 0, 'gpu-1', 0, 0, 80e9, state, 0, state, 1]
    ]
  });
  const first = expandDevices(compact(0), null);
  expect(first.devices[0]).toMatchObject({
    nodes: ['n1'],
    name: 'gpu-0',
    state: 'free',
    tiers: ['large'],
    holders: [],
    simulated: true
  });
  const second = expandDevices(compact(1), first);
  expect(second.devices[0]).toBe(first.devices[0]);
  expect(second.devices[1]).toMatchObject({ nodes: null, state: 'yours', holders: [{ who: 'you' }] });
});
