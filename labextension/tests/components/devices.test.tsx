/** The section Devices: the list by kind, who waits in which order, what the picture sums up. */

import { fireEvent, render, screen, within } from '@testing-library/react';

import type { Device } from '../../src/api/types';
import { DevicesView, type DevicesProps } from '../../src/components/devices';
import { SpeechContext } from '../../src/components/speech';
import type { WaitingRow } from '../../src/components/waiting';
import { fullQuotaWords } from '../../src/format/permission';
import { countsOf, sumOf } from '../../src/model/grouping';
import { inventoryOf } from '../../src/model/inventory';
import { at, CONTEXT, device as deviceOf, NOW } from '../data/answers';
import { ENGLISH } from '../data/speech';

const noop = (): void => undefined;
const device = (name: string): Device => deviceOf('n1', name);

function show(change: Partial<DevicesProps> = {}): void {
  const props: DevicesProps = {
    inventory: inventoryOf(LIST, null),
    failed: false,
    groups: [],
    counts: sumOf([]),
    waiting: null,
    fullQuotas: [],
    view: 'list',
    grouping: 'node',
    fits: () => true,
    initialOf: () => '',
    now: NOW,
    onView: noop,
    onGrouping: noop,
    onTry: noop,
    onRetry: noop,
    ...change
  };
  render(
    <SpeechContext.Provider value={ENGLISH}>
      <DevicesView {...props} />
    </SpeechContext.Provider>
  );
}

const DEVICES: readonly Device[] = [
  { ...device('gpu-0'), label: 'H100 80 GB' },
  { ...device('gpu-1'), label: 'H100 80 GB' },
  { ...device('gpu-2'), label: 'L4 24 GB' }
];

const LIST = {
  kind: 'DeviceList',
  version: 1,
  context: CONTEXT,
  revision: 1,
  visible: { slices: true, claims: 'all' },
  devices: DEVICES
} as const;

const rows = (): number => within(screen.getByRole('table')).getAllByRole('row').length - 1;

test('the list shows all kinds, or the one that is chosen', () => {
  show();
  expect(rows()).toBe(3);
  fireEvent.change(screen.getByRole('combobox', { name: 'Kind of device' }), { target: { value: 'L4 24 GB' } });
  expect(rows()).toBe(1);
  fireEvent.change(screen.getByRole('combobox', { name: 'Kind of device' }), { target: { value: '' } });
  expect(rows()).toBe(3);
});

test('who waits stands by reason, or longest first', () => {
  const row = (who: string, group: string, minutes: number): WaitingRow => ({
    key: who,
    who,
    claim: '',
    request: '',
    group,
    why: '',
    since: at(-minutes),
    requirement: null
  });
  show({ view: 'waiting', waiting: [row('kim', 'limit', 90), row('mira', 'never', 10), row('jon', 'taken', 30)] });
  const names = (): (string | undefined)[] =>
    screen.getAllByRole('listitem').map(item => /kim|mira|jon/.exec(item.textContent ?? '')?.[0]);
  expect(names()).toEqual(['mira', 'jon', 'kim']);
  fireEvent.change(screen.getByRole('combobox', { name: 'Order of who waits' }), { target: { value: 'since' } });
  expect(names()).toEqual(['kim', 'jon', 'mira']);
});

test('a quota that refuses more stands below those who wait: what it refuses never waits', () => {
  const use = { namespace: 'team-a', quota: 'gpus', tier: 'high-memory-gpu', used: 8, hard: 8 };
  const tierName = (): string => 'High-memory GPU';
  expect(fullQuotaWords(ENGLISH, { ...use, used: 7 }, tierName)).toBeNull();
  expect(fullQuotaWords(ENGLISH, { ...use, tier: null }, tierName)).toContain('8 of 8 claims.');
  const text = fullQuotaWords(ENGLISH, use, tierName)!;
  show({ view: 'waiting', waiting: [], fullQuotas: [{ key: 'q', text }] });
  const shown = screen.getByText(/^Limit of team-a/);
  expect(shown.textContent).toBe(
    ' Limit of team-a: 8 of 8 High-memory GPU. More is refused at once and does not wait.'
  );
});

test('nodes with a device that fits are counted once each', () => {
  const some = countsOf(
    [
      { ...device('a'), state: 'free' },
      { ...device('b'), state: 'free' }
    ],
    () => true
  );
  const none = countsOf([{ ...device('c'), state: 'taken' }], () => true);
  expect(sumOf([some, some, none])).toMatchObject({ fitting: 4, fittingNodes: 2, free: 4, devices: 5 });
});
