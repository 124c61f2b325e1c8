/** Which whole-panel state, if any, stands in place of the form (frames g2–g7). */

import type { StateProps } from '../components/states';
import { stateWords } from '../format/states';
import { sentence } from '../format/text';
import type { Workbench } from '../model/workbench';
import type { Actions } from './actions';
import type { Menus } from './menus';

const ENABLE_COMMAND = 'jupyter server extension enable jupyter_dra';

export function stateProps(bench: Workbench, actions: Actions, menus: Menus): StateProps | null {
  const { status, serverMissing, problem } = bench.cluster.state.value;
  const { trans } = actions.speech;
  const copy = { text: trans.__('Copy for your admin'), icon: 'copy' as const, onPress: () => actions.copyForAdmin() };
  const check = { text: trans.__('Check the cluster'), onPress: () => actions.checkCluster() };
  if (serverMissing) {
    return {
      icon: 'plug',
      ...stateWords(actions.speech, 'server-missing'),
      code: ENABLE_COMMAND,
      actions: [{ text: trans.__('Copy command'), icon: 'copy', onPress: () => actions.copy(ENABLE_COMMAND) }]
    };
  }
  if (problem && !status) {
    return {
      icon: 'fix',
      head: trans.__('The server part does not work'),
      body: sentence('{problem}', { problem }),
      actions: [{ text: trans.__('Try again'), onPress: () => bench.cluster.refresh() }]
    };
  }
  const choose = {
    text: trans.__('Choose a kubeconfig …'),
    onPress: () => menus.contexts(document.activeElement ?? document.body)
  };
  switch (status?.state) {
    case 'no-devices':
      return { icon: 'board', ...stateWords(actions.speech, 'no-devices', status.params), actions: [copy, check] };
    case 'forbidden':
      return {
        icon: 'lock',
        ...stateWords(actions.speech, 'forbidden'),
        code: 'list, watch: resourceslices,\ndeviceclasses (resource.k8s.io)',
        actions: [copy, { text: trans.__('Launch anyway'), onPress: () => actions.launchAnyway() }]
      };
    case 'no-cluster':
      return {
        icon: 'plug-off',
        ...stateWords(actions.speech, 'no-cluster'),
        actions: [
          { text: trans.__('Start a local cluster'), main: true, onPress: () => actions.startLocal() },
          ...(status.contexts.length ? [choose] : [])
        ]
      };
    case 'too-old':
      return {
        icon: 'old',
        ...stateWords(actions.speech, 'too-old', status.params),
        actions: [check, { text: trans.__('Check a manifest …'), onPress: () => actions.checkManifest() }]
      };
    default:
      return null;
  }
}
