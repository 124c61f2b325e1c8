/** The plugins of jupyter-dra. */

import { cardsPlugin } from './plugins/cards';
import { commandsPlugin } from './plugins/commands';
import { launcherPlugin } from './plugins/launcher';
import { notificationsPlugin } from './plugins/notifications';
import { panelPlugin } from './plugins/panel';
import { runningPlugin } from './plugins/running';
import { sessionsPlugin } from './plugins/sessions';
import { statusPlugin } from './plugins/statusbar';
import { toolbarPlugin } from './plugins/toolbar';

export { IGPUSessions } from './tokens';

export default [
  sessionsPlugin,
  commandsPlugin,
  panelPlugin,
  launcherPlugin,
  statusPlugin,
  toolbarPlugin,
  runningPlugin,
  notificationsPlugin,
  cardsPlugin
];
