import { clock, duration, parseDuration, runningClock, spacedDuration, wireDuration } from '../../src/format/durations';
import { count, money, price, soFar } from '../../src/format/numbers';
import { shortProduct, withArticle } from '../../src/format/products';
import { cardSize, parseSize, sizeLabel, used, usedOf, wireBytes } from '../../src/format/sizes';
import { localeTag } from '../../src/format/speech';
import { NOW } from '../data/answers';
import { ENGLISH } from '../data/speech';

const GIB = 2 ** 30;

test('a typed size without a unit means GB as on the card', () => {
  expect(parseSize('80')).toEqual({ bytes: 80e9, wire: '80GB', binary: false });
  expect(parseSize(' 80 gb ')?.wire).toBe('80GB');
  expect(parseSize('1,5 TB')?.bytes).toBe(1.5e12);
});

test('a typed GiB size stays GiB', () => {
  expect(parseSize('80Gi')).toEqual({ bytes: 80 * GIB, wire: '80Gi', binary: true });
  expect(parseSize('80 GiB')?.wire).toBe('80Gi');
  expect(sizeLabel('80Gi')).toBe('80 GiB');
});

test.each(['', 'lots', '0', '-3 GB', '80 Gx', '8e9'])('%p is no size', text => {
  expect(parseSize(text)).toBeNull();
});

test('sizes on the wire read back as bytes', () => {
  expect(wireBytes('40G')).toBe(40e9);
  expect(wireBytes('81559Mi')).toBe(81559 * 2 ** 20);
  expect(wireBytes('85520809984')).toBe(85520809984);
  expect(wireBytes(undefined)).toBeNull();
});

test('memory in use is GiB with one decimal, MiB below one, whole from a hundred', () => {
  expect(usedOf(ENGLISH, 37.4 * GIB, 79.6 * GIB)).toBe('37.4 of 79.6 GiB');
  expect(used(ENGLISH, 525234176)).toBe('501 MiB');
  expect(used(ENGLISH, 141.2 * GIB)).toBe('141 GiB');
  expect(usedOf(ENGLISH, 0, 79.6 * GIB)).toBe('0 of 79.6 GiB');
});

test('a size without a product name is whole decimal GB, rounded down', () => {
  expect(cardSize(85520809984)).toBe('85 GB');
  expect(cardSize(80e9)).toBe('80 GB');
});

test.each([
  [0.72, '0.7 s'],
  [9.99, '9.9 s'],
  [48, '48 s'],
  [26 * 60 + 59, '26 min'],
  [7080, '1 h 58 min'],
  [3600, '1 h'],
  [2 * 86400 + 4 * 3600, '2 d 4 h']
])('%p seconds read as %p', (seconds, text) => {
  expect(duration(ENGLISH, seconds)).toBe(text);
});

test('clocks run as m:ss', () => {
  expect(runningClock(48)).toBe('0:48');
  expect(runningClock(3729)).toBe('1:02:09');
});

test('a time is a clock today, a weekday within a week, else a date', () => {
  expect(clock(ENGLISH, '2026-11-30T14:30:00Z', NOW)).toBe('14:30');
  expect(clock(ENGLISH, '2026-11-28T09:12:00Z', NOW)).toBe('Sat 09:12');
  expect(clock(ENGLISH, '2026-10-01T09:12:00Z', NOW)).toBe('1 Oct 2026');
  expect(clock(ENGLISH, 'nonsense', NOW)).toBe('');
});

test('durations are read as people write them and written as requirements do', () => {
  expect(parseDuration('4 h')).toBe(14400);
  expect(parseDuration('1h30m')).toBe(5400);
  expect(parseDuration('30 min')).toBe(1800);
  expect(parseDuration('soon')).toBeNull();
  expect(wireDuration(5400)).toBe('1h30m');
  expect(spacedDuration('1h30m')).toBe('1 h 30 min');
});

test('money is in the admin’s currency, and what was spent rounds down', () => {
  const euro = { amount: '2.90', currency: 'EUR', per: 'hour' as const };
  expect(price(ENGLISH, euro)).toBe('€2.90/h');
  expect(soFar(ENGLISH, euro, 0.8)).toBe('€2.32');
  expect(soFar(ENGLISH, euro, 0.999)).toBe('€2.89');
  expect(price(ENGLISH, { ...euro, amount: 'cheap' })).toBeNull();
  expect(price(ENGLISH, null)).toBeNull();
  expect(money(ENGLISH, 3, 'credits!')).toBe('3.00 credits!');
});

test('counts are grouped', () => {
  expect(count(ENGLISH, 28400)).toBe('28,400');
});

test.each([
  ['NVIDIA H100 80GB HBM3', 'H100'],
  ['NVIDIA A100-SXM4-40GB', 'A100'],
  ['AMD Instinct MI300X', 'MI300X'],
  ['NVIDIA L4', 'L4'],
  ['LATEST-GPU-MODEL', 'LATEST-GPU-MODEL']
])('%p is %p for short', (name, short) => {
  expect(shortProduct(name)).toBe(short);
});

test.each([
  ['A100 40 GB', 'an A100 40 GB'],
  ['H100 80 GB', 'an H100 80 GB'],
  ['T4', 'a T4'],
  ['TPU v6e', 'a TPU v6e'],
  ['MI300X', 'an MI300X'],
  ['GPU', 'a GPU']
])('%p takes its article', (label, text) => {
  expect(withArticle(ENGLISH, label)).toBe(text);
});

test('JupyterLab’s locale becomes a language tag', () => {
  expect(localeTag('de_DE', 'en')).toBe('de-DE');
  expect(localeTag('default', 'fr')).toBe('fr');
  expect(localeTag('!!', 'fr')).toBe('en');
});
