/** Why the whole panel shows no form (ux.md §5, 54): a head and one sentence. */

import type { Params } from '../api/types';
import { list, number, text } from './params';
import type { Speech } from './speech';
import { fill, sentence, type Sentence } from './text';

export interface StateWords {
  readonly head: string;
  readonly body: Sentence;
}

export type PanelState = 'no-devices' | 'forbidden' | 'no-cluster' | 'too-old' | 'server-missing';

function noDevices(speech: Speech, params: Params): string {
  const { trans } = speech;
  const driver = text(params, 'driver');
  const nodes = number(params, 'nodes') ?? 0;
  const template = trans._n(
    'The driver {driver} runs on {n} node but lists 0 devices. Waiting does not help; an admin can look into the driver.',
    'The driver {driver} runs on {n} nodes but lists 0 devices. Waiting does not help; an admin can look into the driver.',
    nodes
  );
  return driver
    ? fill(template, { driver, n: nodes })
    : trans.__('No driver lists a device here. Waiting does not help; an admin can look into the drivers.');
}

function tooOld(speech: Speech, params: Params): Sentence {
  const { trans } = speech;
  const served = list(params, 'served').map(name => `resource.k8s.io/${String(name).replace(/^.*\//, '')}`);
  return served.length
    ? sentence(
        trans.__(
          'It offers devices through {version}. Sessions need v1, which comes with Kubernetes 1.34. Manifests can be checked and moved to v1 here.'
        ),
        { version: served.join(', ') }
      )
    : sentence(
        trans.__(
          'It does not offer devices at all. Sessions need resource.k8s.io/v1, which comes with Kubernetes 1.34. Manifests can be checked and moved to v1 here.'
        )
      );
}

export function stateWords(speech: Speech, state: PanelState, params: Params = {}): StateWords {
  const { trans } = speech;
  switch (state) {
    case 'no-devices':
      return { head: trans.__('No devices published'), body: sentence('{body}', { body: noDevices(speech, params) }) };
    case 'forbidden':
      return {
        head: trans.__('You may not see the devices'),
        body: sentence(
          trans.__('Launching still works, but not what is free or why it waits. For that, your admin can grant this:')
        )
      };
    case 'no-cluster':
      return {
        head: trans.__('No cluster yet'),
        body: sentence(
          trans.__(
            'Nothing tells this server where a cluster is. You can try everything with a small one on this machine: real requests, pretend devices.'
          )
        )
      };
    case 'too-old':
      return { head: trans.__('This cluster is too old'), body: tooOld(speech, params) };
    case 'server-missing':
      return {
        head: trans.__('The server part is missing'),
        body: sentence(
          trans.__(
            'This page has the sidebar, but the Jupyter server does not answer at /jupyter-dra. Enable it and reload.'
          )
        )
      };
  }
}
