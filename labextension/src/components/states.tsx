/** Loading, empty, forbidden, absent, too old, lost: each with its reason and one next step. */

import type { ReactElement, ReactNode } from 'react';

import type { Sentence } from '../format/text';
import { Button } from './controls';
import { Icon, type IconName } from './icons';
import { Said, useSpeech } from './speech';

export interface StateAction {
  text: string;
  icon?: IconName;
  main?: boolean;
  onPress: () => void | Promise<unknown>;
}

export interface StateProps {
  icon: IconName;
  head: string;
  body: Sentence;
  code?: string | null;
  actions: readonly StateAction[];
  children?: ReactNode;
}

/** A whole-panel state. */
export function State({ icon, head, body, code, actions, children }: StateProps): ReactElement {
  return (
    <div className="dra-State">
      <Icon name={icon} size={32} />
      <h3 className="dra-State-head">{head}</h3>
      <p className="dra-mod-quiet">
        <Said text={body} />
      </p>
      {code ? <pre className="dra-State-code">{code}</pre> : null}
      {children}
      <div className="dra-State-actions">
        {actions.map(action => (
          <Button
            key={action.text}
            kind={action.main ? 'main' : 'plain'}
            {...(action.icon ? { icon: action.icon } : {})}
            onClick={action.onPress}
          >
            {action.text}
          </Button>
        ))}
      </div>
    </div>
  );
}

/** The skeleton of tiers and memory while the first inventory is read. */
export function Skeleton(props: {
  stage: 'soon' | 'skeleton' | 'words' | 'long' | 'no';
  onRetry: () => void;
  onCheck: () => void;
}): ReactElement | null {
  const { trans } = useSpeech();
  if (props.stage === 'soon') {
    return null;
  }
  const widths = [34, 46, 29, 41];
  return (
    <div className="dra-Skeleton" aria-busy="true">
      <div aria-hidden="true">
        {widths.map(width => (
          <div key={width} className="dra-Skeleton-row">
            <span className="dra-Skeleton-dot" />
            <span className="dra-Skeleton-bar" style={{ width: `${width}%` }} />
            <span className="dra-Skeleton-bar dra-mod-end" />
          </div>
        ))}
        <div className="dra-Skeleton-block" />
      </div>
      <div role="status">
        {props.stage === 'long' ? (
          <p>
            {trans.__('This takes longer than usual.')}{' '}
            <button type="button" className="dra-Link" onClick={props.onRetry}>
              {trans.__('Try again')}
            </button>{' '}
            <button type="button" className="dra-Link" onClick={props.onCheck}>
              {trans.__('Check the cluster')}
            </button>
          </p>
        ) : props.stage === 'words' ? (
          <p>{trans.__('Reading the inventory …')}</p>
        ) : null}
      </div>
    </div>
  );
}

/** A strip above the sections: connection lost, a notebook's wish, a gone choice. */
export function Banner(props: {
  icon: IconName;
  color?: string;
  text: Sentence;
  live?: boolean;
  actions: readonly { text: string; link?: boolean; onPress: () => void | Promise<unknown> }[];
}): ReactElement {
  return (
    <div className="dra-Banner" {...(props.live ? { role: 'status' } : {})}>
      <Icon name={props.icon} className={props.color ? `dra-mod-${props.color}` : ''} />
      <div className="dra-Banner-text">
        <Said text={props.text} />{' '}
        {props.actions.map(action => (
          <Button key={action.text} kind={action.link ? 'link' : 'plain'} onClick={action.onPress}>
            {action.text}
          </Button>
        ))}
      </div>
    </div>
  );
}
