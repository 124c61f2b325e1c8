/** Meters: the text is the value, the bar only draws it. */

import type { ReactElement } from 'react';

export interface Piece {
  /** 0–1 of the whole. */
  share: number;
  pattern: 'solid' | 'stripes' | 'hatch' | 'grey';
}

export interface MeterProps {
  label: string;
  pieces: readonly Piece[] | null;
  text: string;
  strong?: boolean;
}

export function Meter({ label, pieces, text, strong }: MeterProps): ReactElement {
  return (
    <div className={`dra-Meter${pieces ? '' : ' dra-mod-bare'}`}>
      <span className="dra-Meter-label">{label}</span>
      {pieces && (
        <span className="dra-Meter-bar" aria-hidden="true">
          {pieces.map((piece, index) => (
            <span
              key={index}
              className={`dra-Meter-piece dra-mod-${piece.pattern}`}
              style={{ width: `${Math.min(100, Math.max(0, piece.share * 100))}%` }}
            />
          ))}
        </span>
      )}
      <span className="dra-Meter-text">{strong ? <strong>{text}</strong> : text}</span>
    </div>
  );
}

const PATTERNS: readonly Piece['pattern'][] = ['solid', 'stripes', 'hatch'];

/** How the holders in one bar are told apart: solid, stripes, hatched. */
export function patternOf(index: number): Piece['pattern'] {
  return PATTERNS[Math.min(index, PATTERNS.length - 1)]!;
}
