/** Device cards in outputs: current while the session runs, plain afterwards, harmless always. */

import { fireEvent, render, screen } from '@testing-library/react';
import axe from 'axe-core';

import type { Session } from '../../src/api/types';
import { CardView, type CardActions, type CardProps, type RunningFacts } from '../../src/components/card';
import { SpeechContext } from '../../src/components/speech';
import type { Speech } from '../../src/format/speech';
import { readCard } from '../../src/model/card';
import { cardNews, noNews, type CardNews } from '../../src/model/cardnews';
import { Observable } from '../../src/model/observable';
import { MARKUP } from '../data/foreign';
import { at, endedAs, kernel, NOW, session } from '../data/answers';
import { ENGLISH, pseudoSpeech } from '../data/speech';

const GIB = 2 ** 30;
const noop = (): void => undefined;

const DEVICE = {
  version: 1,
  card: 'device',
  as_of: at(0),
  session: { id: 'bert-9d3fk', name: 'bert', kernel_id: 'k1' },
  lease: { ends_at: at(60) },
  usage: { memory_used_bytes: 1e9, memory_total_bytes: 80e9 },
  inside: { sees: 1, given: 1, at: at(0) },
  devices: [
    {
      name: 'gpu-3',
      node: 'dgx-h100-0',
      driver: 'gpu.nvidia.com',
      label: 'H100 80 GB',
      product: 'NVIDIA H100 80GB HBM3',
      attributes: {
        'gpu.nvidia.com/driverVersion': { version: '580.126.20' },
        'gpu.nvidia.com/cudaDriverVersion': { version: '13.0.0' },
        'gpu.nvidia.com/uuid': { string: 'GPU-edc12292-0000-7d' }
      }
    }
  ]
};

const BERT = session('bert', {
  kernels: [kernel('k1', 'train.ipynb', 'busy'), kernel('k2', 'eval.ipynb')],
  price: {
    amount: '2.90',
    currency: 'EUR',
    per: 'hour',
    so_far: null,
    since: session('bert').ready_at,
    counted_with: null
  },
  usage: {
    at: at(0),
    source: 'nvml',
    memory_used_bytes: 37.4 * GIB,
    memory_total_bytes: 79.6 * GIB,
    utilisation_percent: 87,
    peak_bytes: null,
    complete: true,
    by_kernel: [
      { kernel: 'k1', memory_used_bytes: 31 * GIB, cell: null },
      { kernel: 'k2', memory_used_bytes: 6.1 * GIB, cell: null }
    ],
    why_missing: null
  }
});

const news = (found: Session | null, change: Partial<CardNews> = {}): CardNews => ({
  ...noNews(NOW),
  session: found,
  ...change
});

const actions = (change: Partial<CardActions> = {}): CardActions => ({
  act: noop,
  again: noop,
  log: noop,
  useHere: noop,
  getDevice: noop,
  ask: noop,
  ...change
});

function card(data: unknown, change: Partial<CardProps> = {}): CardProps {
  const running: RunningFacts = { extendSeconds: 7200, endsSoon: false, idle: null };
  return {
    card: readCard(data)!,
    news: noNews(NOW),
    newsOf: () => noNews(NOW),
    running: () => running,
    actions: actions(),
    onCopy: noop,
    ...change
  };
}

function show(props: CardProps, speech: Speech = ENGLISH): HTMLElement {
  return render(
    <SpeechContext.Provider value={speech}>
      <CardView {...props} />
    </SpeechContext.Provider>
  ).container;
}

test('while its session runs the card says what the server knows now, not what the output was saved with', () => {
  const container = show(card(DEVICE, { news: news(BERT) }));
  expect(container.textContent).toContain('37.4 of 79.6 GiB · 47 %');
  expect(container.textContent).toContain('this notebook 31.0 · eval.ipynb 6.1 · driver 0.3');
  expect(container.textContent).toContain('4 h left · €0.48');
  expect(container.textContent).toContain('whole device, your 2 notebooks');
  expect(container.textContent).toContain('580.126.20, CUDA 13.0');
  expect(container.textContent).toContain('sees 1 device, the same one');
  expect(container.textContent).toContain('gpu-3, as predicted');
  expect(container.textContent).toContain('Checked: cluster 12:03:04, kernel 12:03:04');
  expect(screen.getByText('busy')).toBeTruthy();
});

test('its buttons name their session and are asked for by name', () => {
  const act = jest.fn();
  show(card(DEVICE, { news: news(BERT), actions: actions({ act }) }));
  screen.getByRole('button', { name: 'Extend bert' }).click();
  screen.getByRole('button', { name: 'Claim of bert' }).click();
  screen.getByRole('button', { name: 'Stop bert' }).click();
  expect(act.mock.calls).toEqual([
    ['extend', BERT.id],
    ['describe', BERT.id],
    ['stop', BERT.id]
  ]);
});

test('a lease that ends soon is said with its time and with how far it can go', () => {
  const soon = { ...BERT, lease: { ...BERT.lease!, ends_at: at(9.5), longest_until: at(489) } };
  const running = (): RunningFacts => ({ extendSeconds: 7200, endsSoon: true, idle: null });
  const container = show(card(DEVICE, { news: news(soon), running }));
  expect(container.textContent).toContain('9 min left');
  expect(container.textContent).toContain('Ends at 12:12, even if a cell runs. Results in variables are lost then.');
  expect(container.textContent).toContain('up to 20:12');
});

test('when the session ends the card says why and offers what helps', () => {
  const again = jest.fn();
  const params = { host_memory: '16Gi', device_used_bytes: 31 * GIB, device_total_bytes: 79.6 * GIB };
  const ended = {
    ...BERT,
    state: 'ended' as const,
    requirement: { vram: '80GB', host_memory: '16Gi' },
    ended: endedAs('out-of-memory', { at: at(-1), exit_code: 137, params })
  };
  const container = show(card(DEVICE, { news: news(ended), actions: actions({ again }) }));
  expect(container.querySelector('.dra-mod-fault')).not.toBeNull();
  expect(container.textContent).toContain('The kernel was ended: out of host memory');
  screen.getByRole('button', { name: 'Start again with 32 GiB' }).click();
  expect(again).toHaveBeenCalledWith(ended, expect.objectContaining({ change: { host_memory: '32Gi' } }));
  expect(screen.getByRole('button', { name: 'Start again as before' })).toBeTruthy();
  expect(screen.getByRole('button', { name: 'Last lines of the log' })).toBeTruthy();
});

test('a card whose session is gone is one line: when, that it is over, and the facts', () => {
  const container = show(card(DEVICE, { news: news(null, { over: true }) }));
  expect(container.textContent).toContain('12:03 · over');
  expect(container.textContent).not.toMatch(/GiB|left|Stop/);
  fireEvent.click(screen.getByRole('button', { name: 'Facts' }));
  expect(screen.getByText('580.126.20, CUDA 13.0')).toBeTruthy();
});

test('a saved card never shows use, lease, price or buttons that act', () => {
  const container = show(card(DEVICE, { actions: null }));
  expect(container.textContent).toContain('as of 12:03');
  expect(container.textContent).not.toMatch(/GiB|left|Stop|€/);
});

test('while the connection is lost the card says since when, and nothing can be pressed', () => {
  const container = show(card(DEVICE, { news: news(BERT, { asOf: NOW }) }));
  expect(container.textContent).toContain('as of 12:03');
  expect(screen.queryByRole('button', { name: 'Stop bert' })).toBeNull();
});

test('a mismatch names the extra device', () => {
  const inside = { sees: 2, given: 1, extra: 'GPU-9c41aaaa-bbbb-cccc-0e' };
  const container = show(
    card({ ...DEVICE, card: 'mismatch', inside, notes: ['the same in words'] }, { news: news(BERT) })
  );
  expect(container.textContent).toContain('This kernel sees 2 devices but was given 1. The extra one (GPU-9c41…');
  expect(container.textContent).not.toContain('the same in words');
});

test('sessions are listed one line each, those that run with their use', () => {
  const sessions = {
    sessions: [
      { id: BERT.id, devices: DEVICE.devices },
      { id: 'old-11111', devices: DEVICE.devices }
    ]
  };
  const newsOf = (id: string): CardNews => (id === BERT.id ? news(BERT) : news(null, { over: true }));
  const container = show(card({ version: 1, card: 'sessions', sessions }, { newsOf }));
  const lines = [...container.querySelectorAll('.dra-Out-line')].map(line => line.textContent);
  expect(lines).toHaveLength(2);
  expect(lines[0]).toContain('37.4 of 79.6 GiB');
  expect(lines[1]).toContain('over');
});

test('without a device the card offers the one held elsewhere', () => {
  const useHere = jest.fn();
  show(card({ version: 1, card: 'none' }, { news: news(null, { held: [BERT] }), actions: actions({ useHere }) }));
  expect(screen.getByText('You hold 1 device elsewhere: bert.')).toBeTruthy();
  screen.getByRole('button', { name: 'Use bert' }).click();
  expect(useHere).toHaveBeenCalledWith(BERT);
});

test('devices held elsewhere are counted as devices, the network cards that come with them are not', () => {
  const [gpu] = BERT.devices;
  const pair = { ...BERT, devices: [gpu!, { ...gpu!, device: 'gpu-4' }, { ...gpu!, device_kind: 'nic' as const }] };
  show(card({ version: 1, card: 'none' }, { news: news(null, { held: [pair] }), actions: actions() }));
  expect(screen.getByText('You hold 2 devices elsewhere: bert.')).toBeTruthy();
});

const ASK = {
  version: 1,
  card: 'request',
  action: 'launch',
  compact: true,
  requirement: { vram: '40GB' },
  verdict: 'fits',
  code: 'Requirement(\n    vram="40GB",\n)'
};

test('a request shows its code to copy, and one button that says what a press leads to', () => {
  const ask = jest.fn();
  const onCopy = jest.fn();
  const container = show(card(ASK, { actions: actions({ ask }), onCopy }));
  expect(container.textContent).toContain('As codeRequirement(');
  fireEvent.click(screen.getByRole('button', { name: 'Copy the code' }));
  expect(onCopy).toHaveBeenCalledWith(ASK.code);
  const button = screen.getByRole('button', { name: 'Launch for this notebook …' });
  expect(document.getElementById(button.getAttribute('aria-describedby')!)!.textContent).toBe(
    'Replaces this kernel; its variables are lost. You are asked first.'
  );
  fireEvent.click(button);
  expect(ask).toHaveBeenCalledWith('launch', expect.objectContaining({ requirement: { vram: '40GB' } }), null);
});

test('a request that must wait says so, and one that can never be met cannot be pressed and says why', () => {
  const ask = jest.fn();
  const { unmount } = render(
    <SpeechContext.Provider value={ENGLISH}>
      <CardView {...card({ ...ASK, verdict: 'busy' }, { actions: actions({ ask }) })} />
    </SpeechContext.Provider>
  );
  fireEvent.click(screen.getByRole('button', { name: 'Wait for a device …' }));
  expect(ask.mock.calls.map(([action]: [string]) => action)).toEqual(['wait']);
  unmount();
  const container = show(card({ ...ASK, verdict: 'impossible' }, { actions: actions({ ask }) }));
  const button = screen.getByRole('button', { name: 'Launch for this notebook …' });
  expect(button.getAttribute('aria-disabled')).toBe('true');
  fireEvent.click(button);
  expect(ask).toHaveBeenCalledTimes(1);
  expect(container.textContent).toContain('No node has this, even with everything free.');
});

test('what a kernel has no login for is asked of the page, by the words of that action', () => {
  const ask = jest.fn();
  const request = {
    ...ASK,
    compact: false,
    code: null,
    action: 'stop',
    session: 'bert-9d3fk',
    shell: 'jupyter dra stop'
  };
  const container = show(card(request, { actions: actions({ ask }) }));
  expect(container.textContent).toContain('The kernel runs without a login to it; this page can do it for you.');
  expect(container.textContent).toContain('jupyter dra stop');
  fireEvent.click(screen.getByRole('button', { name: 'Stop the session …' }));
  expect(ask).toHaveBeenCalledWith('stop', expect.anything(), 'bert-9d3fk');
  const unknown = show(card({ ...request, action: 'format-disk' }, { actions: actions({ ask }) }));
  fireEvent.click(unknown.querySelector('.dra-mod-main')!);
  expect(ask).toHaveBeenLastCalledWith('open', expect.anything(), 'bert-9d3fk');
});

test('a request in an output without trust shows its code and nothing to press but the copy', () => {
  show(card(ASK, { actions: null }));
  expect(screen.getAllByRole('button').map(button => button.getAttribute('aria-label'))).toEqual(['Copy the code']);
});

test('an end is red only when something went wrong', () => {
  const fault = show(card({ version: 1, card: 'ended', ended: { code: 'out-of-memory' } }));
  expect(fault.querySelector('.dra-mod-fault')).not.toBeNull();
  const rule = show(card({ version: 1, card: 'ended', ended: { code: 'idle' } }));
  expect(rule.querySelector('.dra-mod-fault')).toBeNull();
});

test.each(MARKUP)('foreign text %p stays text in a card', text => {
  const data = {
    ...DEVICE,
    session: { id: 'x', name: text },
    devices: [{ name: text, node: text, product: text, attributes: { 'd/uuid': { string: text } } }],
    notes: [text]
  };
  const hostile = show(card(data, { news: news(session(text, { kernels: [kernel('a', text), kernel('b', text)] })) }));
  expect(hostile.querySelectorAll('img, script, b, a')).toHaveLength(0);
  expect(hostile.textContent).not.toContain('\u202e');
});

test('in a longer, accented language no English word is left in a card', () => {
  const numbered = {
    ...DEVICE,
    session: { id: '7-9d3fk', name: '7' },
    devices: [{ name: '3', node: '0', label: '80', attributes: { 'd/architecture': { string: '9' } } }]
  };
  const own = session('7', { usage: BERT.usage, price: BERT.price, kernels: [kernel('k1', '1'), kernel('k2', '2')] });
  const container = show(card(numbered, { news: news(own) }), pseudoSpeech());
  const asked = show(card({ ...ASK, code: null }, { actions: actions() }), pseudoSpeech());
  container.append(asked);
  const left = (container.textContent ?? '').replace(/⟦[^⟧]*⟧/g, ' ').match(/[A-Za-z]{3,}/g) ?? [];
  expect(left.filter(word => word !== 'GiB' && word !== 'gpu' && word !== 'architecture')).toEqual([]);
});

test('axe finds nothing in cards', async () => {
  const container = show(card(DEVICE, { news: news(BERT) }));
  show(card({ version: 1, card: 'none' }, { news: news(null, { held: [BERT] }) }));
  show(card({ version: 1, card: 'ended', ended: { code: 'crashed' } }));
  show(card(ASK, { actions: actions() }));
  show(card({ ...ASK, compact: false, code: null, shell: 'jupyter dra launch' }, { actions: actions() }));
  const rules = { region: { enabled: false }, 'color-contrast': { enabled: false } };
  const result = await axe.run(document.body, { rules });
  expect(container).toBeTruthy();
  expect(result.violations.map(item => `${item.id}: ${item.nodes.map(node => node.html).join(' ')}`)).toEqual([]);
});

test('a page that has not asked yet does not say that a session is over', () => {
  const bench = (known: boolean, found: Session[]): Parameters<typeof cardNews>[0] =>
    ({
      sessions: { state: new Observable({ sessions: found, known }) },
      shown: found,
      cluster: { state: new Observable({ lost: null, tiers: null }) },
      ticker: { now: new Observable(NOW) }
    }) as unknown as Parameters<typeof cardNews>[0];
  expect(cardNews(bench(false, []), 'x').over).toBe(false);
  expect(cardNews(bench(true, []), 'x').over).toBe(true);
  expect(cardNews(bench(true, []), null).over).toBe(false);
  expect(cardNews(bench(true, [BERT]), BERT.id)).toMatchObject({ session: BERT, over: false, held: [BERT] });
});

test('a part tells its places on the card, where the server knows them', () => {
  const [device] = BERT.devices;
  const part = { ...BERT, devices: [{ ...device!, slots: [4, 5] }] };
  expect(show(card(DEVICE, { news: news(part) })).textContent).toContain('gpu-3, slots 4–5');
  const one = { ...BERT, devices: [{ ...device!, slots: [6, 6] }] };
  expect(show(card(DEVICE, { news: news(one) })).textContent).toContain('gpu-3, slot 6');
});

test('devices of one kind are named once, with what is the same of all', () => {
  const chip = (index: number): object => ({
    name: `tpu-${index}`,
    node: 'n',
    driver: 'tpu.google.com',
    device_kind: 'tpu',
    label: 'TPU v6e',
    attributes: { 'tpu.google.com/topology': { string: '2x4' }, 'tpu.google.com/uuid': { string: `id-${index}` } }
  });
  const data = { ...DEVICE, devices: [0, 1, 2, 3].map(chip) };
  const container = show(card(data, { news: news({ ...BERT, devices: Array(4).fill(BERT.devices[0]) as never }) }));
  const facts = container.querySelector('.dra-Out-facts')?.textContent ?? '';
  expect(facts).toContain('tpu-0 to tpu-3');
  expect(facts).toContain('2x4');
  expect(facts).not.toContain('id-0');
});
