/** The devices as a table that sorts, filters and draws only the rows in view: the full equivalent of the picture. */

import { useDeferredValue, useMemo, useRef, useState, type ReactElement } from 'react';

import type { Device } from '../api/types';
import type { NodeRow } from '../model/inventory';
import { heldBy, idleWords } from '../format/devices';
import { clock, duration } from '../format/durations';
import { withSimulated } from '../format/simulated';
import type { Speech } from '../format/speech';
import { Glyph, glyphState } from './glyph';
import { Name, useSpeech } from './speech';

export interface ListProps {
  rows: readonly NodeRow[];
  /** The one kind to show; null shows all. */
  kind: string | null;
  fits: (device: Device) => boolean;
  initialOf: (device: Device) => string;
  now: number;
}

const ROW = 28;
const VIEW = 400;
const AHEAD = 8;

type Key = 'device' | 'holder' | 'since' | 'idle';

const natural = new Intl.Collator('en', { numeric: true });

function nodeOf(device: Device): string {
  return device.nodes?.length === 1 ? device.nodes[0]! : '';
}

/** What people call a kind of device: its label, else what the driver says of it. */
export function kindName(device: Device): string {
  return device.label ?? device.product ?? device.driver;
}

/** By node, then device, as people count. */
function inOrder(rows: readonly NodeRow[]): Device[] {
  return [...rows]
    .sort((a, b) => natural.compare(a.name, b.name))
    .flatMap(row => [...row.devices].sort((a, b) => natural.compare(a.name, b.name)));
}

function sinceOf(device: Device): string | null {
  return device.holders[0]?.since ?? device.taints?.[0]?.timeAdded ?? null;
}

/** Held without a pod is what an admin looks for: it sorts as the longest idle. */
function idleOf(device: Device): number {
  const [holder] = device.holders;
  return holder?.note === 'no-pod' ? Number.POSITIVE_INFINITY : (holder?.idle_seconds ?? -1);
}

/** How long it is held; of a mark, when it was made. */
function sinceWords(speech: Speech, device: Device, now: number): string {
  const since = sinceOf(device);
  if (!since) {
    return '';
  }
  return device.holders.length ? duration(speech, (now - Date.parse(since)) / 1000) : clock(speech, since, now);
}

/** Sorts by text or number made once for each device; what is equal stays in order. */
function sortedBy<T extends string | number>(devices: Device[], keyOf: (device: Device) => T): Device[] {
  const keyed = devices.map(device => [keyOf(device), device] as const);
  return keyed.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)).map(([, device]) => device);
}

export function DeviceList({ rows: nodes, kind, fits, initialOf, now }: ListProps): ReactElement {
  const speech = useSpeech();
  const { trans } = speech;
  const [typed, setFilter] = useState('');
  // Typing comes first; tens of thousands of rows follow when there is time.
  const filter = useDeferredValue(typed);
  const [sort, setSort] = useState<{ key: Key; down: boolean }>({ key: 'device', down: false });
  const [top, setTop] = useState(0);
  const scroller = useRef<HTMLDivElement>(null);
  const every = useMemo(() => inOrder(nodes), [nodes]);
  const ordered = useMemo(
    () => (kind === null ? every : every.filter(device => kindName(device) === kind)),
    [every, kind]
  );
  const found = useMemo(() => {
    const text = filter.trim().toLowerCase();
    return text
      ? ordered.filter(device =>
          [nodeOf(device), device.name, heldBy(speech, device), device.label, device.product].some(part =>
            part?.toLowerCase().includes(text)
          )
        )
      : ordered;
  }, [ordered, filter, speech]);
  const rows = useMemo(() => {
    const by: Record<Key, () => Device[]> = {
      device: () => [...found],
      holder: () => sortedBy(found, device => heldBy(speech, device).toLowerCase()),
      since: () => sortedBy(found, device => sinceOf(device) ?? '9'),
      idle: () => sortedBy(found, device => -idleOf(device))
    };
    const list = by[sort.key]();
    return sort.down ? list.reverse() : list;
  }, [found, sort, speech]);
  const first = Math.max(0, Math.floor(top / ROW) - AHEAD);
  const last = Math.min(rows.length, Math.ceil((top + VIEW) / ROW) + AHEAD);
  const head = (key: Key, text: string): ReactElement => (
    <th scope="col" aria-sort={sort.key === key ? (sort.down ? 'descending' : 'ascending') : 'none'}>
      <button
        type="button"
        onClick={() => setSort(before => ({ key, down: before.key === key ? !before.down : false }))}
      >
        {text} {sort.key === key ? (sort.down ? '▾' : '▴') : ''}
      </button>
    </th>
  );
  return (
    <div className="dra-List">
      <input
        className="dra-Field dra-mod-wide"
        type="search"
        value={typed}
        placeholder={trans.__('Filter by node, holder, kind')}
        aria-label={trans.__('Filter by node, holder, kind')}
        onChange={event => setFilter(event.target.value)}
      />
      <div
        className="dra-List-scroll"
        ref={scroller}
        tabIndex={0}
        role="group"
        aria-label={trans.__('Devices')}
        onScroll={event => setTop(event.currentTarget.scrollTop)}
      >
        <table aria-rowcount={rows.length + 1}>
          <thead>
            <tr>
              {head('device', trans.__('Device'))}
              {head('holder', trans.__('Held by'))}
              {head('since', trans.__('Since'))}
              {head('idle', trans.__('Idle'))}
            </tr>
          </thead>
          <tbody>
            {first > 0 && <tr aria-hidden="true" style={{ height: first * ROW }} />}
            {rows.slice(first, last).map((device, index) => (
              <tr key={`${device.driver}/${device.pool}/${device.name}`} aria-rowindex={first + index + 2}>
                <td>
                  <span className="dra-List-device">
                    <Glyph
                      kind={device.device_kind}
                      state={glyphState(device.state, fits(device))}
                      size={13}
                      initial={initialOf(device)}
                    />
                    <span>
                      <Name text={nodeOf(device)} limit={24} />{' '}
                      <span className="dra-mod-quiet">
                        {withSimulated(speech, device.name, device.simulated === true)}
                      </span>
                    </span>
                  </span>
                </td>
                <td title={device.label ?? undefined}>
                  <Name text={heldBy(speech, device)} limit={28} />
                </td>
                <td>{sinceWords(speech, device, now)}</td>
                <td>{device.holders.length ? idleWords(speech, device.holders[0]) : ''}</td>
              </tr>
            ))}
            {last < rows.length && <tr aria-hidden="true" style={{ height: (rows.length - last) * ROW }} />}
          </tbody>
        </table>
        {!rows.length && <p className="dra-Pad dra-mod-quiet">{trans.__('No device matches.')}</p>}
      </div>
    </div>
  );
}
