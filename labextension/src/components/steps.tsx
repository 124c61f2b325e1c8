/** The steps of a launch: done with their times, in progress with a clock, to do. */

import type { ReactElement } from 'react';

import type { Session } from '../api/types';
import { stepDetail, stepTime, stepTitle, type StepView } from '../format/steps';
import type { Speech } from '../format/speech';
import { Icon, type IconName } from './icons';
import { Said, useSpeech } from './speech';

const ICONS: Record<StepView['state'], { icon: IconName; color: string }> = {
  done: { icon: 'done', color: 'fits' },
  now: { icon: 'now', color: 'info' },
  todo: { icon: 'todo', color: 'quiet' },
  failed: { icon: 'never', color: 'error' }
};

function stateName(speech: Speech, state: StepView['state']): string {
  const { trans } = speech;
  switch (state) {
    case 'done':
      return trans.__('done');
    case 'now':
      return trans.__('in progress');
    case 'todo':
      return trans.__('to do');
    default:
      return trans.__('failed');
  }
}

export function Steps(props: { views: readonly StepView[]; session: Session; now: number }): ReactElement {
  const speech = useSpeech();
  return (
    <ol className="dra-Steps">
      {props.views.map(view => {
        const { icon, color } = ICONS[view.state];
        const detail = stepDetail(speech, view, props.session);
        const time = stepTime(speech, view, props.now);
        return (
          <li
            key={view.code}
            className={`dra-Step dra-mod-${view.state}`}
            {...(view.state === 'now' ? { 'aria-current': 'step' as const } : {})}
          >
            <Icon name={icon} className={`dra-mod-${color}`} label={stateName(speech, view.state)} />
            <span className="dra-Step-title">{stepTitle(speech, view, props.session)}</span>
            {time ? <span className="dra-Step-time">{time}</span> : null}
            {detail ? (
              <span className="dra-Step-detail dra-mod-quiet">
                <Said text={detail} />
              </span>
            ) : null}
          </li>
        );
      })}
    </ol>
  );
}
