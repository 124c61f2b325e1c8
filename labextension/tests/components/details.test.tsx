/** The details of a session: everything the server tells, in words, and nothing of it as markup. */

import { fireEvent, render, screen, within } from '@testing-library/react';
import axe from 'axe-core';

import { SessionDetails, type DetailsProps } from '../../src/components/details';
import { SpeechContext } from '../../src/components/speech';
import type { HistoryEntry, Session } from '../../src/api/types';
import { historyLines } from '../../src/format/history';
import type { Speech } from '../../src/format/speech';
import { MARKUP as EVIL } from '../data/foreign';
import { at, endedAs, kernel, NOW, session } from '../data/answers';
import { ENGLISH, pseudoSpeech } from '../data/speech';

const noop = (): void => undefined;

function show(item: Session, change: Partial<DetailsProps> = {}, speech: Speech = ENGLISH): HTMLElement {
  const props = { session: item, now: NOW, tierName: (name: string) => name, onLog: noop, onCopy: noop, ...change };
  return render(
    <SpeechContext.Provider value={speech}>
      <SessionDetails {...props} />
    </SpeechContext.Provider>
  ).container;
}

const happened = (event: string, more: Record<string, unknown> = {}): HistoryEntry => ({
  at: NOW / 1000,
  event,
  ...more
});

const BERT = session('bert', {
  requirement: { tier: 'large', vram: '80GB' },
  kernels: [{ ...kernel('k', 'work/train.ipynb'), image: 'cuda:1', cpu: '4', host_memory: '16Gi' }],
  history: [happened('restarted'), happened('moved', { pod: 'bert-9d3fk-1' })]
});

test('each part says what it is about, values beside their names', () => {
  show(BERT);
  const part = (name: string): string => screen.getByRole('region', { name }).textContent ?? '';
  expect(part('Device')).toContain('gpu-3 · H100 80 GB');
  expect(part('Device')).toContain('dgx-h100-0');
  expect(part('Kernel')).toContain('work/train.ipynb');
  expect(part('Kernel')).toContain('4 CPU, 16 GiB');
  expect(part('Request and claim')).toContain('large, at least 80 GB');
  expect(part('Request and claim')).toContain('bert-9d3fk · made for this session');
  expect(part('Use and lease')).toContain('gpu-3, as predicted');
});

test('what happened stands with the newest first', () => {
  show(BERT);
  const lines = within(screen.getByRole('region', { name: 'What happened' })).getAllByRole('listitem');
  expect(lines.map(line => line.textContent)).toEqual([
    '12:03The kernel moved to pod bert-9d3fk-1.',
    '12:03The kernel restarted in place, on the same device.'
  ]);
});

test.each([
  ['moving', { pod: 'p' }, 'The kernel is moving to pod p.'],
  ['not-moved', { code: 'quota', detail: 'no room' }, 'The kernel stayed in its pod: no room'],
  ['kernel-ended', { code: 'out-of-memory' }, 'A kernel ended: out of host memory'],
  ['reattached', {}, 'A server took the kernel over.'],
  ['reattached', { output: 'lost-until-here' }, 'A server took the kernel over. What it printed before was not kept.'],
  ['pod-lost', { pod: 'p', code: 'node-lost' }, 'The pod p was lost: node lost'],
  [
    'replaced',
    { pod: 'p', same_device: true },
    'The kernel started anew in pod p, on the same device; its variables are gone.'
  ],
  ['replaced', { pod: 'p' }, 'The kernel started anew in pod p, on another device; its variables are gone.'],
  ['died', {}, 'The kernel died: not known why'],
  ['sees-other-devices', { sees: ['GPU-1', 'GPU-2'] }, 'The kernel sees devices it was not given: GPU-1, GPU-2'],
  ['shared', { users: 1 }, '1 person may join.'],
  ['shared', { users: 3 }, '3 people may join.']
])('%s %j reads: %s', (event, more, words) => {
  expect(historyLines(ENGLISH, { ...BERT, history: [happened(event, more)] }).map(line => line.words)).toEqual([words]);
});

test('an event of a newer server is left out rather than shown as a code', () => {
  expect(historyLines(ENGLISH, { ...BERT, history: [happened('invented-later')] })).toEqual([]);
});

test('an ended session begins with why', () => {
  show(session('bert', { state: 'ended', devices: [], ended: endedAs('idle') }));
  expect(screen.getAllByRole('region')[0]!.textContent).toContain('The session ended: not used');
  expect(screen.queryByText('At most until')).toBeNull();
});

test('the whole record can be copied as the server told it', () => {
  const copied: string[] = [];
  show(BERT, { onCopy: text => copied.push(text) });
  fireEvent.click(screen.getByRole('button', { name: 'Copy as JSON' }));
  expect((JSON.parse(copied[0]!) as Session).id).toBe(BERT.id);
});

test.each(EVIL)('foreign names stay text: %s', text => {
  const item = session(text, {
    namespace: text,
    kernels: [kernel('k', text)],
    history: [happened('died', { detail: text })]
  });
  const container = show(item);
  expect(container.querySelectorAll('img, script, style, a')).toHaveLength(0);
});

test('every word goes through the translator, and axe finds nothing', async () => {
  const container = show({ ...BERT, created_at: at(-60) }, {}, pseudoSpeech());
  const heads = [...container.querySelectorAll('h2, dt')].map(node => node.textContent ?? '');
  expect(heads.length).toBeGreaterThan(8);
  expect(heads.filter(text => !text.includes('⟦'))).toEqual([]);
  const { violations } = await axe.run(container, { rules: { region: { enabled: false } } });
  expect(violations.map(item => item.id)).toEqual([]);
});
