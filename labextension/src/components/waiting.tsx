/** Who waits for devices and why: only for those who may see all claims. */

import { useState, type ReactElement } from 'react';

import type { Requirement } from '../api/types';
import { duration } from '../format/durations';
import { fill } from '../format/text';
import { Icon, type IconName } from './icons';
import { Name, useSpeech } from './speech';
import { Spinner } from './controls';

export interface WaitingRow {
  readonly key: string;
  readonly who: string;
  readonly claim: string;
  readonly request: string;
  readonly group: string;
  readonly why: string;
  readonly since: string | null;
  readonly requirement: Requirement | null;
}

/** A quota that refuses more: what it would refuse does not wait, so it is not among the rows. */
export interface FullQuota {
  readonly key: string;
  readonly text: string;
}

export type WaitingOrder = 'reason' | 'since';

const FEW = 5;

const ICONS: Readonly<Record<string, { icon: IconName; color: string }>> = {
  never: { icon: 'never', color: 'error' },
  taken: { icon: 'taken', color: 'warn' },
  limit: { icon: 'lock', color: 'warn' },
  unknown: { icon: 'unknown', color: 'info' }
};

const ORDER = ['never', 'taken', 'starting', 'limit'];

export function WaitingView(props: {
  rows: readonly WaitingRow[];
  full: readonly FullQuota[];
  order: WaitingOrder;
  now: number;
  onTry: (requirement: Requirement) => void;
}): ReactElement {
  const speech = useSpeech();
  const { trans } = speech;
  const [all, setAll] = useState(false);
  const [open, setOpen] = useState<string | null>(null);
  const number = (group: string): number => props.rows.filter(row => row.group === group).length;
  const rank = (group: string): number => (ORDER.indexOf(group) + ORDER.length + 1) % (ORDER.length + 1);
  const byReason = (a: WaitingRow, b: WaitingRow): number =>
    props.order === 'reason' ? rank(a.group) - rank(b.group) : 0;
  const sorted = [...props.rows].sort((a, b) => byReason(a, b) || (a.since ?? '').localeCompare(b.since ?? ''));
  const shown = all ? sorted : sorted.slice(0, FEW);
  const groups = [
    [number('never'), trans.__('cannot ever start')],
    [number('taken'), trans.__('taken')],
    [number('starting'), trans.__('starting')],
    [number('limit'), trans.__('limit')]
  ] as const;
  const n = props.rows.length;
  return (
    <div className="dra-Waiting">
      <p>
        <strong>{fill(trans._n('{n} waits', '{n} wait', n), { n })}</strong>
        {groups.filter(([some]) => some > 0).map(([some, text]) => ` · ${some} ${text}`)}
      </p>
      <ul>
        {shown.map(row => {
          const icon = ICONS[row.group];
          return (
            <li key={row.key}>
              {icon ? <Icon name={icon.icon} className={`dra-mod-${icon.color}`} /> : <Spinner />}
              <button
                type="button"
                className="dra-Waiting-head"
                aria-expanded={open === row.key}
                onClick={() => setOpen(open === row.key ? null : row.key)}
              >
                <strong>
                  <Name text={row.who} />
                </strong>
                {row.claim && ' / '}
                <Name text={row.claim} /> <span className="dra-mod-quiet">{row.request}</span>
              </button>
              <span className="dra-Waiting-since">
                {row.since && duration(speech, Math.floor((props.now - Date.parse(row.since)) / 1000))}
              </span>
              <span className="dra-Waiting-why dra-mod-quiet">{row.why}</span>
              {open === row.key && row.requirement && (
                <button type="button" className="dra-Link" onClick={() => props.onTry(row.requirement!)}>
                  {trans.__('Try this request')}
                </button>
              )}
            </li>
          );
        })}
      </ul>
      {props.full.map(quota => (
        <p key={quota.key} className="dra-Waiting-full">
          <Icon name="lock" className="dra-mod-warn" /> {quota.text}
        </p>
      ))}
      {!all && sorted.length > FEW && (
        <button type="button" className="dra-Link" onClick={() => setAll(true)}>
          {fill(trans.__('Show all {n}'), { n })}
        </button>
      )}
    </div>
  );
}
