import { cutMiddle, fill, initial, plain, plainLines, sentence, sentenceText, spans } from '../../src/format/text';

test('control, bidi and invisible characters of foreign names are written out', () => {
  expect(plain('a\u202eb\u001b[31m')).toBe('a\\u202eb\\u001b[31m');
  expect(plain('zero\u200bwidth')).toBe('zero\\u200bwidth');
  expect(plain('größe 東京 🙂')).toBe('größe 東京 🙂');
  expect(plain('soft\u00adhyphen\u2028line\ud800')).toBe('soft\\u00adhyphen\\u2028line\\ud800');
  expect(plain('tag\u{e0041}')).toBe('tag\\u{e0041}');
});

test('text of several lines keeps its line ends and tabs, and nothing else that is not seen', () => {
  expect(plainLines('a\tb\r\nc\u001b[2Jd\u202e')).toBe('a\tb\nc\\u001b[2Jd\\u202e');
});

test('long names are cut in the middle', () => {
  const name = `${'a'.repeat(30)}${'b'.repeat(30)}`;
  const cut = cutMiddle(name);
  expect([...cut]).toHaveLength(40);
  expect(cut.startsWith('aaa')).toBe(true);
  expect(cut.endsWith('bbb')).toBe(true);
  expect(cutMiddle('short')).toBe('short');
});

test('values are never read as templates', () => {
  expect(fill('{a} and {b}', { a: '{b}', b: 'x' })).toBe('{b} and x');
  expect(fill('{missing}', {})).toBe('{missing}');
});

test('emphasis comes from the template, never from a value', () => {
  const parts = spans('Likely **{device}** on {node}.', { device: '**x**', node: '<img>' });
  expect(parts.filter(part => part.strong).map(part => part.text)).toEqual(['**x**']);
  expect(sentenceText(sentence('Likely **{device}**.', { device: 'an A100' }))).toBe('Likely an A100.');
});

test('an initial is the first grapheme', () => {
  expect(initial('bert')).toBe('b');
  expect(initial('🇩🇪 train')).toBe('🇩🇪');
  expect(initial('')).toBe('');
});
