import { checkArgs, foreignRequirement, sessionFor, type ArgSchema } from '../../src/model/commandargs';
import { kernel, session } from '../data/answers';

const SESSION: ArgSchema = {
  type: 'object',
  additionalProperties: false,
  properties: { session: { type: 'string', maxLength: 253 } }
};

test('known arguments of the right type pass, and what JupyterLab adds itself', () => {
  expect(() => checkArgs({ session: 'bert-9d3fk', isPalette: true }, SESSION)).not.toThrow();
  expect(() => checkArgs({}, SESSION)).not.toThrow();
});

test.each([
  [{ confirmed: true }],
  [{ session: 7 }],
  [{ session: 'x'.repeat(300) }],
  [{ session: { id: 'x' } }],
  [{ namespace: 'kube-system' }]
])('%j is refused', args => {
  expect(() => checkArgs(args, SESSION)).toThrow(/not accepted/);
});

test('a request from outside brings device fields only', () => {
  expect(foreignRequirement({ vram: '80GB', image: 'evil', env: {}, namespace: 'x', count: 2 })).toEqual({
    vram: '80GB',
    count: 2
  });
  expect(foreignRequirement('text')).toEqual({});
});

test('the session meant: by id, else the current notebook’s, else the only one, never a guess among several', () => {
  const own = session('own', { kernels: [kernel('k', 'a.ipynb')] });
  const other = session('other');
  const bench = (live: (typeof own)[], kernelId: string | null): Parameters<typeof sessionFor>[0] =>
    ({
      live,
      current: kernelId ? { kernelId } : null,
      sessions: {
        get: (id: string) => live.find(item => item.id === id),
        byKernel: (id: string | null) => live.find(item => item.kernels.some(entry => entry.id === id))
      }
    }) as unknown as Parameters<typeof sessionFor>[0];
  expect(sessionFor(bench([own, other], 'k'), {})?.name).toBe('own');
  expect(sessionFor(bench([own, other], 'k'), { session: other.id })?.name).toBe('other');
  expect(sessionFor(bench([own, other], 'k'), { session: 'unknown' })).toBeNull();
  expect(sessionFor(bench([own, other], null), {})).toBeNull();
  expect(sessionFor(bench([other], null), {})?.name).toBe('other');
});
