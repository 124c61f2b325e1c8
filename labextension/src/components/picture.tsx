/** Devices of few nodes as a grid: a row per node, a cell per device, arrows move, Enter tells. */

import { useRef, useState, type KeyboardEvent, type ReactElement } from 'react';

import type { Device } from '../api/types';
import type { NodeRow } from '../model/inventory';
import { cellName, deviceTip, drawnDevices, nodeSummary } from '../format/devices';
import { Glyph, glyphState } from './glyph';
import { Name, useSpeech } from './speech';

export interface PictureProps {
  rows: readonly NodeRow[];
  fits: (device: Device) => boolean;
  initialOf: (device: Device) => string;
  now: number;
}

/** A GPU is the wider the more memory it has, with the root of it. */
function ratioOf(device: Device): number {
  if (device.device_kind !== 'gpu' || !device.memory_bytes) {
    return 1;
  }
  return Math.min(1.7, Math.max(0.7, Math.sqrt(device.memory_bytes / 64e9)));
}

/** Network cards hang under the devices in their own order, when a node has as many. */
function pairs(devices: readonly Device[]): { device: Device; nic: Device | null }[] {
  const cards = devices.filter(device => device.device_kind === 'nic');
  const rest = drawnDevices(devices);
  if (cards.length !== rest.length || rest[0]?.device_kind === 'nic') {
    return rest.map(device => ({ device, nic: null }));
  }
  return rest.map((device, index) => ({ device, nic: cards[index] ?? null }));
}

function numa(device: Device): unknown {
  const attributes = device.attributes ?? {};
  const key = Object.keys(attributes).find(name => /\/(numaNode|numa)$/.test(name));
  return key ? Object.values(attributes[key] ?? {})[0] : undefined;
}

export function Picture({ rows, fits, initialOf, now }: PictureProps): ReactElement {
  const speech = useSpeech();
  const { trans } = speech;
  const grid = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState<[number, number]>([0, 0]);
  const [open, setOpen] = useState<string | null>(null);
  const drawn = rows.map(row => ({ row, cells: pairs(row.devices) }));
  const focus = (y: number, x: number): void => {
    const row = drawn[y];
    if (row) {
      const column = Math.max(0, Math.min(row.cells.length - 1, x));
      setAt([y, column]);
      grid.current?.querySelector<HTMLElement>(`[data-cell="${y}/${column}"]`)?.focus();
    }
  };
  const press = (event: KeyboardEvent, y: number, x: number, key: string): void => {
    const moves: Record<string, [number, number]> = {
      ArrowRight: [y, x + 1],
      ArrowLeft: [y, x - 1],
      ArrowDown: [y + 1, x],
      ArrowUp: [y - 1, x],
      Home: [y, 0],
      End: [y, Number.MAX_SAFE_INTEGER]
    };
    const move = moves[event.key];
    if (move) {
      event.preventDefault();
      focus(...move);
    } else if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      setOpen(open === key ? null : key);
    } else if (event.key === 'Escape' && open) {
      event.stopPropagation();
      setOpen(null);
    }
  };
  return (
    <div className="dra-Picture" role="grid" aria-label={trans.__('Devices by node')} ref={grid}>
      {drawn.map(({ row, cells }, y) => (
        <div key={row.name} className="dra-Picture-node" role="row">
          <div className="dra-Picture-head" role="rowheader">
            <span className="dra-Picture-name">
              <Name text={row.name || trans.__('not on one node')} />
            </span>
            <span className="dra-mod-quiet">{nodeSummary(speech, row.devices)}</span>
          </div>
          {cells.map(({ device, nic }, x) => {
            const key = `${device.driver}/${device.pool}/${device.name}`;
            const half = x > 0 && numa(device) !== numa(cells[x - 1]!.device);
            const tip = open === key ? deviceTip(speech, device, now) : null;
            return (
              <div
                key={key}
                role="gridcell"
                data-cell={`${y}/${x}`}
                tabIndex={at[0] === y && at[1] === x ? 0 : -1}
                className={`dra-Picture-cell${half ? ' dra-mod-half' : ''}`}
                aria-label={cellName(speech, device)}
                title={cellName(speech, device)}
                aria-expanded={open === key}
                onFocus={() => setAt([y, x])}
                onBlur={() => setOpen(null)}
                onClick={() => setOpen(open === key ? null : key)}
                onKeyDown={event => press(event, y, x, key)}
              >
                <Glyph
                  kind={device.device_kind}
                  state={glyphState(device.state, fits(device))}
                  size={19}
                  ratio={ratioOf(device)}
                  initial={initialOf(device)}
                />
                {nic && (
                  <span className="dra-Picture-nic">
                    <Glyph kind="nic" state={glyphState(nic.state, false)} size={7} />
                  </span>
                )}
                {tip && (
                  <div className="dra-Tip" role="tooltip">
                    <strong>{tip.head}</strong>
                    {tip.lines.map((line, index) => (
                      <div key={index}>{line}</div>
                    ))}
                  </div>
                )}
              </div>
            );
          })}
        </div>
      ))}
    </div>
  );
}

export function Legend({ devices, marks }: { devices: readonly Device[]; marks: boolean }): ReactElement {
  const { trans } = useSpeech();
  if (marks) {
    return (
      <ul className="dra-Legend">
        <li>
          <span className="dra-Mark dra-mod-all" /> {trans.__('node: all fit')}
        </li>
        <li>
          <span className="dra-Mark dra-mod-some" /> {trans.__('some fit')}
        </li>
        <li>
          <span className="dra-Mark dra-mod-yours" /> {trans.__('with yours')}
        </li>
        <li>
          <span className="dra-Mark dra-mod-none" /> {trans.__('none fits')}
        </li>
      </ul>
    );
  }
  const kinds = new Set(devices.map(device => device.device_kind));
  return (
    <ul className="dra-Legend">
      {(
        [
          ['fits', trans.__('free, fits')],
          ['free', trans.__('free')],
          ['yours', trans.__('yours')],
          ['taken', trans.__('taken')],
          ['out', trans.__('out of service')],
          ['hidden', trans.__('not visible to you')]
        ] as const
      ).map(([state, text]) => (
        <li key={state}>
          <Glyph kind="gpu" state={state} size={12} /> {text}
        </li>
      ))}
      {(
        [
          ['gpu', trans.__('GPU; wider is more memory')],
          ['part', trans.__('parts')],
          ['tpu', trans.__('TPU')],
          ['nic', trans.__('network card')]
        ] as const
      )
        .filter(([kind]) => kinds.has(kind))
        .map(([kind, text]) => (
          <li key={kind}>
            <Glyph kind={kind} state="free" size={12} /> {text}
          </li>
        ))}
    </ul>
  );
}
