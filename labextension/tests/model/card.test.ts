import { readCard } from '../../src/model/card';

const CARD = {
  version: 1,
  card: 'device',
  as_of: '2026-11-30T12:03:04Z',
  session: { id: 'bert-9d3fk', name: 'bert' },
  devices: [
    {
      name: 'gpu-3',
      node: 'n',
      driver: 'gpu.nvidia.com',
      product: 'NVIDIA H100 80GB HBM3',
      attributes: {
        'gpu.nvidia.com/architecture': { string: 'Hopper' },
        'resource.kubernetes.io/numaNode': { int: 0 }
      },
      sources: { 'gpu.nvidia.com/architecture': 'session' }
    }
  ],
  notes: ['Simulated device: nothing computes on it.']
};

test('a card of ours is read, values with their source', () => {
  const card = readCard(CARD);
  expect(card?.devices[0]?.attributes).toEqual([
    { name: 'gpu.nvidia.com/architecture', value: 'Hopper', source: 'session' },
    { name: 'resource.kubernetes.io/numaNode', value: '0', source: null }
  ]);
  expect(card?.notes).toHaveLength(1);
});

test.each([
  [null],
  ['card'],
  [{ ...CARD, version: 2 }],
  [{ ...CARD, card: 'tiers' }],
  [{ version: 1 }],
  [{ ...CARD, message: 'x'.repeat(300_000) }],
  [[CARD]]
])('%# is no card', data => {
  expect(readCard(data)).toBeNull();
});

test('lists and texts are capped, odd types dropped', () => {
  const card = readCard({
    ...CARD,
    message: 'm'.repeat(2000),
    devices: Array.from({ length: 500 }, () => ({ name: 7, memory_bytes: 'many', attributes: 'none' })),
    held: [{ id: 3 }, { id: 'a-11111' }],
    ended: { code: { toString: 'x' } }
  });
  expect(card?.devices).toHaveLength(64);
  expect(card?.devices[0]).toMatchObject({ name: '', memoryBytes: null, attributes: [] });
  expect(card?.message?.length).toBeLessThan(600);
  expect(card?.held).toEqual([{ id: 'a-11111', name: 'a-11111' }]);
  expect(card?.ended).toBeNull();
});

test('a prototype in the data changes nothing', () => {
  const data = JSON.parse('{"version": 1, "card": "none", "__proto__": {"devices": [{"name": "x"}]}}');
  expect(readCard(data)?.devices).toEqual([]);
  expect(({} as { devices?: unknown }).devices).toBeUndefined();
});

test('a circular value is no card', () => {
  const data: Record<string, unknown> = { version: 1, card: 'none' };
  data['self'] = data;
  expect(readCard(data)).toBeNull();
});

test('a gap in the output is read as numbers and times, whatever else the file says', () => {
  const told = { lines: 12.7, bytes: -1, since: '2026-11-30T12:02:00Z', until: 7, extra: '<b>' };
  expect(readCard({ version: 1, card: 'gap', gap: told })?.gap).toEqual({
    lines: 12,
    bytes: 0,
    since: '2026-11-30T12:02:00Z',
    until: null
  });
  expect(readCard({ version: 1, card: 'none' })?.gap).toBeNull();
});
