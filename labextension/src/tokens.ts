/** What other extensions may ask for: the models behind every face, and the actions with their questions. */

import { Token } from '@lumino/coreutils';

import type { Workbench } from './model/workbench';
import type { Actions } from './widgets/actions';

export interface IGPUSessions {
  readonly workbench: Workbench;
  readonly actions: Actions;
}

export const IGPUSessions = new Token<IGPUSessions>(
  'jupyter-dra:IGPUSessions',
  'GPU sessions: the cluster, its tiers, the plan of the form, the running sessions, and what can be done with them.'
);
