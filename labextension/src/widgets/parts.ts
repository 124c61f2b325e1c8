/** What every part of the panel is made from. */

import type { Speech } from '../format/speech';
import type { Workbench } from '../model/workbench';
import type { Actions } from './actions';
import type { Menus } from './menus';

export interface PanelProps {
  bench: Workbench;
  actions: Actions;
  menus: Menus;
}

export interface Parts extends PanelProps {
  trans: Speech['trans'];
  /** The session that was just launched: its card takes the focus. */
  fresh: { id: string | null; set: (id: string | null) => void };
}
