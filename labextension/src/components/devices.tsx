/** The Devices section: the same devices as a picture, as a list, and who waits for them. */

import { useId, useMemo, useState, type ReactElement } from 'react';

import type { Device, Requirement } from '../api/types';
import type { Counts, NodeGroup } from '../model/grouping';
import type { Inventory } from '../model/inventory';
import { count } from '../format/numbers';
import { fill, plain, sentence } from '../format/text';
import { Canvas } from './canvas';
import { DeviceList, kindName } from './devicelist';
import { Legend, Picture } from './picture';
import { Said, useSpeech } from './speech';
import { WaitingView, type FullQuota, type WaitingOrder, type WaitingRow } from './waiting';

export type DevicesTab = 'picture' | 'list' | 'waiting';

export interface DevicesProps {
  /** Null while being read. */
  inventory: Inventory | null;
  failed: boolean;
  groups: readonly NodeGroup[];
  /** Of all groups. */
  counts: Counts;
  waiting: readonly WaitingRow[] | null;
  fullQuotas: readonly FullQuota[];
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

/** `nodes`: where each mark is a node, how many of them have a device that fits. */
function Summary({ counts, nodes }: { counts: Counts; nodes: boolean }): ReactElement {
  const speech = useSpeech();
  const { trans } = speech;
  const { fitting, fittingNodes, free, yours, unseen } = counts;
  const fit =
    nodes && fittingNodes > 1
      ? trans._n('**{n} fits** on {nodes} nodes', '**{n} fit** on {nodes} nodes', fitting)
      : trans._n('**{n} fits**', '**{n} fit**', fitting);
  const parts = [
    fill(trans.__('{n} free'), { n: count(speech, free) }),
    yours ? fill(trans.__('{n} yours'), { n: count(speech, yours) }) : null,
    unseen ? fill(trans.__('{n} not visible'), { n: count(speech, unseen) }) : null
  ].filter(Boolean);
  return (
    <p className="dra-Devices-summary">
      <Said text={sentence(fit, { n: count(speech, fitting), nodes: count(speech, fittingNodes) })} />
      {parts.map(part => ` · ${part}`)}
    </p>
  );
}

function kindNames({ devices }: Inventory): string[] {
  return [...new Set(devices.map(kindName))].sort((a, b) => a.localeCompare(b));
}

export function DevicesView(props: DevicesProps): ReactElement {
  const { inventory, view, grouping, groups, waiting, fits, now, initialOf } = props;
  const { trans } = useSpeech();
  const id = useId();
  const [order, setOrder] = useState<WaitingOrder>('reason');
  const [kind, setKind] = useState<string | null>(null);
  const kinds = useMemo(() => (view === 'list' && inventory ? kindNames(inventory) : []), [view, inventory]);
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
        {shown === 'list' && kinds.length > 1 && (
          <select
            className="dra-Field dra-mod-bare"
            aria-label={trans.__('Kind of device')}
            value={kind ?? ''}
            onChange={event => setKind(event.target.value || null)}
          >
            <option value="">{trans.__('all kinds')}</option>
            {kinds.map(name => (
              <option key={name} value={name}>
                {plain(name)}
              </option>
            ))}
          </select>
        )}
        {shown === 'waiting' && (
          <select
            className="dra-Field dra-mod-bare"
            aria-label={trans.__('Order of who waits')}
            value={order}
            onChange={event => setOrder(event.target.value === 'since' ? 'since' : 'reason')}
          >
            <option value="reason">{trans.__('by reason')}</option>
            <option value="since">{trans.__('longest first')}</option>
          </select>
        )}
      </div>
      {shown === 'picture' && (
        <>
          {large && <Summary counts={props.counts} nodes={rows.length > BLOCK_NODES} />}
          {large ? (
            <Canvas groups={groups} fits={fits} initialOf={initialOf} marks={rows.length > BLOCK_NODES} now={now} />
          ) : (
            <Picture rows={rows} fits={fits} initialOf={initialOf} now={now} />
          )}
          <Legend devices={devices} marks={rows.length > BLOCK_NODES} />
        </>
      )}
      {shown === 'list' && (
        <DeviceList
          rows={rows}
          kind={kind !== null && kinds.includes(kind) ? kind : null}
          fits={fits}
          initialOf={initialOf}
          now={now}
        />
      )}
      {shown === 'waiting' && waiting && (
        <WaitingView rows={waiting} full={props.fullQuotas} order={order} now={now} onTry={props.onTry} />
      )}
    </div>
  );
}
