import type { Device } from '../../src/api/types';
import { Drawing, layoutGroup } from '../../src/components/painter';
import type { NodeRow } from '../../src/model/inventory';
import { device } from '../data/answers';

const PALETTE = { fits: 'green', free: 'grey', taken: 'dark', yours: 'blue', out: 'red' };

function row(name: string, ...states: Device['state'][]): NodeRow {
  const devices = states.map((state, index) => device(name, `gpu-${index}`, { state }));
  return { name, devices };
}

function drawing(nodes: readonly NodeRow[]): { drawing: Drawing; cleared: number[][] } {
  const cleared: number[][] = [];
  const context = {
    clearRect: (...box: number[]) => cleared.push(box),
    fillRect: jest.fn(),
    beginPath: jest.fn(),
    moveTo: jest.fn(),
    lineTo: jest.fn(),
    arc: jest.fn(),
    rect: jest.fn(),
    stroke: jest.fn()
  } as unknown as CanvasRenderingContext2D;
  const counts = { devices: 0, free: 0, fitting: 0, fittingNodes: 0, yours: 0, unseen: 0 };
  const layout = layoutGroup({ label: 'H100', nodes, counts }, 200, false);
  return { drawing: new Drawing(context, layout, PALETTE, false, 200), cleared };
}

const all = (): boolean => true;

test('the first time every node is drawn, afterwards only those that are other rows', () => {
  const nodes = [row('a', 'free', 'taken'), row('b', 'free'), row('c', 'out-of-service')];
  const { drawing: picture, cleared } = drawing(nodes);
  expect(picture.show(nodes, all)).toBe(3);
  cleared.length = 0;
  expect(picture.show(nodes, all)).toBe(0);
  expect(picture.show([nodes[0]!, row('b', 'taken'), nodes[2]!], all)).toBe(1);
  expect(cleared).toHaveLength(1);
});

test('another request draws every node again', () => {
  const nodes = [row('a', 'free'), row('b', 'free')];
  const { drawing: picture } = drawing(nodes);
  picture.show(nodes, all);
  expect(picture.show(nodes, () => false)).toBe(2);
});

test('a ring that is gone leaves nothing behind: where rings were, everything is drawn again', () => {
  const nodes = [row('a', 'yours'), row('b', 'free')];
  const { drawing: picture, cleared } = drawing(nodes);
  picture.show(nodes, all);
  cleared.length = 0;
  expect(picture.show([row('a', 'free'), nodes[1]!], all)).toBe(2);
  expect(cleared[0]?.slice(0, 3)).toEqual([0, 0, 200]);
});
