/** Which whole-panel state, if any, stands in place of the form (frames g2–g7). */

import type { StateProps } from '../components/states';
import { fill, sentence } from '../format/text';
import type { Workbench } from '../model/workbench';
import type { Actions } from './actions';
import type { Menus } from './menus';

const ENABLE_COMMAND = 'jupyter server extension enable jupyter_dra';

export function stateProps(bench: Workbench, actions: Actions, menus: Menus): StateProps | null {
  const { status, serverMissing, problem } = bench.cluster.state.value;
  const { trans } = actions.speech;
  const copy = { text: trans.__('Copy for your admin'), icon: 'copy' as const, onPress: () => actions.copyForAdmin() };
  const check = { text: trans.__('Check the cluster'), onPress: () => actions.checkCluster() };
  const params = status?.params ?? {};
  if (serverMissing) {
    return {
      icon: 'plug',
      head: trans.__('The server part is missing'),
      body: sentence(
        trans.__(
          'This page has the sidebar, but the Jupyter server does not answer at /jupyter-dra. Enable it and reload.'
        )
      ),
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
  switch (status?.state) {
    case 'no-devices': {
      const driver = typeof params['driver'] === 'string' ? params['driver'] : null;
      const nodes = typeof params['nodes'] === 'number' ? params['nodes'] : 0;
      const body = driver
        ? fill(
            trans._n(
              'The driver {driver} runs on {n} node but lists 0 devices. Waiting does not help; an admin can look into the driver.',
              'The driver {driver} runs on {n} nodes but lists 0 devices. Waiting does not help; an admin can look into the driver.',
              nodes
            ),
            { driver, n: nodes }
          )
        : trans.__('No driver lists a device here. Waiting does not help; an admin can look into the drivers.');
      return {
        icon: 'board',
        head: trans.__('No devices published'),
        body: sentence('{body}', { body }),
        actions: [copy, check]
      };
    }
    case 'forbidden':
      return {
        icon: 'lock',
        head: trans.__('You may not see the devices'),
        body: sentence(
          trans.__('Launching still works, but not what is free or why it waits. For that, your admin can grant this:')
        ),
        code: 'list, watch: resourceslices,\ndeviceclasses (resource.k8s.io)',
        actions: [copy, { text: trans.__('Launch anyway'), onPress: () => actions.launchAnyway() }]
      };
    case 'no-cluster':
      return {
        icon: 'plug-off',
        head: trans.__('No cluster yet'),
        body: sentence(
          trans.__(
            'Nothing tells this server where a cluster is. You can try everything with a small one on this machine: real requests, pretend devices.'
          )
        ),
        actions: [
          { text: trans.__('Start a local cluster'), main: true, onPress: () => actions.startLocal() },
          ...(status.contexts.length
            ? [
                {
                  text: trans.__('Choose a kubeconfig …'),
                  onPress: () => menus.contexts(document.activeElement ?? document.body)
                }
              ]
            : [])
        ]
      };
    case 'too-old': {
      const served = Array.isArray(params['served']) ? params['served'].map(String) : [];
      const version = served.map(name => `resource.k8s.io/${name.replace(/^.*\//, '')}`).join(', ');
      return {
        icon: 'old',
        head: trans.__('This cluster is too old'),
        body: version
          ? sentence(
              trans.__(
                'It offers devices through {version}. Sessions need v1, which comes with Kubernetes 1.34. Manifests can be checked and moved to v1 here.'
              ),
              { version }
            )
          : sentence(
              trans.__(
                'It does not offer devices at all. Sessions need resource.k8s.io/v1, which comes with Kubernetes 1.34. Manifests can be checked and moved to v1 here.'
              )
            ),
        actions: [check, { text: trans.__('Check a manifest …'), onPress: () => actions.checkManifest() }]
      };
    }
    default:
      return null;
  }
}
