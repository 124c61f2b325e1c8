import { inHeldOrder } from '../../src/model/heldorder';

const same = (item: string): string => item;

test('nobody points at them: rows stand as sorted', () => {
  expect(inHeldOrder(['b', 'a'], same, null)).toEqual(['b', 'a']);
});

test('held rows keep their places, gone ones leave, new ones come first', () => {
  expect(inHeldOrder(['c', 'new', 'a'], same, ['a', 'b', 'c'])).toEqual(['new', 'a', 'c']);
});
