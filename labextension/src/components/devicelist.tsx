/** The devices as a table that sorts, filters and draws only the rows in view: the full equivalent of the picture. */

import { useMemo, useRef, useState, type ReactElement } from 'react';

import type { Device } from '../api/types';
import { heldBy, idleWords } from '../format/devices';
import { duration } from '../format/durations';
import { Glyph, glyphState } from './glyph';
import { Name, useSpeech } from './speech';

export interface ListProps {
  devices: readonly Device[];
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

export function DeviceList({ devices, fits, initialOf, now }: ListProps): ReactElement {
  const speech = useSpeech();
  const { trans } = speech;
  const [filter, setFilter] = useState('');
  const [sort, setSort] = useState<{ key: Key; down: boolean }>({ key: 'device', down: false });
  const [top, setTop] = useState(0);
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useMemo(() => {
    const text = filter.trim().toLowerCase();
    const found = devices
      .map(device => ({
        device,
        place: `${nodeOf(device)} ${device.name}`,
        holder: heldBy(speech, device),
        since: device.holders[0]?.since ?? device.taints?.[0]?.timeAdded ?? null,
        // Held without a pod is what an admin looks for: it sorts as the longest idle.
        idle: device.holders[0]?.note === 'no-pod' ? Number.POSITIVE_INFINITY : (device.holders[0]?.idle_seconds ?? -1)
      }))
      .filter(
        row =>
          !text ||
          [row.place, row.holder, row.device.label, row.device.product].some(part => part?.toLowerCase().includes(text))
      );
    const compare: Record<Key, (a: (typeof found)[number], b: (typeof found)[number]) => number> = {
      device: (a, b) => natural.compare(a.place, b.place),
      holder: (a, b) => natural.compare(a.holder, b.holder),
      since: (a, b) => (a.since ?? '9').localeCompare(b.since ?? '9'),
      idle: (a, b) => b.idle - a.idle
    };
    const direction = sort.down ? -1 : 1;
    return found.sort((a, b) => direction * compare[sort.key](a, b) || natural.compare(a.place, b.place));
  }, [devices, filter, sort, speech]);
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
        value={filter}
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
            {rows.slice(first, last).map(({ device, holder, since }, index) => (
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
                      <Name text={nodeOf(device)} limit={24} /> <span className="dra-mod-quiet">{device.name}</span>
                    </span>
                  </span>
                </td>
                <td title={device.label ?? undefined}>
                  <Name text={holder} limit={28} />
                </td>
                <td>{since ? duration(speech, (now - Date.parse(since)) / 1000) : ''}</td>
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
