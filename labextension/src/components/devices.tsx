/** The Devices section: the same devices as a picture, as a list, and who waits for them. */

import { useId, type ReactElement } from 'react';

import type { Device, Requirement } from '../api/types';
import type { Counts, NodeGroup } from '../model/grouping';
import type { Inventory } from '../model/inventory';
import { count } from '../format/numbers';
import { fill, sentence } from '../format/text';
import { Canvas } from './canvas';
import { DeviceList } from './devicelist';
import { Legend, Picture } from './picture';
import { Said, useSpeech } from './speech';
import { WaitingView, type WaitingRow } from './waiting';

export type DevicesTab = 'picture' | 'list' | 'waiting';

export interface DevicesProps {
  /** Null while being read. */
  inventory: Inventory | null;
  failed: boolean;
  groups: readonly NodeGroup[];
  /** Of all groups. */
  counts: Counts;
  waiting: readonly WaitingRow[] | null;
  view: DevicesTab;
  grouping: 'node' | 'kind';
  fits: (device: Device) => boolean;
  initialOf: (device: Device) => string;
  now: number;
  onView: (view: DevicesTab) => void;
  onGrouping: (grouping: 'node' | 'kind') => void;
  onTry: (requirement: Requirement) => void;
  onRetry: () => void;
}

/** Up to here every node has a row with its name; above, blocks; far above, one mark per node. */
export const ROW_NODES = 24;
export const BLOCK_NODES = 600;

function Summary({ fitting, free, yours, unseen }: Counts): ReactElement {
  const speech = useSpeech();
  const { trans } = speech;
  const parts = [
    fill(trans.__('{n} free'), { n: count(speech, free) }),
    yours ? fill(trans.__('{n} yours'), { n: count(speech, yours) }) : null,
    unseen ? fill(trans.__('{n} not visible'), { n: count(speech, unseen) }) : null
  ].filter(Boolean);
  return (
    <p className="dra-Devices-summary">
      <Said text={sentence(trans._n('**{n} fits**', '**{n} fit**', fitting), { n: count(speech, fitting) })} />
      {parts.map(part => ` · ${part}`)}
    </p>
  );
}

export function DevicesView(props: DevicesProps): ReactElement {
  const { inventory, view, grouping, groups, waiting, fits, now, initialOf } = props;
  const { trans } = useSpeech();
  const id = useId();
  if (!inventory) {
    return props.failed ? (
      <p className="dra-Pad">
        {trans.__('The list of devices could not be read.')}{' '}
        <button type="button" className="dra-Link" onClick={props.onRetry}>
          {trans.__('Try again')}
        </button>
      </p>
    ) : (
      <p className="dra-Pad dra-mod-quiet" role="status">
        {trans.__('Reading the inventory …')}
      </p>
    );
  }
  const { devices, rows } = inventory;
  const tabs: { view: DevicesTab; text: string }[] = [
    { view: 'picture', text: trans.__('Picture') },
    { view: 'list', text: trans.__('List') },
    ...(waiting ? [{ view: 'waiting' as const, text: trans.__('Waiting %1', waiting.length) }] : [])
  ];
  const shown = view === 'waiting' && !waiting ? 'picture' : view;
  const large = rows.length > ROW_NODES || grouping === 'kind';
  return (
    <div className="dra-DevicesView">
      <div className="dra-Devices-tools">
        <div className="dra-Segments" role="group" aria-label={trans.__('Show devices as')}>
          {tabs.map(tab => (
            <button
              key={tab.view}
              type="button"
              className="dra-Segment"
              aria-pressed={shown === tab.view}
              onClick={() => props.onView(tab.view)}
            >
              {tab.text}
            </button>
          ))}
        </div>
        {shown === 'picture' && (
          <select
            className="dra-Field dra-mod-bare"
            id={id}
            aria-label={trans.__('Group the picture')}
            value={large ? 'kind' : 'node'}
            disabled={rows.length > ROW_NODES}
            onChange={event => props.onGrouping(event.target.value === 'kind' ? 'kind' : 'node')}
          >
            <option value="node">{trans.__('by node')}</option>
            <option value="kind">{trans.__('by kind')}</option>
          </select>
        )}
      </div>
      {shown === 'picture' && (
        <>
          {large && <Summary {...props.counts} />}
          {large ? (
            <Canvas groups={groups} fits={fits} initialOf={initialOf} marks={rows.length > BLOCK_NODES} now={now} />
          ) : (
            <Picture rows={rows} fits={fits} initialOf={initialOf} now={now} />
          )}
          <Legend devices={devices} marks={rows.length > BLOCK_NODES} />
        </>
      )}
      {shown === 'list' && <DeviceList rows={rows} fits={fits} initialOf={initialOf} now={now} />}
      {shown === 'waiting' && waiting && <WaitingView rows={waiting} now={now} onTry={props.onTry} />}
    </div>
  );
}
