import { Signal } from '@lumino/signaling';

import type { ChangeStream } from '../../src/api/stream';
import type { Device, DeviceList, WaitingList } from '../../src/api/types';
import { DevicesModel } from '../../src/model/devices';
import { Observable } from '../../src/model/observable';
import { CONTEXT, device as deviceOf } from '../data/answers';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

function device(name: string, state: Device['state'] = 'free'): Device {
  return deviceOf('n1', name, { state });
}

function answer(devices: readonly Device[], change: Partial<DeviceList> = {}): DeviceList {
  const visible = { slices: true, claims: 'all' } as const;
  return { kind: 'DeviceList', version: 1, context: CONTEXT, revision: 1, visible, devices, ...change };
}

function modelOf(answers: readonly DeviceList[]): {
  model: DevicesModel;
  asked: (number | null)[];
  changed: () => void;
  visible: Observable<boolean>;
  waiting: jest.Mock;
} {
  const inventory = new Signal<object, unknown>({});
  const visible = new Observable(true);
  const asked: (number | null)[] = [];
  const waiting = jest.fn(() => Promise.resolve({ waiting: [] } as unknown as WaitingList));
  const client = {
    fetchDevices: (since: number | null = null) => {
      asked.push(since);
      return Promise.resolve(answers[asked.length - 1]!);
    },
    fetchCompactDevices: () => Promise.reject(new Error('not so many')),
    fetchWaiting: waiting
  };
  const model = new DevicesModel(client, { inventory } as unknown as ChangeStream, visible, () => 2);
  return { model, asked, changed: () => inventory.emit({}), visible, waiting };
}

test('devices are fetched while their section is open, then only what changed', async () => {
  const change = answer([device('b', 'taken')], { since: 1, revision: 2, removed: [] });
  const { model, asked, changed } = modelOf([answer([device('a'), device('b')]), change]);
  changed();
  await jest.advanceTimersByTimeAsync(1000);
  expect(asked).toEqual([]);
  model.open = true;
  await jest.advanceTimersByTimeAsync(0);
  changed();
  await jest.advanceTimersByTimeAsync(1000);
  expect(asked).toEqual([null, 1]);
  expect(model.state.value.inventory?.devices.map(item => item.state)).toEqual(['free', 'taken']);
  model.open = false;
  changed();
  await jest.advanceTimersByTimeAsync(1000);
  expect(asked).toHaveLength(2);
});

test('the picture does not wait for the reasons of those who wait', async () => {
  const { model, waiting } = modelOf([answer([device('a')])]);
  waiting.mockImplementation(() => new Promise(() => undefined));
  model.open = true;
  await jest.advanceTimersByTimeAsync(1000);
  expect(waiting).toHaveBeenCalledTimes(1);
  expect(model.state.value.inventory?.devices).toHaveLength(1);
  expect(model.state.value.waiting).toBeNull();
});

test('another cluster is read afresh, and late news of the old one are not shown', async () => {
  const { model, asked } = modelOf([answer([device('a')]), answer([device('other')], { revision: 9 })]);
  model.open = true;
  await jest.advanceTimersByTimeAsync(0);
  model.reset();
  expect(model.state.value.inventory).toBeNull();
  await jest.advanceTimersByTimeAsync(1000);
  expect(asked).toEqual([null, null]);
  expect(model.state.value.inventory?.devices[0]?.name).toBe('other');
});
