import type { CompactDeviceList, Device } from '../../src/api/types';
import { fitsDevice } from '../../src/model/devicefit';
import { KindGroups } from '../../src/model/grouping';
import { byNode, expand, inventoryOf, MANY_DEVICES, type Inventory } from '../../src/model/inventory';
import { CONTEXT, device } from '../data/answers';

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

const VISIBLE = { slices: true, claims: 'all' } as const;

function list(devices: readonly Device[], revision = 1, change: object = {}): Parameters<typeof inventoryOf>[0] {
  return { kind: 'DeviceList', version: 1, context: CONTEXT, revision, visible: VISIBLE, devices, ...change };
}

function names(inventory: Inventory): string[] {
  return inventory.rows.flatMap(row => row.devices.map(item => `${row.name}/${item.name}:${item.state}`));
}

test('columns become devices again: runs, cells, single values, holders', () => {
  const compact: CompactDeviceList = {
    kind: 'CompactDeviceList',
    version: 1,
    context: CONTEXT,
    revision: 7,
    visible: VISIBLE,
    total: 4,
    rows: 4,
    columns: {
      node: { values: ['n1', null, 'n2, n3'], runs: [0, 2, 1, 1, 2, 1] },
      driver: { values: ['d'] },
      pool: { values: ['p'] },
      name: { values: ['gpu-0', 'gpu-1'], cells: [0, 1, 0, 1] },
      device_kind: { values: ['gpu'] },
      label: { values: ['H100 80 GB'] },
      product: { values: ['NVIDIA H100 80GB HBM3'] },
      memory_bytes: { values: [80e9] },
      state: { values: ['free', 'yours'], cells: [0, 1, 1, 0] },
      tiers: { values: [['large']] },
      simulated: { values: [true] },
      taints: { values: [[]] },
      holders: { values: [[], [0], [1, 0]], cells: [0, 1, 2, 0] }
    },
    holders: {
      rows: 2,
      columns: { who: { values: ['you', 'namespace'], cells: [0, 1] }, claim: { values: ['a', 'b'], cells: [0, 1] } }
    }
  };
  const devices = expand(compact);
  expect(devices.map(item => [item.nodes, item.name, item.state])).toEqual([
    [['n1'], 'gpu-0', 'free'],
    [['n1'], 'gpu-1', 'yours'],
    [null, 'gpu-0', 'yours'],
    [['n2', 'n3'], 'gpu-1', 'free']
  ]);
  expect(devices[0]).toMatchObject({ label: 'H100 80 GB', memory_bytes: 80e9, tiers: ['large'], simulated: true });
  expect(devices.map(item => item.holders)).toEqual([
    [],
    [{ who: 'you', claim: 'a' }],
    [
      { who: 'namespace', claim: 'b' },
      { who: 'you', claim: 'a' }
    ],
    []
  ]);
});

test('a change renews the row of its device and leaves all other rows the same objects', () => {
  const first = inventoryOf(list([device('n1', 'gpu-0'), device('n1', 'gpu-1'), device('n2', 'gpu-0')]), null);
  const taken = list([device('n1', 'gpu-1', { state: 'taken' })], 2, { since: 1 });
  const second = inventoryOf(taken, first);
  expect(names(second)).toEqual(['n1/gpu-0:free', 'n1/gpu-1:taken', 'n2/gpu-0:free']);
  expect(second.rows[1]).toBe(first.rows[1]);
  expect(second.devices).toHaveLength(3);
  expect(second.revision).toBe(2);
});

test('devices that go, come and move are taken in by one change', () => {
  const first = inventoryOf(list([device('n1', 'a'), device('n2', 'b'), device('n2', 'c', { pool: 'spread' })]), null);
  const change = { since: 1, removed: [['gpu.nvidia.com', 'n1', 'a']] };
  const moved = device('n3', 'c', { pool: 'spread' });
  const second = inventoryOf(list([moved, device('n2', 'a2')], 2, change), first);
  expect(names(second)).toEqual(['n2/a2:free', 'n2/b:free', 'n3/c:free']);
});

test('an answer that is no change of what is known replaces it', () => {
  const first = inventoryOf(list([device('n1', 'a')]), null);
  expect(names(inventoryOf(list([device('n2', 'b')], 9), first))).toEqual(['n2/b:free']);
  expect(names(inventoryOf(list([device('n2', 'b')], 9, { since: 5 }), first))).toEqual(['n2/b:free']);
});

test('where nothing changed the inventory is the same object', () => {
  const first = inventoryOf(list([device('n1', 'a')]), null);
  expect(inventoryOf(list([], 1, { since: 1, removed: [] }), first)).toBe(first);
});

test('many devices keep the order of the server', () => {
  const many = Array.from({ length: MANY_DEVICES }, (_, index) => device(`n${index % 3}`, `gpu-${9999 - index}`));
  expect(byNode(many)[0]?.devices[0]?.name).toBe('gpu-9999');
});

const anything = (): boolean => true;
const small = { label: 'L4 24 GB', memory_bytes: 24e9 };

test('groups by kind put the largest memory first and the most fitting nodes first', () => {
  const rows = byNode([
    device('l', 'gpu-0', small),
    device('h1', 'gpu-0', { state: 'taken' }),
    device('h2', 'gpu-0'),
    device('h2', 'nic', { device_kind: 'nic', label: 'NIC' })
  ]);
  const groups = new KindGroups().of(rows, anything);
  expect(groups.map(group => group.label)).toEqual(['H100 80 GB', 'L4 24 GB']);
  expect(groups[0]?.nodes.map(row => row.name)).toEqual(['h2', 'h1']);
  expect(groups[0]?.counts).toEqual({ devices: 3, free: 2, fitting: 2, fittingNodes: 1, yours: 0, unseen: 0 });
});

test('a change keeps nodes in their places, and groups it does not touch the same objects', () => {
  const kinds = new KindGroups();
  const first = inventoryOf(
    list([device('h1', 'a'), device('h2', 'a', { state: 'taken' }), device('l', 'a', small)]),
    null
  );
  const before = kinds.of(first.rows, anything);
  const free = list([device('h1', 'a', { state: 'taken' }), device('h2', 'a')], 2, { since: 1 });
  const after = kinds.of(inventoryOf(free, first).rows, anything);
  expect(after[0]?.nodes.map(row => row.name)).toEqual(['h1', 'h2']);
  expect(after[0]?.counts.fitting).toBe(1);
  expect(after[1]).toBe(before[1]);
});

test('another request sorts the nodes anew', () => {
  const kinds = new KindGroups();
  const rows = byNode([device('h1', 'a'), device('h2', 'b')]);
  kinds.of(rows, item => item.name === 'a');
  const [group] = kinds.of(rows, item => item.name === 'b');
  expect(group?.nodes.map(row => row.name)).toEqual(['h2', 'h1']);
});
