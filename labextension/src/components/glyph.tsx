/** One device as a drawing: fill tells its state, outline its kind. Used wherever a device stands for itself. */

import { useId, type ReactElement } from 'react';

import type { DeviceKind, DeviceState } from '../api/types';

export type GlyphState = 'fits' | 'free' | 'yours' | 'taken' | 'out' | 'hidden' | 'none' | 'share';

export interface GlyphProps {
  kind: DeviceKind;
  state: GlyphState;
  size?: number;
  /** Width over height, for GPUs whose width grows with the root of their memory. */
  ratio?: number;
  initial?: string;
  label?: string;
}

export function glyphState(state: DeviceState, fits: boolean): GlyphState {
  switch (state) {
    case 'free':
      return fits ? 'fits' : 'free';
    case 'yours':
      return 'yours';
    case 'out-of-service':
      return 'out';
    case 'hidden':
    case 'unknown':
      return 'hidden';
    case 'incomplete':
      return 'none';
    default:
      return 'taken';
  }
}

function outline(kind: DeviceKind, w: number, h: number): string {
  const i = 0.75;
  const [r, b] = [w - i, h - i];
  switch (kind) {
    case 'tpu': {
      const q = w / 4;
      return `M${q} ${i}H${w - q}L${r} ${h / 2}L${w - q} ${b}H${q}L${i} ${h / 2}z`;
    }
    case 'nic': {
      const radius = Math.min(w, h) / 2 - i;
      return `M${w / 2 - radius} ${h / 2}a${radius} ${radius} 0 1 0 ${2 * radius} 0a${radius} ${radius} 0 1 0 ${-2 * radius} 0z`;
    }
    case 'cpu':
    case 'other': {
      const cut = Math.min(w, h) * 0.28;
      return `M${i} ${i}H${r - cut}L${r} ${i + cut}V${b}H${i}z`;
    }
    default:
      return `M${i + 1} ${i}H${r - 1}a1 1 0 0 1 1 1V${b - 1}a1 1 0 0 1-1 1H${i + 1}a1 1 0 0 1-1-1V${i + 1}a1 1 0 0 1 1-1z`;
  }
}

function hatch(w: number, h: number, gap: number): string {
  const lines: string[] = [];
  for (let x = -h + gap / 2; x < w; x += gap) {
    lines.push(`M${x} ${h}L${x + h} 0`);
  }
  return lines.join('');
}

export function Glyph({ kind, state, size = 18, ratio = 1, initial, label }: GlyphProps): ReactElement {
  const [w, h] = [size * ratio, size];
  const d = outline(kind, w, h);
  const id = useId();
  return (
    <svg
      className={`dra-Glyph dra-mod-${state} dra-kind-${kind}`}
      width={w}
      height={h}
      viewBox={`0 0 ${w} ${h}`}
      focusable="false"
      {...(label ? { role: 'img', 'aria-label': label } : { 'aria-hidden': true })}
    >
      <clipPath id={id}>
        <path d={d} />
      </clipPath>
      <path className="dra-Glyph-body" d={d} />
      {state === 'taken' && (
        <path className="dra-Glyph-hatch" d={hatch(w, h, size < 12 ? 3 : 4.5)} clipPath={`url(#${id})`} />
      )}
      {state === 'share' && (
        <rect className="dra-Glyph-share" x="0" y={h * 0.6} width={w} height={h * 0.4} clipPath={`url(#${id})`} />
      )}
      {kind === 'part' && (
        <>
          {state === 'yours' && (
            <rect className="dra-Glyph-share" x="0" y="0" width={w / 2.6} height={h} clipPath={`url(#${id})`} />
          )}
          <path className="dra-Glyph-slats" d={`M${w * 0.4} 2V${h - 2}M${w * 0.6} 2V${h - 2}M${w * 0.8} 2V${h - 2}`} />
        </>
      )}
      {state === 'out' && (
        <path
          className="dra-Glyph-cross"
          d={`M${w * 0.22} ${h * 0.22}L${w * 0.78} ${h * 0.78}M${w * 0.78} ${h * 0.22}L${w * 0.22} ${h * 0.78}`}
        />
      )}
      {state === 'hidden' && size >= 12 && (
        <text className="dra-Glyph-mark" x={w / 2} y={h / 2} fontSize={size * 0.6}>
          ?
        </text>
      )}
      {state === 'yours' &&
        kind !== 'part' &&
        (initial && size >= 12 ? (
          <text className="dra-Glyph-initial" x={w / 2} y={h / 2} fontSize={size * 0.6}>
            {initial}
          </text>
        ) : (
          <circle className="dra-Glyph-dot" cx={w / 2} cy={h / 2} r={size * 0.16} />
        ))}
    </svg>
  );
}
