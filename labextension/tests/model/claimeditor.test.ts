import { Problem } from '../../src/api/client';
import type { ClaimPreview } from '../../src/api/types';
import { ClaimEditor } from '../../src/model/claimeditor';
import { asForm, draftOf, written } from '../../src/model/draft';

const CLAIM = { kind: 'ResourceClaim', spec: {} };
const READ = { claim: CLAIM, yaml: 'kind: ResourceClaim', findings: [], form: { tier: 'big' }, kept: [] };

function reads(): { asked: string[]; signals: AbortSignal[]; readClaim: jest.Mock } {
  const asked: string[] = [];
  const signals: AbortSignal[] = [];
  const readClaim = jest.fn((text: string, { signal }: { signal: AbortSignal }) => {
    asked.push(text);
    signals.push(signal);
    return text === 'no claim'
      ? Promise.reject(new Problem(422, { detail: 'This must be one ResourceClaim.' }))
      : Promise.resolve(READ as unknown as ClaimPreview);
  });
  return { asked, signals, readClaim };
}

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

test('typing asks once, a moment after the last key', async () => {
  const client = reads();
  const editor = new ClaimEditor(client);
  editor.type('a');
  editor.type('ab');
  await jest.advanceTimersByTimeAsync(249);
  expect(client.asked).toEqual([]);
  await jest.advanceTimersByTimeAsync(1);
  expect(client.asked).toEqual(['ab']);
  expect(editor.state.value?.read).toBe(READ);
});

test('a text that is no claim says why and cannot be used', async () => {
  const editor = new ClaimEditor(reads());
  editor.open('no claim');
  await jest.advanceTimersByTimeAsync(0);
  expect(editor.state.value).toEqual({ text: 'no claim', read: null, problem: 'This must be one ResourceClaim.' });
});

test('the answer to an older text is dropped, its request cancelled', async () => {
  const client = reads();
  let answer: (value: ClaimPreview) => void = () => undefined;
  client.readClaim.mockImplementationOnce((_text: string, { signal }: { signal: AbortSignal }) => {
    client.signals.push(signal);
    return new Promise(resolve => (answer = resolve));
  });
  const editor = new ClaimEditor(client);
  editor.open('old');
  await jest.advanceTimersByTimeAsync(0);
  editor.type('new');
  answer({ ...READ, yaml: 'old' } as unknown as ClaimPreview);
  await jest.advanceTimersByTimeAsync(0);
  expect(client.signals[0]?.aborted).toBe(true);
  expect(editor.state.value).toEqual({ text: 'new', read: null, problem: null });
});

test('closing forgets the text', async () => {
  const editor = new ClaimEditor(reads());
  editor.open('x');
  editor.close();
  await jest.advanceTimersByTimeAsync(500);
  expect(editor.state.value).toBeNull();
});

test('a written claim replaces what says which device and keeps the rest; one step back is there', () => {
  const draft = written(draftOf({ vram: '80GB', count: 2, lease: '4h', image: 'x' }), CLAIM);
  expect(draft.requirement).toEqual({ claim: CLAIM, lease: '4h', image: 'x' });
  expect(draft.atLeast).toBe('');
  expect(draft.undo).toEqual({ vram: '80GB', count: 2, lease: '4h', image: 'x' });
});

test('back to the form takes what the claim says in fields, and what runs on the device', () => {
  const draft = written(draftOf({ vram: '80GB', lease: '4h' }), CLAIM);
  expect(asForm(draft, { tier: 'big', vram: '40GB' }).requirement).toEqual({ tier: 'big', vram: '40GB', lease: '4h' });
  expect(asForm(draft, null).requirement).toEqual({ lease: '4h' });
});
