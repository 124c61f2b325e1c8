/** The dock at the panel's foot: the answer, why, what would help, and the one blue button. */

import { useEffect, useId, useRef, useState, type MouseEvent, type ReactElement } from 'react';

import type { Holder, Relaxation } from '../api/types';
import type { Answer } from '../model/plan';
import type { Line } from '../format/reasons';
import { sentence, sentenceText, type Sentence } from '../format/text';
import { Button } from './controls';
import { Glyph } from './glyph';
import { Icon, type IconName } from './icons';
import { Name, Said, useSpeech } from './speech';

export interface ReasonView {
  count: string;
  devices: number;
  line: Line;
}

export interface ChangeView {
  relaxation: Relaxation;
  text: string;
  gain: string | null;
}

export interface HolderView {
  holder: Holder;
  line: Line;
  initial: string;
}

export interface DockProps {
  face: Answer['face'] | 'loading' | 'problem';
  head: string;
  body: Sentence;
  price: string | null;
  hint: { text: Sentence; press: string; onPress: () => void } | null;
  busy: boolean;
  slow: boolean;
  /** Changes whenever the form was answered anew. */
  generation: number;
  why: { title: string; rows: readonly ReasonView[]; total: number } | null;
  holders: readonly HolderView[];
  moreHolders: number;
  changes: readonly ChangeView[];
  moreChanges: number;
  changesTitle: string;
  /** "No single change helps." instead of changes. */
  nothingHelps: boolean;
  button: string;
  enabled: boolean;
  /** The blue one; with a limit no button is. */
  showLaunch: boolean;
  foot: string | null;
  extra: readonly { text: string; icon?: IconName; onPress: () => void | Promise<unknown> }[];
  target: { name: string; isNotebook: boolean } | null;
  error: string | null;
  onLaunch: () => void | Promise<unknown>;
  onWays: (event: MouseEvent<HTMLButtonElement>) => void;
  onTarget: (event: MouseEvent<HTMLButtonElement>) => void;
  onChange: (relaxation: Relaxation) => void;
  onMoreChanges: () => void;
  onRetry: () => void;
  onCheck: () => void;
}

const FACE_ICONS: Record<DockProps['face'], { icon: IconName; color: string }> = {
  fits: { icon: 'fits', color: 'fits' },
  taken: { icon: 'taken', color: 'warn' },
  never: { icon: 'never', color: 'error' },
  unknown: { icon: 'unknown', color: 'info' },
  fix: { icon: 'fix', color: 'error' },
  bolt: { icon: 'bolt', color: 'info' },
  limit: { icon: 'lock', color: 'warn' },
  policy: { icon: 'lock', color: 'warn' },
  loading: { icon: 'todo', color: 'quiet' },
  problem: { icon: 'fix', color: 'error' }
};

const CHANGE_ICONS: Readonly<Record<string, IconName>> = {
  'join-session': 'share',
  'drop-near': 'less',
  'drop-spread': 'less',
  'less-memory': 'swap',
  'more-kinds': 'plus',
  'fewer-devices': 'less',
  part: 'swap',
  'other-tier': 'swap',
  tolerate: 'plus'
};

/** What screen readers hear: the verdict, 600 ms after the last key; background changes only if it changed. */
function useSpoken(head: string, body: string, generation: number): string {
  const [spoken, setSpoken] = useState('');
  const last = useRef({ head: '', generation: -1 });
  useEffect(() => {
    if (last.current.head === head && last.current.generation === generation) {
      return;
    }
    const timer = setTimeout(() => {
      last.current = { head, generation };
      setSpoken(`${head}. ${body}`);
    }, 600);
    return () => clearTimeout(timer);
  }, [head, body, generation]);
  return spoken;
}

function Why({ why }: { why: NonNullable<DockProps['why']> }): ReactElement {
  const most = Math.max(1, ...why.rows.map(row => row.devices));
  return (
    <div className="dra-Why">
      <div className="dra-Label">
        <strong>{why.title}</strong>
      </div>
      <ul className="dra-Why-rows">
        {why.rows.map((row, index) => (
          <li key={index} className="dra-Why-row">
            <span className="dra-Why-count">{row.count}</span>
            <span className="dra-Why-main">{row.line.main}</span>
            {row.line.sub ? <span className="dra-Why-sub dra-mod-quiet">{row.line.sub}</span> : null}
            <span className="dra-Why-bar" aria-hidden="true">
              <span style={{ width: `${Math.max(0.5, (100 * row.devices) / most)}%` }} />
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}

function Holders({ holders, more }: { holders: readonly HolderView[]; more: number }): ReactElement {
  const { trans } = useSpeech();
  return (
    <ul className="dra-Holders">
      {holders.map((item, index) => {
        const unseen = item.holder.who === 'hidden';
        const state = item.holder.who === 'you' ? 'yours' : unseen ? 'hidden' : 'taken';
        return (
          <li key={index}>
            <Glyph kind="gpu" state={state} size={14} initial={item.initial} />
            <span>
              <span className="dra-Holders-main">{item.line.main}</span>
              {item.line.sub ? <span className="dra-mod-quiet dra-Holders-sub">{item.line.sub}</span> : null}
            </span>
          </li>
        );
      })}
      {more > 0 && <li className="dra-mod-quiet">{trans._n('and %1 more', 'and %1 more', more, more)}</li>}
    </ul>
  );
}

function Changes(props: DockProps): ReactElement | null {
  const { trans } = useSpeech();
  if (props.nothingHelps) {
    return <p className="dra-Hint">{trans.__('No single change helps.')}</p>;
  }
  if (!props.changes.length) {
    return null;
  }
  return (
    <div className="dra-Changes">
      <div className="dra-Label">
        <strong>{props.changesTitle}</strong>
      </div>
      {props.changes.map((change, index) => (
        <button
          key={`${change.relaxation.code}-${index}`}
          type="button"
          className="dra-Change"
          onClick={() => props.onChange(change.relaxation)}
        >
          <Icon name={CHANGE_ICONS[change.relaxation.code] ?? 'swap'} />
          <span className="dra-Change-text">
            <bdi>{change.text}</bdi>
          </span>
          {change.gain ? <span className="dra-Change-gain">{change.gain}</span> : null}
        </button>
      ))}
      {props.moreChanges > 0 && (
        <button type="button" className="dra-Link" onClick={props.onMoreChanges}>
          {trans.__('More changes')}
        </button>
      )}
    </div>
  );
}

export function Dock(props: DockProps): ReactElement {
  const { trans } = useSpeech();
  const id = useId();
  const { icon, color } = FACE_ICONS[props.face];
  const spoken = useSpoken(props.head, sentenceText(props.body), props.generation);
  return (
    <section className={`dra-Dock dra-face-${props.face}`} aria-label={trans.__('Verdict and launch')}>
      <div className="dra-Spoken" role="status" aria-atomic="true">
        {spoken}
      </div>
      <div className="dra-Dock-main">
        <div className={`dra-Verdict${props.busy ? ' dra-mod-busy' : ''}`} aria-busy={props.busy || undefined} id={id}>
          <Icon name={icon} className={`dra-mod-${color}`} />
          <div className="dra-Verdict-text">
            <div className="dra-Verdict-head">
              <strong>{props.head}</strong>
              {props.price ? <span className="dra-Verdict-price">{props.price}</span> : null}
            </div>
            <div className="dra-Verdict-body">
              <Said text={props.body} />
            </div>
            {props.hint && (
              <div className="dra-mod-quiet">
                <Said text={props.hint.text} />{' '}
                <button type="button" className="dra-Link" onClick={props.hint.onPress}>
                  {props.hint.press}
                </button>
              </div>
            )}
          </div>
        </div>
        {props.slow && (
          <div className="dra-Hint">
            {trans.__('This takes longer than usual.')}{' '}
            <button type="button" className="dra-Link" onClick={props.onRetry}>
              {trans.__('Try again')}
            </button>{' '}
            <button type="button" className="dra-Link" onClick={props.onCheck}>
              {trans.__('Check the cluster')}
            </button>
          </div>
        )}
        <div className="dra-Dock-middle">
          {props.why && <Why why={props.why} />}
          {props.holders.length > 0 && <Holders holders={props.holders} more={props.moreHolders} />}
          <Changes {...props} />
        </div>
      </div>
      <div className="dra-Dock-actions">
        {props.error && (
          <p className="dra-Hint dra-mod-error" role="alert">
            <Said text={sentence('{error}', { error: props.error })} />
          </p>
        )}
        <div className="dra-Dock-buttons">
          {props.showLaunch && (
            <div className={`dra-Split${props.enabled ? '' : ' dra-mod-disabled'}`}>
              <Button
                kind="main"
                className="dra-Launch"
                disabled={!props.enabled}
                describedBy={props.enabled ? undefined : id}
                onClick={props.onLaunch}
              >
                {props.button}
              </Button>
              {props.enabled && (
                <button
                  type="button"
                  className="dra-Split-more"
                  aria-haspopup="menu"
                  aria-label={trans.__('Other ways to launch')}
                  onClick={props.onWays}
                >
                  <Icon name="down" />
                </button>
              )}
            </div>
          )}
          {props.extra.map(item => (
            <Button key={item.text} {...(item.icon ? { icon: item.icon } : {})} onClick={item.onPress}>
              {item.text}
            </Button>
          ))}
        </div>
        {props.foot && <p className="dra-Hint">{props.foot}</p>}
        {props.target && props.enabled && (
          <div className="dra-Target">
            <span className="dra-mod-quiet">{trans.__('for')}</span>
            <button
              type="button"
              className="dra-Target-button"
              aria-haspopup="menu"
              title={trans.__('What the session is for')}
              onClick={props.onTarget}
            >
              {props.target.isNotebook && <Icon name="book" />}
              <span className="dra-Target-name">
                <Name text={props.target.name} />
              </span>
              <Icon name="down" />
            </button>
          </div>
        )}
      </div>
    </section>
  );
}
