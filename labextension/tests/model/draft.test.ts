import {
  chipFields,
  draftOf,
  EMPTY_DRAFT,
  isUnreadable,
  patch,
  readWish,
  relax,
  removeChip,
  sameRequirement,
  typeMemory,
  undo,
  deviceOnly
} from '../../src/model/draft';
import { relaxation } from '../data/answers';

test('a typed size goes into the requirement, text that is none takes it out and stays in the field', () => {
  const eighty = typeMemory(EMPTY_DRAFT, 'atLeast', '80 GB');
  expect(eighty.requirement).toEqual({ vram: '80GB' });
  const broken = typeMemory(eighty, 'atLeast', '80 Gx');
  expect(broken.requirement).toEqual({});
  expect(broken.atLeast).toBe('80 Gx');
  expect(isUnreadable(broken.atLeast)).toBe(true);
  expect(isUnreadable('')).toBe(false);
});

test('a column writes the size and the field shows it as on the card', () => {
  const draft = patch(EMPTY_DRAFT, { vram: '40GB' });
  expect(draft.atLeast).toBe('40 GB');
  expect(patch(draft, { vram: undefined })).toMatchObject({ requirement: {}, atLeast: '' });
});

test('a change is applied as one, and can be undone', () => {
  const before = draftOf({ vram: '141GB', near: [{ tier: 'nic' }], align: 'pcieRoot' });
  const after = relax(before, relaxation('drop-near', { near: null, align: null }));
  expect(after.requirement).toEqual({ vram: '141GB' });
  expect(undo(after).requirement).toEqual(before.requirement);
});

test('typing after a change makes the undo disappear', () => {
  const changed = relax(draftOf({ vram: '80GB' }), relaxation('x', { vram: '40GB' }));
  expect(typeMemory(changed, 'atLeast', '24').undo).toBeNull();
});

test('chips are the conditions that say which device; removing one removes it alone', () => {
  const draft = draftOf({ tier: 'large', vram: '80GB', count: 1, image: 'x', near: [{}], align: 'numaNode' });
  expect(chipFields(draft.requirement)).toEqual(['tier', 'vram', 'near']);
  expect(removeChip(draft, 'near').requirement).toEqual({ tier: 'large', vram: '80GB', count: 1, image: 'x' });
});

test('two requests are the same whatever the order of their fields', () => {
  expect(sameRequirement({ vram: '1GB', tier: 'a' }, { tier: 'a', vram: '1GB', product: [] })).toBe(true);
  expect(sameRequirement({ vram: '1GB' }, { vram: '2GB' })).toBe(false);
});

test('a notebook’s wish brings device fields only', () => {
  const wish = readWish({
    version: 1,
    required: {
      vram: '40GB',
      image: 'evil',
      env: { A: '1' },
      namespace: 'kube-system',
      volumes: ['home'],
      context: 'x'
    },
    preferred: { vram: '80GB', count: 2, claim: 'theirs' }
  });
  expect(wish).toEqual({ required: { vram: '40GB' }, preferred: { vram: '80GB', count: 2 } });
});

test.each([
  [null],
  ['text'],
  [{ version: 2, required: { vram: '1GB' } }],
  [{ version: 1, required: { count: 5000, vram: 7, product: { length: 3 }, where: [[]] } }],
  [JSON.parse('{"version": 1, "required": {"__proto__": {"vram": "1GB"}}}')]
])('%j is no wish', metadata => {
  expect(readWish(metadata)).toBeNull();
});

test('companions in a wish are cleaned like the wish itself', () => {
  const wish = readWish({ version: 1, required: { near: [{ tier: 'nic', image: 'evil' }] } });
  expect(wish?.required).toEqual({ near: [{ tier: 'nic' }] });
});

test('what the admin set for every session is not written into a request', () => {
  expect(deviceOnly({ tier: 'small', vram: '24GB', cpu: '4', host_memory: '16Gi', lease: '4h' })).toEqual({
    tier: 'small',
    vram: '24GB'
  });
});
