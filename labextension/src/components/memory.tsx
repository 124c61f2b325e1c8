/** Memory of each device: two fields, and a scale whose columns are the sizes that exist. */

import { useId, useRef, type KeyboardEvent, type PointerEvent, type ReactElement } from 'react';

import type { Column } from '../model/tiers';
import { count } from '../format/numbers';
import { fill } from '../format/text';
import { useSpeech } from './speech';

export interface MemoryProps {
  atLeast: string;
  atMost: string;
  unreadable: { atLeast: boolean; atMost: boolean };
  columns: readonly Column[];
  /** -1 is "any". */
  thumb: number;
  /** Present only when "at most" is set. */
  upper: number | null;
  free: number;
  matching: number;
  onType: (field: 'atLeast' | 'atMost', text: string) => void;
  onPick: (field: 'atLeast' | 'atMost', column: Column | null) => void;
}

/** Heights grow with the root of the count, so that one and a thousand can stand side by side. */
function height(devices: number, largest: number): number {
  return devices ? Math.max(6, 36 * Math.sqrt(devices / largest)) : 0;
}

function Bar({ column, largest }: { column: Column; largest: number }): ReactElement {
  const speech = useSpeech();
  const free = column.free ?? column.freeAtMost ?? 0;
  const whole = height(column.devices, largest);
  const part = column.devices ? Math.min(1, free / column.devices) : 0;
  const kind = column.exclusive ? 'parts' : column.fits ? 'fits' : 'free';
  return (
    <div className={`dra-Column${column.fits ? ' dra-mod-fits' : ''}`}>
      <span className="dra-Column-count">{count(speech, free)}</span>
      <span className={`dra-Column-free dra-mod-${kind}`} style={{ height: column.exclusive ? whole : whole * part }} />
      {!column.exclusive && <span className="dra-Column-taken" style={{ height: whole * (1 - part) }} />}
    </div>
  );
}

interface ThumbProps {
  index: number;
  columns: readonly Column[];
  label: string;
  text: string;
  onMove: (index: number) => void;
  onDigit: () => void;
  lowest: number;
}

function Thumb({ index, columns, label, text, onMove, onDigit, lowest }: ThumbProps): ReactElement {
  const last = columns.length - 1;
  const keys: Record<string, number> = {
    ArrowRight: index + 1,
    ArrowUp: index + 1,
    ArrowLeft: index - 1,
    ArrowDown: index - 1,
    PageUp: index + 2,
    PageDown: index - 2,
    Home: lowest,
    End: last
  };
  const press = (event: KeyboardEvent): void => {
    const next = keys[event.key];
    if (next !== undefined) {
      event.preventDefault();
      onMove(Math.max(lowest, Math.min(last, next)));
    } else if (/^\d$/.test(event.key)) {
      onDigit();
    }
  };
  const at = index < 0 ? 0 : Math.min(1, (index + 0.5) / columns.length);
  return (
    <div
      role="slider"
      tabIndex={0}
      className="dra-Thumb"
      style={{ insetInlineStart: `${at * 100}%` }}
      aria-label={label}
      aria-valuemin={lowest}
      aria-valuemax={last}
      aria-valuenow={Math.min(index, last)}
      aria-valuetext={text}
      onKeyDown={press}
    />
  );
}

export function Memory(props: MemoryProps): ReactElement {
  const { atLeast, atMost, unreadable, columns, thumb, upper, free, matching, onType, onPick } = props;
  const speech = useSpeech();
  const { trans } = speech;
  const id = useId();
  const track = useRef<HTMLDivElement>(null);
  const least = useRef<HTMLInputElement>(null);
  const most = useRef<HTMLInputElement>(null);
  const dragging = useRef<'atLeast' | 'atMost' | null>(null);
  const largest = Math.max(1, ...columns.map(column => column.devices));

  const pickAt = (event: PointerEvent): number => {
    const box = track.current!.getBoundingClientRect();
    // The scale grows from left to right in every language.
    const place = ((event.clientX - box.left) / box.width) * columns.length;
    return place < 0.25 ? -1 : Math.max(0, Math.min(columns.length - 1, Math.floor(place)));
  };
  const move = (field: 'atLeast' | 'atMost', index: number): void =>
    onPick(field, index < 0 ? null : (columns[index] ?? null));
  const onPointerDown = (event: PointerEvent<HTMLDivElement>): void => {
    const index = pickAt(event);
    const nearUpper = upper !== null && Math.abs(index - upper) < Math.abs(index - Math.max(thumb, 0));
    dragging.current = nearUpper ? 'atMost' : 'atLeast';
    event.currentTarget.setPointerCapture(event.pointerId);
    move(dragging.current, index);
  };
  const onPointerMove = (event: PointerEvent): void => {
    if (dragging.current) {
      move(dragging.current, pickAt(event));
    }
  };
  const values = {
    size: atLeast || trans.__('any size'),
    free: count(speech, free),
    total: count(speech, matching)
  };
  const text = atLeast
    ? fill(trans.__('at least {size}: {free} of {total} that match are free'), values)
    : fill(trans.__('any size: {free} of {total} that match are free'), values);
  const start = thumb < 0 ? 0 : Math.min(1, (thumb + 0.5) / Math.max(1, columns.length));
  const end = upper === null ? 1 : Math.min(1, (upper + 0.5) / Math.max(1, columns.length));
  const numbers = columns.map(column => column.label.replace(/\s*GB$/, ''));
  return (
    <div className="dra-Memory" role="group" aria-labelledby={id}>
      <div className="dra-Label" id={id}>
        <strong>{trans.__('Memory')}</strong> <span className="dra-mod-quiet">{trans.__('of each device')}</span>
      </div>
      <div className="dra-Memory-fields">
        <label>
          <span>{trans.__('at least')}</span>
          <input
            ref={least}
            className="dra-Field"
            value={atLeast}
            placeholder={trans.__('any')}
            aria-invalid={unreadable.atLeast || undefined}
            spellCheck={false}
            onChange={event => onType('atLeast', event.target.value)}
          />
        </label>
        <label>
          <span>{trans.__('at most')}</span>
          <input
            ref={most}
            className="dra-Field"
            value={atMost}
            placeholder={trans.__('any')}
            aria-invalid={unreadable.atMost || undefined}
            spellCheck={false}
            onChange={event => onType('atMost', event.target.value)}
          />
        </label>
      </div>
      {(unreadable.atLeast || unreadable.atMost) && (
        <p className="dra-Hint dra-mod-error">{trans.__('Write a size such as 40 GB or 40 GiB.')}</p>
      )}
      {columns.length > 0 && (
        <div className="dra-Scale" dir="ltr">
          <div className="dra-Scale-columns" aria-hidden="true">
            {columns.map(column => (
              <Bar key={column.label} column={column} largest={largest} />
            ))}
          </div>
          <div
            className="dra-Scale-track"
            ref={track}
            onPointerDown={onPointerDown}
            onPointerMove={onPointerMove}
            onPointerUp={() => (dragging.current = null)}
            onPointerCancel={() => (dragging.current = null)}
          >
            <div className="dra-Scale-line" />
            <div
              className="dra-Scale-range"
              style={{ insetInlineStart: `${start * 100}%`, insetInlineEnd: `${(1 - end) * 100}%` }}
            />
            <Thumb
              index={thumb}
              columns={columns}
              lowest={-1}
              label={trans.__('Memory of each device, at least')}
              text={text}
              onMove={index => move('atLeast', index)}
              onDigit={() => {
                least.current?.focus();
                least.current?.select();
              }}
            />
            {upper !== null && (
              <Thumb
                index={upper}
                columns={columns}
                lowest={0}
                label={trans.__('Memory of each device, at most')}
                text={fill(trans.__('at most {size}'), { size: atMost })}
                onMove={index => move('atMost', index)}
                onDigit={() => {
                  most.current?.focus();
                  most.current?.select();
                }}
              />
            )}
          </div>
          <div className="dra-Scale-numbers" aria-hidden="true">
            {numbers.map((number, index) => (
              <span key={columns[index]!.label} className={index === thumb ? 'dra-mod-chosen' : ''}>
                {number}
              </span>
            ))}
          </div>
        </div>
      )}
    </div>
  );
}
