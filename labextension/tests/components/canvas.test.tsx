import { fireEvent, render, screen } from '@testing-library/react';

import type { Device } from '../../src/api/types';
import { Canvas } from '../../src/components/canvas';
import { SpeechContext } from '../../src/components/speech';
import { KindGroups } from '../../src/model/grouping';
import { byNode } from '../../src/model/inventory';
import { device, NOW } from '../data/answers';
import { ENGLISH } from '../data/speech';

const MARKED: Partial<Device> = {
  state: 'out-of-service',
  taints: [{ key: 'gpu.nvidia.com/xid', value: '79', effect: 'NoSchedule' }]
};
const anything = (): boolean => true;

test('in a picture of many nodes arrows go from node to node, Enter opens the row with its tips, Escape shuts it', () => {
  HTMLCanvasElement.prototype.getContext = () => null;
  const rows = byNode([device('n1', 'gpu-0'), device('n2', 'gpu-0', MARKED), device('n2', 'gpu-1')]);
  const groups = new KindGroups().of(rows, anything);
  render(
    <SpeechContext.Provider value={ENGLISH}>
      <Canvas groups={groups} fits={anything} initialOf={() => ''} marks={false} now={NOW} />
    </SpeechContext.Provider>
  );
  const picture = screen.getByRole('img', { name: /H100 80 GB. 2 nodes · 2 of 3 free/ });
  picture.focus();
  fireEvent.keyDown(picture, { key: 'End' });
  expect(screen.getByRole('status').textContent).toMatch(/^n2 2 × H100 80 GB · 1 free/);
  expect(screen.queryByRole('grid')).toBeNull();
  fireEvent.keyDown(picture, { key: 'Enter' });
  const [marked] = screen.getAllByRole('gridcell');
  fireEvent.click(marked!);
  expect(screen.getByRole('tooltip').textContent).toContain(
    'Marked by the driver: the card cannot be reached (Xid 79).'
  );
  fireEvent.keyDown(picture, { key: 'Escape' });
  expect(screen.queryByRole('grid')).toBeNull();
});
