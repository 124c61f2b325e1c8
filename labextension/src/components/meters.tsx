/** Meters: the text is the value, the bar only draws it. */

import type { ReactElement } from 'react';

import type { Session } from '../api/types';
import { leaseLeft, spentWords, timeLeft } from '../format/sessions';
import { useSpeech } from './speech';

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
  /** In grey below: what the pieces are. */
  sub?: string | null;
}

export function Meter({ label, pieces, text, strong, sub }: MeterProps): ReactElement {
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
      {sub ? <span className="dra-Meter-sub">{sub}</span> : null}
    </div>
  );
}

const PATTERNS: readonly Piece['pattern'][] = ['solid', 'stripes', 'hatch'];

/** How the holders in one bar are told apart: solid, stripes, hatched. */
export function patternOf(index: number): Piece['pattern'] {
  return PATTERNS[Math.min(index, PATTERNS.length - 1)]!;
}

/** Memory by holder: one piece each, told in words beside. */
export function memoryPieces(session: Session): Piece[] {
  const { usage } = session;
  const total = usage?.memory_total_bytes ?? 0;
  if (!usage || !total) {
    return [];
  }
  const known = usage.by_kernel.filter(item => item.memory_used_bytes !== null);
  if (known.length < 2) {
    return [{ share: (usage.memory_used_bytes ?? 0) / total, pattern: 'solid' }];
  }
  return known.map((item, index) => ({ share: (item.memory_used_bytes ?? 0) / total, pattern: patternOf(index) }));
}

/** What is left of the lease, and, asked for, what it has cost. */
export function LeaseMeter(props: {
  session: Session;
  now: number;
  soon: boolean;
  withCost?: boolean;
}): ReactElement | null {
  const speech = useSpeech();
  const { session, now, soon, withCost = false } = props;
  const left = timeLeft(speech, session, now);
  const share = leaseLeft(session, now);
  const spent = withCost ? spentWords(speech, session, now) : null;
  return left === null || share === null ? null : (
    <Meter
      label={speech.trans.__('Lease')}
      pieces={[{ share, pattern: 'grey' }]}
      text={spent ? `${left} · ${spent}` : left}
      strong={soon}
    />
  );
}
