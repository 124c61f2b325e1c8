/** The bar at the top: which cluster and namespace, whether it answers, and the menu. */

import type { MouseEvent, ReactElement } from 'react';

import type { Status } from '../api/types';
import { barWords } from '../format/simulated';
import { IconButton } from './controls';
import { Icon } from './icons';
import { Said, useSpeech } from './speech';

export interface BarProps {
  status: Status | null;
  lost: boolean;
  onContexts: (event: MouseEvent<HTMLButtonElement>) => void;
  onMore: (event: MouseEvent<HTMLButtonElement>) => void;
}

export function Bar({ status, lost, onContexts, onMore }: BarProps): ReactElement {
  const speech = useSpeech();
  const { trans } = speech;
  const cluster = status ? (status.cluster ?? trans.__('no cluster')) : '…';
  const local = status?.local_cluster;
  const simulated =
    status?.simulated === true ||
    (local?.running === true && local.simulated === true && local.context === status?.cluster);
  return (
    <div className="dra-Bar">
      <button
        type="button"
        className="dra-Bar-cluster"
        aria-haspopup="menu"
        title={[cluster, status?.namespace].filter(Boolean).join(' / ')}
        onClick={onContexts}
      >
        <Icon
          name={lost ? 'plug-off' : 'plug'}
          className={lost ? 'dra-mod-warn' : status ? 'dra-mod-fits' : 'dra-mod-quiet'}
          label={lost ? trans.__('connection lost') : status ? trans.__('connected') : trans.__('connecting')}
        />
        <span className="dra-Bar-name dra-mod-quiet">
          <Said text={barWords(speech, cluster, status?.namespace ?? null, simulated)} />
        </span>
        <Icon name="down" />
      </button>
      <IconButton icon="more" label={trans.__('More about GPU sessions')} hasMenu onClick={onMore} />
    </div>
  );
}
