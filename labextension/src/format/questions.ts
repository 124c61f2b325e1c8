/** What is asked before something is lost (ux.md §5, 38, 55 and 56): a title and what stands at stake. */

import type { Session } from '../api/types';
import { kernelState } from './sessions';
import type { Speech } from './speech';
import { fill } from './text';

export interface Question {
  readonly title: string;
  readonly body: string;
}

function fileName(path: string): string {
  return path.split('/').pop() ?? path;
}

/** `lost`: paths of the notebooks whose variables are lost. */
export function stopQuestion(speech: Speech, session: Session, lost: readonly string[]): Question {
  const { trans } = speech;
  const nameOf = (kernel: Session['kernels'][number]): string =>
    kernel.notebook === null ? kernel.name : fileName(kernel.notebook);
  const busy = session.kernels
    .filter(kernel => kernel.state === 'busy')
    .map(kernel => fill(trans.__('{notebook} is busy.'), { notebook: nameOf(kernel) }));
  const others = session.kernels
    .filter(kernel => kernel.state !== 'busy' && lost.length > 1)
    .map(kernel => `${nameOf(kernel)} (${kernelState(speech, kernel.state, null)})`);
  const also = others.length ? fill(trans.__('Also on it: {notebooks}.'), { notebooks: others.join(', ') }) : '';
  const n = lost.length;
  const loss = n
    ? fill(
        trans._n(
          'Variables of {n} notebook are lost; files are kept.',
          'Variables of {n} notebooks are lost; files are kept.',
          n
        ),
        { n }
      )
    : trans.__('Files are kept.');
  return {
    title: fill(trans.__('Stop {session}?'), { session: session.name }),
    body: [...busy, also, loss].filter(Boolean).join(' ')
  };
}

export function replaceQuestion(speech: Speech, notebook: string): Question {
  const { trans } = speech;
  return {
    title: fill(trans.__('Replace the kernel of {notebook}?'), { notebook }),
    body: trans.__('Its variables are lost.')
  };
}

/** `loses`: the notebook's kernel has run cells. */
export function joinQuestion(speech: Speech, session: Session, notebook: string, loses: boolean): Question {
  const { trans } = speech;
  const shared = trans.__(
    'They share all of its memory; nothing keeps them apart. Stopping one keeps the device for the other.'
  );
  return {
    title: fill(trans.__('Run {notebook} on {session}?'), { notebook, session: session.name }),
    body: loses ? `${shared} ${trans.__('Its variables are lost.')}` : shared
  };
}
