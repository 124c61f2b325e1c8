import type { Architecture } from '../../src/api/types';
import {
  anyRow,
  choiceOf,
  columns,
  generations,
  offeredTiers,
  sortTiers,
  thumbIndex,
  tierRow,
  usualCount
} from '../../src/model/tiers';
import { ANY, LARGE, MEDIUM, NIC, size, SLICE, SMALL, tier, tierList, TPU } from '../data/answers';

const names = (list: readonly { name: string | null }[]): (string | null)[] => list.map(item => item.name);

test('whole devices by memory, then parts, then kinds without memory, whatever is free', () => {
  expect(names(sortTiers([TPU, SLICE, LARGE, SMALL, MEDIUM]))).toEqual(['small', 'medium', 'large', 'slice', 'tpu']);
  const exhausted = { ...SMALL, free: 0 };
  expect(names(sortTiers([LARGE, exhausted]))).toEqual(['small', 'large']);
});

test('companions and unnamed classes beside named ones stay folded; hidden ones are gone', () => {
  const unnamed = tier('gpu.nvidia.com', { display_name: null });
  const hidden = tier('secret', { hidden: true });
  const { main, other } = offeredTiers(tierList([SMALL, unnamed, NIC, hidden]));
  expect(names(main)).toEqual(['small']);
  expect(names(other)).toEqual(['gpu.nvidia.com', 'nic']);
  expect(names(offeredTiers(tierList([unnamed])).main)).toEqual(['gpu.nvidia.com']);
});

test('a tier below the asked memory is too small, above the limit too large', () => {
  expect(tierRow(SMALL, { vram: '40GB' }).note).toBe('too-small');
  expect(tierRow(LARGE, { max_vram: '40GB' }).note).toBe('too-large');
  expect(tierRow(MEDIUM, { vram: '40GB' }).note).toBeNull();
  expect(tierRow(TPU, { vram: '40GB' }).note).toBeNull();
});

test('a tier that offers only eight devices is chosen with eight, and leaving it takes them back', () => {
  const eight = tier('eight', { usual_count: 8, limits: { ...TPU.limits, counts: [8] } });
  const list = tierList([SMALL, eight]);
  expect(choiceOf(list, { tier: 'small' }, 'eight')).toEqual({ tier: 'eight', count: 8 });
  expect(choiceOf(list, { tier: 'small', count: 2 }, 'eight')).toEqual({ tier: 'eight', count: 8 });
  expect(choiceOf(list, { tier: 'eight', count: 8 }, 'small')).toEqual({ tier: 'small', count: undefined });
  expect(choiceOf(list, { count: 2 }, 'small')).toEqual({ tier: 'small', count: 2 });
  expect(choiceOf(list, { tier: 'eight', count: 8 }, null)).toEqual({ tier: undefined, count: undefined });
});

test('a usual number is shown by choosing its tier, also where a single device is offered', () => {
  const pair = tier('pair', { usual_count: 2, limits: { ...TPU.limits, counts: [1, 2, 4] } });
  const list = tierList([SMALL, pair]);
  expect(choiceOf(list, {}, 'pair')).toEqual({ tier: 'pair', count: 2 });
  expect(choiceOf(list, { count: 4 }, 'pair')).toEqual({ tier: 'pair', count: 4 });
  expect(usualCount(pair)).toBe(2);
  expect(usualCount(undefined)).toBe(1);
});

test('cells count every device once: fitting, free, taken, out of service', () => {
  const row = anyRow(ANY, { vram: '40GB' });
  expect(row.cells).toEqual({ fits: 6, free: 3, taken: 7, out: 2 });
});

test('an unknown free count is no zero', () => {
  const row = tierRow(tier('x', { devices: 8, free: null, free_at_most: 5 }), {});
  expect(row.free).toBeNull();
  expect(row.cells.free).toBe(5);
});

test('the scale has a column for every size that exists, green only inside the limits', () => {
  const list = columns(tierList(), { vram: '40GB' });
  expect(list.map(column => [column.label, column.fits, column.exclusive])).toEqual([
    ['5 GB', false, true],
    ['10 GB', false, true],
    ['24 GB', false, false],
    ['40 GB', true, false],
    ['80 GB', true, false]
  ]);
});

test('a chosen tier lights up its own sizes only', () => {
  const list = columns(tierList(), { tier: 'slice' });
  expect(list.filter(column => column.fits).map(column => column.label)).toEqual(['5 GB', '10 GB']);
});

test('the thumb stands at the next size that has what is asked', () => {
  const list = columns(tierList(), {});
  expect(thumbIndex(list, {})).toBe(-1);
  expect(thumbIndex(list, { vram: '40GB' })).toBe(3);
  expect(thumbIndex(list, { vram: '48GB' })).toBe(4);
  expect(thumbIndex(list, { vram: '141GB' })).toBe(5);
});

test('"or newer" is offered only where one vendor is', () => {
  const generation = (name: string, vendor: string, level: string | null): Architecture => ({
    name,
    vendor,
    compute_capability: level,
    devices: 1
  });
  const nvidia = tier('a', {
    sizes: [size('80 GB', 85e9, 1, 1)],
    architectures: [generation('Hopper', 'nvidia.com', '9.0'), generation('Ampere', 'nvidia.com', '8.0')]
  });
  expect(generations(tierList([nvidia]), null)).toEqual([
    { name: 'Ampere', capability: '8.0' },
    { name: 'Hopper', capability: '9.0' }
  ]);
  const amd = tier('b', {
    drivers: ['gpu.amd.com'],
    sizes: [size('192 GB', 192e9, 1, 1)],
    architectures: [generation('CDNA3', 'amd.com', null)]
  });
  expect(generations(tierList([nvidia, amd]), null).every(item => item.capability === null)).toBe(true);
});
