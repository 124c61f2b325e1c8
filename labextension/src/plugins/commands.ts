/**
 * Everything the panel can do, as commands.
 *
 * A command can be called by a link in an output, so none trusts its arguments: what spends, stops, shares, writes
 * or switches opens our own dialog, or the panel with the request filled in, and says what the server knows.
 */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import type { CommandRegistry } from '@lumino/commands';
import type { ReadonlyJSONObject } from '@lumino/coreutils';

import type { Session } from '../api/types';
import { checkArgs, foreignRequirement, sessionFor, type Args, type ArgSchema } from '../model/commandargs';
import { IGPUSessions } from '../tokens';
import { CommandIDs } from '../widgets/commandids';
import { draIcon } from '../widgets/icons';

const SESSION_ARGS = {
  type: 'object',
  additionalProperties: false,
  properties: {
    session: { type: 'string', maxLength: 253, description: 'Id of a session; default: that of the current notebook' }
  }
} as const;

const REQUEST_ARGS = {
  type: 'object',
  additionalProperties: false,
  properties: { requirement: { type: 'object', description: 'What to ask for; only fields that say which device' } }
} as const;

const HERE_ARGS = {
  ...REQUEST_ARGS,
  properties: {
    ...REQUEST_ARGS.properties,
    wait: { type: 'boolean', description: 'Wait for a device where all are taken' }
  }
} as const;

const NAME_ARGS = {
  type: 'object',
  additionalProperties: false,
  properties: { name: { type: 'string', maxLength: 253, description: 'Name of a context' } }
} as const;

const NO_ARGS = { type: 'object', additionalProperties: false, properties: {} } as const;

interface Spec {
  label: string;
  schema: ArgSchema;
  run: (args: Args) => unknown;
  enabled?: () => boolean;
}

function specs({ workbench: bench, actions }: IGPUSessions): Record<string, Spec> {
  const { trans } = actions.speech;
  const onSession = (run: (session: Session) => unknown) => (args: Args) => {
    const session = sessionFor(bench, args);
    return session ? run(session) : actions.reveal();
  };
  const fill = (args: Args): void => {
    if (args['requirement'] !== undefined) {
      bench.prefill(foreignRequirement(args['requirement']));
    }
    bench.remembered.toggle('new', true);
    actions.reveal();
  };
  const some = (): boolean => bench.live.length > 0;
  return {
    [CommandIDs.open]: { label: trans.__('GPU Sessions'), schema: REQUEST_ARGS, run: fill },
    [CommandIDs.launch]: {
      label: trans.__('Launch a GPU Session …'),
      schema: REQUEST_ARGS,
      run: args => {
        fill(args);
        return actions.askAndLaunch({ kind: 'new' }, false);
      }
    },
    [CommandIDs.launchHere]: {
      label: trans.__('Launch a GPU Session for This Notebook …'),
      schema: HERE_ARGS,
      enabled: () => bench.current !== null,
      run: args => {
        fill(args);
        const { current } = bench;
        const target = current && ({ kind: 'notebook', path: current.path, name: current.name } as const);
        return target && actions.askAndLaunch(target, args['wait'] === true);
      }
    },
    [CommandIDs.wait]: {
      label: trans.__('Wait for a Device …'),
      schema: REQUEST_ARGS,
      run: args => {
        fill(args);
        return actions.askAndLaunch(bench.target.value, true);
      }
    },
    [CommandIDs.cancel]: {
      label: trans.__('Cancel the Start'),
      schema: SESSION_ARGS,
      enabled: some,
      run: args => {
        const session = sessionFor(bench, args) ?? bench.live.find(item => item.state !== 'running') ?? null;
        return session && session.state !== 'running' ? actions.stop(session, true) : actions.reveal();
      }
    },
    [CommandIDs.attachHere]: {
      label: trans.__('Use a Session for This Notebook …'),
      schema: SESSION_ARGS,
      enabled: some,
      run: onSession(session => actions.attachHere(session))
    },
    [CommandIDs.openNotebook]: {
      label: trans.__('Open the Notebook of a Session'),
      schema: SESSION_ARGS,
      enabled: some,
      run: onSession(session => actions.open(session, session.kernels[0]?.notebook ?? null))
    },
    [CommandIDs.restart]: {
      label: trans.__('Restart on the Same Device …'),
      schema: SESSION_ARGS,
      enabled: some,
      run: onSession(session => actions.restart(session, true))
    },
    [CommandIDs.changePod]: {
      label: trans.__('Change Image or Size on the Same Device …'),
      schema: SESSION_ARGS,
      enabled: some,
      run: onSession(session => actions.changePod(session))
    },
    [CommandIDs.log]: {
      label: trans.__('Show the Log of a Session'),
      schema: SESSION_ARGS,
      run: onSession(session => actions.showLog(session))
    },
    [CommandIDs.extend]: {
      label: trans.__('Extend a Session …'),
      schema: SESSION_ARGS,
      enabled: some,
      run: onSession(session => actions.extend(session, true))
    },
    [CommandIDs.stop]: {
      label: trans.__('Stop a Session …'),
      schema: SESSION_ARGS,
      enabled: some,
      run: onSession(session => actions.stop(session, true))
    },
    [CommandIDs.detach]: {
      label: trans.__('Let a Session Go On Without This Server …'),
      schema: SESSION_ARGS,
      enabled: some,
      run: onSession(session => actions.detach(session, true))
    },
    [CommandIDs.describe]: {
      label: trans.__('Show the Details of a Session'),
      schema: SESSION_ARGS,
      run: onSession(session => actions.describe(session))
    },
    [CommandIDs.copyRequest]: {
      label: trans.__('Copy the Request'),
      schema: NO_ARGS,
      run: () => actions.copyRequest()
    },
    [CommandIDs.copyForAdmin]: {
      label: trans.__('Copy for Your Admin'),
      schema: NO_ARGS,
      run: () => actions.copyForAdmin()
    },
    [CommandIDs.checkCluster]: {
      label: trans.__('Check the Cluster'),
      schema: NO_ARGS,
      run: () => actions.checkCluster()
    },
    [CommandIDs.checkManifest]: {
      label: trans.__('Check a Manifest …'),
      schema: NO_ARGS,
      run: () => actions.checkManifest()
    },
    [CommandIDs.changeCluster]: {
      label: trans.__('Change Cluster …'),
      schema: NAME_ARGS,
      run: args => (typeof args['name'] === 'string' ? actions.changeCluster(args['name'], true) : actions.reveal())
    },
    [CommandIDs.startLocal]: {
      label: trans.__('Start a Local Cluster …'),
      schema: NO_ARGS,
      run: () => actions.startLocal(true)
    },
    [CommandIDs.rememberInNotebook]: {
      label: trans.__('Remember in Notebook …'),
      schema: NO_ARGS,
      enabled: () => bench.current !== null,
      run: () => actions.rememberInNotebook()
    },
    [CommandIDs.showHolders]: {
      label: trans.__('Show Who Holds Devices'),
      schema: NO_ARGS,
      run: () => {
        bench.remembered.update({ devicesView: 'list' });
        bench.remembered.toggle('devices', true);
        actions.reveal();
      }
    },
    [CommandIDs.togglePicture]: {
      label: trans.__('Devices as Picture or List'),
      schema: NO_ARGS,
      run: () => {
        const { devicesView } = bench.remembered.state.value;
        bench.remembered.update({ devicesView: devicesView === 'picture' ? 'list' : 'picture' });
      }
    }
  };
}

function register(commands: CommandRegistry, id: string, spec: Spec): void {
  commands.addCommand(id, {
    label: spec.label,
    describedBy: { args: spec.schema as unknown as ReadonlyJSONObject },
    ...(id === CommandIDs.open ? { icon: draIcon } : {}),
    ...(spec.enabled ? { isEnabled: spec.enabled } : {}),
    execute: args => {
      checkArgs(args, spec.schema);
      return spec.run(args);
    }
  });
}

export const commandsPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-dra:commands',
  description: 'All actions on GPU sessions as commands, and in the palette.',
  autoStart: true,
  requires: [IGPUSessions],
  optional: [ICommandPalette],
  activate: (app: JupyterFrontEnd, sessions: IGPUSessions, palette: ICommandPalette | null): void => {
    const category = sessions.actions.speech.trans.__('GPU sessions');
    for (const [id, spec] of Object.entries(specs(sessions))) {
      register(app.commands, id, spec);
      palette?.addItem({ command: id, category });
    }
    sessions.workbench.changed.connect(() => app.commands.notifyCommandChanged(CommandIDs.stop));
  }
};
