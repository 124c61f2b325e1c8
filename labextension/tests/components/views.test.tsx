/** Views as people meet them: roles, names, keys; foreign text stays text; no word escapes the translator. */

import { act, fireEvent, render, screen, within } from '@testing-library/react';
import axe from 'axe-core';
import type { ReactElement } from 'react';

import { Chips } from '../../src/components/chips';
import { Dock, type DockProps } from '../../src/components/dock';
import { EndedCard } from '../../src/components/ended';
import { Memory } from '../../src/components/memory';
import { Picture } from '../../src/components/picture';
import { SessionCard, type SessionProps } from '../../src/components/session';
import { SpeechContext } from '../../src/components/speech';
import { StatusItem } from '../../src/components/statusitem';
import { Tiers } from '../../src/components/tiers';
import type { Device, Session } from '../../src/api/types';
import type { Speech } from '../../src/format/speech';
import { sentence } from '../../src/format/text';
import { columns, tierRow } from '../../src/model/tiers';
import { MARKUP } from '../data/foreign';
import { at, device, endedAs, holder, kernel, LARGE, NOW, session, SMALL, tierList } from '../data/answers';
import { ENGLISH, pseudoSpeech } from '../data/speech';

function show(view: ReactElement, speech: Speech = ENGLISH): HTMLElement {
  return render(<SpeechContext.Provider value={speech}>{view}</SpeechContext.Provider>).container;
}

const noop = (): void => undefined;

const sessionProps = (item: Session, change: Partial<SessionProps> = {}): SessionProps => ({
  session: item,
  now: NOW,
  unfolded: true,
  canUseHere: true,
  freshlyReady: false,
  stepsOpen: false,
  warning: null,
  idle: null,
  extendSeconds: 7200,
  subtitle: 'High-memory GPU',
  asOf: null,
  focus: false,
  onFocused: noop,
  onOpen: noop,
  onUseHere: noop,
  onExtend: noop,
  onKeep: noop,
  onStop: noop,
  onCancel: noop,
  onLog: noop,
  onChange: noop,
  onHolders: noop,
  onSteps: noop,
  onMenu: noop,
  ...change
});

const dockProps = (change: Partial<DockProps> = {}): DockProps => ({
  face: 'fits',
  head: 'Fits now',
  body: sentence('6 devices on 3 nodes.'),
  price: null,
  hint: null,
  busy: false,
  slow: false,
  generation: 1,
  why: null,
  holders: [],
  moreHolders: 0,
  changes: [],
  moreChanges: 0,
  changesTitle: '',
  nothingHelps: false,
  button: 'Launch',
  enabled: true,
  showLaunch: true,
  foot: null,
  extra: [],
  target: { name: 'analysis.ipynb', isNotebook: true },
  error: null,
  onLaunch: noop,
  onWays: noop,
  onTarget: noop,
  onChange: noop,
  onMoreChanges: noop,
  onRetry: noop,
  onCheck: noop,
  ...change
});

test('tiers are one radio group; the choice, what is free and why not are said', () => {
  const onSelect = jest.fn();
  const rows = [SMALL, LARGE].map(tier => tierRow(tier, { vram: '40GB' }));
  show(<Tiers rows={rows} other={[]} selected="large" limit={6} onSelect={onSelect} />);
  const group = screen.getByRole('radiogroup', { name: /Tier/ });
  const small = within(group).getByRole('radio', { name: 'small' });
  expect(small).toHaveProperty('checked', false);
  const described = document.getElementById(small.getAttribute('aria-describedby')!);
  expect(described?.textContent).toContain('3 of 4 free');
  expect(described?.textContent).toContain('too small');
  fireEvent.click(small);
  expect(onSelect).toHaveBeenCalledWith('small');
});

test('typing jumps to a tier by its name', () => {
  const onSelect = jest.fn();
  const rows = [SMALL, LARGE].map(tier => tierRow(tier, {}));
  show(<Tiers rows={rows} other={[]} selected="large" limit={6} onSelect={onSelect} />);
  fireEvent.keyDown(screen.getByRole('radiogroup'), { key: 's' });
  expect(onSelect).toHaveBeenCalledWith('small');
});

function memory(onPick = jest.fn()): jest.Mock {
  const list = columns(tierList(), { vram: '24GB' });
  show(
    <Memory
      atLeast="24 GB"
      atMost=""
      unreadable={{ atLeast: false, atMost: false }}
      columns={list}
      thumb={2}
      upper={null}
      free={9}
      matching={18}
      onType={noop}
      onPick={onPick}
    />
  );
  return onPick;
}

test('the thumb goes from size to size, Home is any, End the largest, Page two sizes', () => {
  const onPick = memory();
  const thumb = screen.getByRole('slider');
  expect(thumb.getAttribute('aria-valuetext')).toBe('at least 24 GB: 9 of 18 that match are free');
  for (const [key, label] of [
    ['ArrowRight', '40 GB'],
    ['ArrowLeft', '10 GB'],
    ['PageUp', '80 GB'],
    ['PageDown', '5 GB'],
    ['End', '80 GB']
  ] as const) {
    fireEvent.keyDown(thumb, { key });
    expect(onPick).toHaveBeenLastCalledWith('atLeast', expect.objectContaining({ label }));
  }
  fireEvent.keyDown(thumb, { key: 'Home' });
  expect(onPick).toHaveBeenLastCalledWith('atLeast', null);
});

test('a digit on the thumb goes to the field', () => {
  memory();
  fireEvent.keyDown(screen.getByRole('slider'), { key: '8' });
  expect(document.activeElement).toBe(screen.getByRole('textbox', { name: 'at least' }));
});

test('Delete on a chip removes its condition', () => {
  const onRemove = jest.fn();
  show(<Chips chips={[{ field: 'vram', text: 'at least 80 GB' }]} undo="80 GB" onRemove={onRemove} onUndo={noop} />);
  fireEvent.keyDown(screen.getByRole('button', { name: 'Remove: at least 80 GB' }), { key: 'Delete' });
  expect(onRemove).toHaveBeenCalledWith('vram');
  expect(screen.getByRole('button', { name: 'Undo: 80 GB' })).toBeTruthy();
});

test('where no single change helps, that is said', () => {
  const page = show(<Dock {...dockProps({ face: 'never', head: 'Not possible here', nothingHelps: true })} />);
  expect(page.textContent).toContain('No single change helps.');
});

test('a disabled Launch does nothing and says why', () => {
  const onLaunch = jest.fn();
  show(<Dock {...dockProps({ enabled: false, face: 'never', head: 'Not possible here', onLaunch })} />);
  const button = screen.getByRole('button', { name: 'Launch' });
  expect(button.getAttribute('aria-disabled')).toBe('true');
  expect(document.getElementById(button.getAttribute('aria-describedby')!)?.textContent).toContain('Not possible here');
  fireEvent.click(button);
  expect(onLaunch).not.toHaveBeenCalled();
});

test('the verdict is spoken 600 ms after the form changed; background numbers are silent', () => {
  jest.useFakeTimers();
  const view = (change: Partial<DockProps>): ReactElement => (
    <SpeechContext.Provider value={ENGLISH}>
      <Dock {...dockProps(change)} />
    </SpeechContext.Provider>
  );
  const { rerender } = render(view({}));
  const status = screen.getByRole('status');
  act(() => void jest.advanceTimersByTime(599));
  expect(status.textContent).toBe('');
  act(() => void jest.advanceTimersByTime(1));
  expect(status.textContent).toBe('Fits now. 6 devices on 3 nodes.');
  rerender(view({ body: sentence('5 devices on 3 nodes.') }));
  act(() => void jest.advanceTimersByTime(5000));
  expect(status.textContent).toContain('6 devices');
  rerender(view({ head: 'All taken for now', body: sentence('None is free.') }));
  act(() => void jest.advanceTimersByTime(600));
  expect(status.textContent).toBe('All taken for now. None is free.');
  jest.useRealTimers();
});

test('a starting session shows its steps as a list with the current one marked, and cancels without a question', () => {
  const onCancel = jest.fn();
  const starting = session('analysis', {
    state: 'starting',
    steps: [{ code: 'checked', state: 'doing', started_at: at(0), seconds: null, params: {} }]
  });
  show(<SessionCard {...sessionProps(starting, { onCancel })} />);
  const items = within(screen.getByRole('list')).getAllByRole('listitem');
  expect(items).toHaveLength(7);
  expect(items.filter(item => item.getAttribute('aria-current') === 'step')).toHaveLength(1);
  fireEvent.click(screen.getByRole('button', { name: 'Cancel analysis' }));
  expect(onCancel).toHaveBeenCalled();
});

test('two notebooks on one device are told apart and warned', () => {
  const shared = session('bert', { kernels: [kernel('a', 'x/train.ipynb', 'busy'), kernel('b', 'eval.ipynb')] });
  const container = show(<SessionCard {...sessionProps(shared)} />);
  expect(container.textContent).toContain('They share all of its memory; nothing keeps them apart.');
  expect(container.querySelectorAll('.dra-Pattern.dra-mod-solid')).toHaveLength(1);
  expect(container.querySelectorAll('.dra-Pattern.dra-mod-stripes')).toHaveLength(1);
  expect(screen.getByRole('button', { name: 'Stop bert' })).toBeTruthy();
});

test('a new card takes the focus to its title', () => {
  const onFocused = jest.fn();
  show(<SessionCard {...sessionProps(session('bert', { state: 'starting' }), { focus: true, onFocused })} />);
  expect(document.activeElement?.textContent).toBe('bert');
  expect(onFocused).toHaveBeenCalled();
});

function devices(): Device[] {
  const yours = { state: 'yours' as const, holders: [holder('you', { session: 'bert-train-9d3fk' })] };
  return [device('n', 'gpu-0'), device('n', 'gpu-1', yours)];
}

const chip = (number: number): Session['devices'][number] => ({
  ...(session('tpu').devices[0] as Session['devices'][number]),
  device: String(number),
  label: 'TPU v6e'
});

test.each([
  ['one device by its own name too', [chip(3)], 'TPU v6e · 3'],
  ['several alike by their number', [chip(0), chip(1)], '2 × TPU v6e'],
  ['a device and its companion by both', [chip(0), { ...chip(1), label: 'ConnectX-7' }], 'TPU v6e + ConnectX-7']
])('the status bar names %s', (_, devices, text) => {
  const status = { kind: 'running' as const, session: session('tpu', { devices }) };
  show(<StatusItem status={status} now={NOW} onPress={noop} />);
  expect(screen.getByRole('button').textContent?.startsWith(text)).toBe(true);
});

test('the picture is a grid: arrows move, Enter tells, Escape closes', () => {
  show(<Picture rows={[{ name: 'n', devices: devices() }]} fits={() => true} initialOf={() => 'b'} now={NOW} />);
  const cells = screen.getAllByRole('gridcell');
  expect(cells.map(cell => cell.getAttribute('aria-label'))).toEqual([
    'gpu-0, H100 80 GB, free',
    'gpu-1, H100 80 GB, yours, bert-train'
  ]);
  fireEvent.keyDown(cells[0]!, { key: 'ArrowRight' });
  expect(document.activeElement).toBe(cells[1]);
  fireEvent.keyDown(cells[1]!, { key: 'Enter' });
  expect(screen.getByRole('tooltip').textContent).toContain('you, bert-train');
  fireEvent.keyDown(cells[1]!, { key: 'Escape' });
  expect(screen.queryByRole('tooltip')).toBeNull();
});

test.each(MARKUP)('foreign text %p stays text in a session', text => {
  const hostile = show(<SessionCard {...sessionProps(session(text, { kernels: [kernel('a', text)], devices: [] }))} />);
  expect(hostile.querySelectorAll('img, script, b, a')).toHaveLength(0);
  expect(hostile.textContent).not.toContain('\u202e');
});

function everyView(): ReactElement {
  const rows = [SMALL, LARGE].map(tier => tierRow(tier, { vram: '40GB' }));
  const ended = session('7', {
    state: 'ended',
    ended: endedAs('idle', { at: at(-1) })
  });
  return (
    <>
      <Tiers rows={rows} other={[]} selected="large" limit={6} onSelect={noop} />
      <SessionCard {...sessionProps(session('7', { kernels: [kernel('a', '8', 'busy'), kernel('b', '9')] }))} />
      <SessionCard {...sessionProps(session('7', { state: 'starting', devices: [] }), { subtitle: '' })} />
      <SessionCard {...sessionProps(session('7', { state: 'waiting', devices: [] }), { subtitle: '' })} />
      <EndedCard
        session={ended}
        now={NOW}
        subtitle=""
        freeNow={false}
        onAgain={noop}
        onLog={noop}
        onDetails={noop}
        onRemove={noop}
      />
    </>
  );
}

test('in a longer, accented language no English word is left', () => {
  const container = show(everyView(), pseudoSpeech());
  // Names of things, units and numbers are not translated.
  const text = (container.textContent ?? '').replace(/⟦[^⟧]*⟧/g, ' ');
  const left = text.match(/[A-Za-z]{3,}/g) ?? [];
  const names = new Set(['small', 'large', 'dgx', 'gpu', 'analysis']);
  expect(left.filter(word => !names.has(word))).toEqual([]);
});

test('axe finds nothing in any of these views', async () => {
  const container = show(everyView());
  const result = await axe.run(container, {
    rules: { region: { enabled: false }, 'color-contrast': { enabled: false } }
  });
  expect(result.violations.map(item => `${item.id}: ${item.nodes.map(node => node.html).join(' ')}`)).toEqual([]);
});
