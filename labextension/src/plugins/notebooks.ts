/** Notebooks as the models need them, over JupyterLab's tracker; without one there are simply none. */

import type { JupyterFrontEnd } from '@jupyterlab/application';
import { NotebookActions, type INotebookTracker, type NotebookPanel } from '@jupyterlab/notebook';
import { Signal, type ISignal } from '@lumino/signaling';

import type { NotebookInfo, Notebooks } from '../model/target';

const METADATA = 'jupyter-dra';

export class LabNotebooks implements Notebooks {
  constructor(
    private readonly _app: JupyterFrontEnd,
    private readonly _tracker: INotebookTracker | null
  ) {
    NotebookActions.executed.connect((_, { notebook }) => {
      const panel = _tracker?.find(item => item.content === notebook);
      const id = panel?.sessionContext.session?.kernel?.id;
      if (id) {
        this._hasRun.add(id);
        this._changed.emit();
      }
    });
    // Kernels that ran before this page was loaded may have run any cell.
    const { kernels } = _app.serviceManager;
    void kernels.ready.then(() => {
      for (const model of kernels.running()) {
        this._older.add(model.id);
      }
    });
    _tracker?.currentChanged.connect((_, panel) => {
      this._follow(panel);
      this._changed.emit();
    });
    _tracker?.widgetAdded.connect((_, panel) => this._follow(panel));
  }

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  get current(): NotebookInfo | null {
    const panel = this._tracker?.currentWidget ?? null;
    return panel && !panel.isDisposed ? this._info(panel) : null;
  }

  find(path: string): NotebookInfo | null {
    const panel = this._panel(path);
    return panel ? this._info(panel) : null;
  }

  async openNew(kernel: { id: string; name: string }): Promise<string | null> {
    await this._app.serviceManager.kernels.refreshRunning();
    const cwd = this.current?.path.split('/').slice(0, -1).join('/') ?? '';
    const panel: unknown = await this._app.commands.execute('notebook:create-new', {
      kernelId: kernel.id,
      kernelName: kernel.name,
      cwd
    });
    return (panel as NotebookPanel | undefined)?.context?.path ?? null;
  }

  async moveTo(path: string, kernel: { id: string; name: string }): Promise<void> {
    await this._app.serviceManager.kernels.refreshRunning();
    const panel = this._panel(path);
    if (!panel) {
      return;
    }
    await panel.sessionContext.ready;
    // A session whose kernel was stopped is gone from the server; the notebook must forget it before it gets another.
    await this._app.serviceManager.sessions.refreshRunning();
    if (panel.sessionContext.session?.kernel?.id !== kernel.id) {
      await panel.sessionContext.changeKernel({ id: kernel.id, name: kernel.name });
    }
    this._changed.emit();
  }

  async reveal(path: string): Promise<void> {
    const panel = this._panel(path);
    if (panel) {
      this._app.shell.activateById(panel.id);
    } else {
      await this._app.commands.execute('docmanager:open', { path });
    }
  }

  async restart(kernelId: string): Promise<boolean> {
    const panel = this._tracker?.find(item => item.sessionContext.session?.kernel?.id === kernelId);
    if (!panel) {
      return false;
    }
    await panel.sessionContext.restartKernel();
    this._hasRun.delete(kernelId);
    this._older.delete(kernelId);
    return true;
  }

  pathOf(kernelId: string): string | null {
    return this._tracker?.find(item => item.sessionContext.session?.kernel?.id === kernelId)?.context.path ?? null;
  }

  remember(path: string, wish: unknown): void {
    this._panel(path)?.context.model.setMetadata(METADATA, wish);
    this._changed.emit();
  }

  isVisible(path: string): boolean {
    return this._panel(path)?.isVisible ?? false;
  }

  private _panel(path: string): NotebookPanel | undefined {
    return this._tracker?.find(item => item.context.path === path);
  }

  private _info(panel: NotebookPanel): NotebookInfo {
    const { path } = panel.context;
    const kernelId = panel.sessionContext.session?.kernel?.id ?? null;
    return {
      path,
      name: path.split('/').pop() ?? path,
      kernelId,
      hasRun: kernelId !== null && (this._hasRun.has(kernelId) || (this._older.has(kernelId) && hasCounts(panel))),
      wish: panel.context.isReady ? panel.context.model.getMetadata(METADATA) : undefined
    };
  }

  private _follow(panel: NotebookPanel | null): void {
    if (!panel || this._followed.has(panel)) {
      return;
    }
    this._followed.add(panel);
    const emit = (): void => this._changed.emit();
    panel.sessionContext.kernelChanged.connect(emit);
    panel.context.pathChanged.connect(emit);
    panel.disposed.connect(emit);
    void panel.context.ready.then(emit);
  }

  private readonly _followed = new WeakSet<NotebookPanel>();
  private readonly _hasRun = new Set<string>();
  private readonly _older = new Set<string>();
  private readonly _changed = new Signal<this, void>(this);
}

/** Whether any cell shows an execution count. */
function hasCounts(panel: NotebookPanel): boolean {
  const cells = panel.content.model?.cells;
  if (!cells) {
    return false;
  }
  for (const cell of cells) {
    if (cell.type === 'code' && (cell as { executionCount?: number | null }).executionCount) {
      return true;
    }
  }
  return false;
}
