/** The menus of the panel, as JupyterLab's own menus: clusters, more, recent, ways to launch, target, session. */

import type { CommandRegistry } from '@lumino/commands';
import { Menu } from '@lumino/widgets';

import type { Session } from '../api/types';
import { requirementLine } from '../format/requirement';
import { plain } from '../format/text';
import { draftOf } from '../model/draft';
import { defaultTarget } from '../model/target';
import type { Workbench } from '../model/workbench';
import type { Actions } from './actions';
import { CommandIDs } from './commandids';

interface Item {
  label: string;
  run: () => void;
  checked?: boolean;
}

export class Menus {
  constructor(
    private readonly _commands: CommandRegistry,
    private readonly _bench: Workbench,
    private readonly _actions: Actions
  ) {}

  /** Sessions unfolded by hand. */
  readonly unfolded = new Set<string>();
  launchButton: HTMLElement | null = null;

  contexts(anchor: Element): void {
    const { status } = this._bench.cluster.state.value;
    const { trans } = this._actions.speech;
    const items: Item[] = (status?.contexts ?? []).map(context => ({
      label: plain(context.name),
      checked: context.current,
      run: () => void this._actions.changeCluster(context.name)
    }));
    if (!status?.contexts.some(context => context.source === 'local')) {
      items.push({ label: trans.__('Start a local cluster'), run: () => void this._actions.startLocal() });
    }
    this._open(anchor, items);
  }

  more(anchor: Element): void {
    const ids = [
      CommandIDs.copyRequest,
      CommandIDs.copyForAdmin,
      CommandIDs.rememberInNotebook,
      null,
      CommandIDs.checkCluster,
      CommandIDs.checkManifest,
      CommandIDs.showHolders,
      CommandIDs.togglePicture
    ];
    const menu = new Menu({ commands: this._commands });
    for (const command of ids) {
      menu.addItem(command ? { command } : { type: 'separator' });
    }
    this._show(menu, anchor);
  }

  recent(anchor: Element): void {
    const { recent } = this._bench.remembered.state.value;
    this._open(
      anchor,
      recent.map(preset => ({
        label: preset.name ?? requirementLine(this._actions.speech, preset.requirement, this._actions.tierName),
        run: () => this._bench.edit(() => draftOf(preset.requirement))
      }))
    );
  }

  ways(anchor: Element): void {
    const { trans } = this._actions.speech;
    const { current } = this._bench;
    this._open(anchor, [
      {
        label: trans.__('Launch for a new notebook'),
        run: () => void this._actions.launchTold({ target: { kind: 'new' } })
      },
      ...(current
        ? [
            {
              label: trans.__('Launch for %1', plain(current.name)),
              run: () =>
                void this._actions.launchTold({ target: { kind: 'notebook', path: current.path, name: current.name } })
            }
          ]
        : []),
      { label: trans.__('Launch, and wait if all are taken'), run: () => void this._actions.launchTold({ wait: true }) }
    ]);
  }

  target(anchor: Element): void {
    const { trans } = this._actions.speech;
    const { current } = this._bench;
    const now = this._bench.target.value;
    const here = defaultTarget(current, 'here');
    this._open(anchor, [
      ...(here.kind === 'notebook'
        ? [{ label: plain(here.name), checked: now.kind === 'notebook', run: () => this._bench.setTarget(here) }]
        : []),
      {
        label: trans.__('New notebook'),
        checked: now.kind === 'new',
        run: () => this._bench.setTarget({ kind: 'new' })
      }
    ]);
  }

  session(session: Session, anchor: Element): void {
    const { trans } = this._actions.speech;
    const notebooks = session.kernels.map(kernel => kernel.notebook).filter((path): path is string => Boolean(path));
    const shut = !this.unfolded.has(session.id);
    this._open(anchor, [
      ...notebooks.map(path => ({
        label: trans.__('Open %1', plain(path.split('/').pop() ?? path)),
        run: () => void this._actions.open(session, path)
      })),
      ...(notebooks.length
        ? []
        : [{ label: trans.__('Open a notebook on it'), run: () => void this._actions.open(session, null) }]),
      {
        label: shut ? trans.__('Show more') : trans.__('Show less'),
        run: () => {
          if (!this.unfolded.delete(session.id)) {
            this.unfolded.add(session.id);
          }
          this._bench.ticker.now.set(Date.now());
        }
      },
      { label: trans.__('Restart'), run: () => void this._actions.restart(session) },
      { label: trans.__('Change image or size …'), run: () => void this._actions.changePod(session) },
      { label: trans.__('Log'), run: () => void this._actions.showLog(session) },
      { label: trans.__('Details'), run: () => void this._actions.describe(session) },
      { label: trans.__('Copy request'), run: () => void this._actions.copyRequest(session.requirement ?? {}) },
      { label: trans.__('Extend'), run: () => void this._actions.extend(session) },
      { label: trans.__('Go on without this server'), run: () => void this._actions.detach(session) },
      { label: trans.__('Stop …'), run: () => void this._actions.stop(session) }
    ]);
  }

  private _open(anchor: Element, items: readonly Item[]): void {
    const menu = new Menu({ commands: this._commands });
    const disposables = items.map((item, index) => {
      const id = `jupyter-dra:menu-item-${index}`;
      const added = this._commands.addCommand(id, {
        label: item.label,
        isToggleable: item.checked !== undefined,
        isToggled: () => item.checked ?? false,
        execute: item.run
      });
      menu.addItem({ command: id });
      return added;
    });
    menu.aboutToClose.connect(() => {
      // The chosen item still has to run.
      setTimeout(() => disposables.forEach(item => item.dispose()), 0);
    });
    this._show(menu, anchor);
  }

  private _show(menu: Menu, anchor: Element): void {
    const box = anchor.getBoundingClientRect();
    const owner = anchor instanceof HTMLElement ? anchor : null;
    menu.addClass('dra-Menu');
    menu.aboutToClose.connect(() => {
      setTimeout(() => {
        if (document.activeElement === document.body) {
          owner?.focus();
        }
      }, 0);
    });
    menu.open(box.left, box.bottom);
  }
}
