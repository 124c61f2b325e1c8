/** What can be done with sessions, with the questions that come first: shared by panel, commands, cards, lists. */

import { Clipboard, Dialog, MainAreaWidget, Notification, showDialog } from '@jupyterlab/apputils';
import type { JupyterFrontEnd } from '@jupyterlab/application';
import { Widget } from '@lumino/widgets';

import { Problem } from '../api/client';
import type { Requirement, Session } from '../api/types';
import { copyForAdmin } from '../format/admin';
import type { WayAgain } from '../format/again';
import { joinQuestion, replaceQuestion, stopQuestion } from '../format/questions';
import { requirementLine } from '../format/requirement';
import { staysWords } from '../format/moves';
import type { Speech } from '../format/speech';
import { fill, plain } from '../format/text';
import { extendBy } from '../model/sessions';
import { losers, mustAskToReplace, type Target } from '../model/target';
import type { Workbench } from '../model/workbench';
import { DetailsPane } from './detailspane';
import { podDialogBody } from './poddialog';
import { textDialogBody, TextPane } from './textpane';

/** As long as a launch waits where all fitting devices are taken. */
const WAIT_SECONDS = 7200;

export class Actions {
  constructor(
    private readonly _app: JupyterFrontEnd,
    private readonly _bench: Workbench,
    readonly speech: Speech
  ) {}

  /** Brings the panel to the front; set by the panel's own plugin. */
  reveal: () => void = () => undefined;

  tierName = (name: string): string => {
    const tier = this._bench.cluster.state.value.tiers?.tiers.find(item => item.name === name);
    return tier?.display_name ?? name;
  };

  /** Launches the form. Asks only if a kernel that has run cells is replaced. Raises nothing: tells the user. */
  async launch(options: { wait?: boolean; force?: boolean; target?: Target } = {}): Promise<Session | null> {
    const wished = options.target ?? this._bench.target.value;
    const target = mustAskToReplace(wished, this._bench.notebooks) ? await this._askToReplace(wished) : wished;
    return target && this._begin(target, options.wait ?? false, options.force ?? false);
  }

  /** Asks in our own dialog, with the request and the verdict as the server knows them, then launches. */
  async askAndLaunch(wished: Target, wait: boolean): Promise<void> {
    const { trans } = this.speech;
    const line = requirementLine(this.speech, this._bench.draft.value.requirement, this.tierName);
    const values = { request: line, notebook: wished.kind === 'notebook' ? wished.name : trans.__('a new notebook') };
    const body = fill(trans.__('It asks for {request} and holds the device until it is stopped.'), values);
    let target: Target | null = wished;
    if (mustAskToReplace(wished, this._bench.notebooks)) {
      target = await this._askToReplace(wished, body);
    } else {
      const title = fill(trans.__('Launch for {notebook}?'), values);
      const go = wait ? trans.__('Wait for a device') : trans.__('Launch');
      target = (await this._confirm(title, body, go)) ? wished : null;
    }
    if (target) {
      const settled = target;
      await this._tell(() => this._begin(settled, wait, false));
    }
  }

  /** Message 56, with what else is at stake; the target that was settled on, null for Cancel. */
  private async _askToReplace(wished: Target, more = ''): Promise<Target | null> {
    const { trans } = this.speech;
    const { title, body } = replaceQuestion(this.speech, wished.kind === 'notebook' ? wished.name : '');
    const again = trans.__('New notebook');
    const result = await showDialog({
      title: plain(title),
      body: plain([body, more].filter(Boolean).join(' ')),
      buttons: [
        Dialog.cancelButton({ label: trans.__('Cancel') }),
        Dialog.okButton({ label: again, accept: true }),
        Dialog.warnButton({ label: trans.__('Replace and launch') })
      ],
      defaultButton: 0
    });
    if (!result.button.accept) {
      return null;
    }
    return result.button.label === again ? { kind: 'new' } : wished;
  }

  private _begin(target: Target, wait: boolean, force: boolean): Promise<Session | null> {
    return this._bench.launch({ target, wait: wait ? WAIT_SECONDS : null, force });
  }

  /** Launches and tells in a notification what went wrong. */
  async launchTold(options: { wait?: boolean; force?: boolean; target?: Target } = {}): Promise<void> {
    await this._tell(() => this.launch(options));
  }

  /** Without a view of the devices: the cluster will say. */
  launchAnyway(): Promise<void> {
    return this.launchTold({ force: true });
  }

  /** Never asks: nothing is lost yet. */
  async cancel(session: Session): Promise<void> {
    await this._tell(() => this._bench.sessions.stop(session.id));
  }

  /** Message 55: asks if a notebook loses variables; `always` asks in any case, for requests from outside the panel. */
  async stop(session: Session, always = false): Promise<void> {
    if (session.state === 'waiting' || session.state === 'starting') {
      if (!always || (await this._confirm(this._cancelTitle(session), '', this.speech.trans.__('Cancel the start')))) {
        await this.cancel(session);
      }
      return;
    }
    const { trans } = this.speech;
    const lost = losers(session, this._bench.notebooks);
    if (lost.length || always) {
      const { title, body } = stopQuestion(this.speech, session, lost);
      if (!(await this._confirm(title, body, trans.__('Stop and give back')))) {
        return;
      }
    }
    await this._tell(() => this._bench.sessions.stop(session.id));
  }

  /** Restarts the kernels on their device; asks where a cell has run. */
  async restart(session: Session, always = false): Promise<void> {
    const { trans } = this.speech;
    const lost = losers(session, this._bench.notebooks);
    if (lost.length || always) {
      const title = fill(trans.__('Restart {session}?'), { session: session.name });
      const n = Math.max(1, lost.length);
      const body = fill(
        trans._n(
          'Variables of {n} notebook are lost. The device is kept.',
          'Variables of {n} notebooks are lost. The device is kept.',
          n
        ),
        { n }
      );
      if (!(await this._confirm(title, body, trans.__('Restart')))) {
        return;
      }
    }
    await this._tell(async () => {
      for (const kernel of session.kernels) {
        if (!(await this._bench.notebooks.restart(kernel.id))) {
          await this._bench.sessions.restartKernel(session.id, kernel.id);
        }
      }
    });
  }

  /** Moves the current notebook's kernel (else the first one) to a pod with another image or size; asks for both. */
  async changePod(session: Session): Promise<void> {
    const { trans } = this.speech;
    const path = this._bench.current?.path;
    const kernel = session.kernels.find(item => item.notebook === path) ?? session.kernels[0];
    if (!kernel) {
      return;
    }
    const result = await showDialog({
      title: plain(fill(trans.__('Change the pod of {session}'), { session: session.name })),
      body: podDialogBody(kernel, this._bench.cluster.state.value.status?.offers.defaults ?? {}, this.speech),
      buttons: [Dialog.cancelButton({ label: trans.__('Cancel') }), Dialog.warnButton({ label: trans.__('Change') })]
    });
    const change = result.value ?? {};
    if (!result.button.accept || !Object.keys(change).length) {
      return;
    }
    await this._tell(async () => {
      const refused = await this._bench.sessions.moveKernel(session.id, kernel.id, change);
      if (refused) {
        Notification.error(plain(staysWords(this.speech, session, refused, change)), { autoClose: 8000 });
      }
    });
  }

  async extend(session: Session, always = false): Promise<void> {
    const { trans } = this.speech;
    const seconds = extendBy(session) || 3600;
    const title = fill(trans.__('Extend {session}?'), { session: session.name });
    if (always && !(await this._confirm(title, trans.__('It holds its device longer.'), trans.__('Extend')))) {
      return;
    }
    await this._tell(() => this._bench.sessions.extend(session.id, seconds));
  }

  /** "Keep it": the device is not given back for idling, the end of the lease stays. */
  async keep(session: Session): Promise<void> {
    await this._tell(() => this._bench.sessions.keep(session.id));
  }

  /** Joins a running session; always says that nothing keeps the notebooks apart (message 38). */
  async attachHere(session: Session, path: string | null = this._bench.current?.path ?? null): Promise<void> {
    const { trans } = this.speech;
    const name = path?.split('/').pop() ?? trans.__('a new notebook');
    const found = path ? this._bench.notebooks.find(path) : null;
    const { title, body } = joinQuestion(this.speech, session, name, found?.hasRun ?? false);
    if (await this._confirm(title, body, trans.__('Use it'))) {
      await this._tell(() => this._bench.attach(session.id, path));
    }
  }

  /** Puts the request of an ended session into the form, changed as its end suggests. */
  again(session: Pick<Session, 'requirement'>, way: WayAgain): void {
    this._bench.prefill({ ...session.requirement, ...way.change });
    this._bench.remembered.toggle('new', true);
    if (way.kind === 'image') {
      this._bench.remembered.toggle('options', true);
    }
    this.reveal();
  }

  /** The session goes on without this server, until its lease ends. */
  async detach(session: Session, always = false): Promise<void> {
    const { trans } = this.speech;
    const title = fill(trans.__('Let {session} go on without this server?'), { session: session.name });
    const body = trans.__('It keeps its device until its lease ends, also when this server stops.');
    if (always && !(await this._confirm(title, body, trans.__('Let it go on')))) {
      return;
    }
    await this._tell(() => this._bench.sessions.detach(session.id));
  }

  async open(session: Session, notebook: string | null): Promise<void> {
    const kernel = session.kernels.find(item => item.notebook === notebook) ?? session.kernels[0];
    await this._tell(async () => {
      if (notebook) {
        await this._bench.notebooks.reveal(notebook);
        const found = this._bench.notebooks.find(notebook);
        if (kernel && found && found.kernelId !== kernel.id) {
          await this._bench.notebooks.moveTo(notebook, kernel);
        }
      } else if (kernel) {
        await this._bench.notebooks.openNew(kernel);
      }
    });
  }

  async showLog(session: Session): Promise<void> {
    const { trans } = this.speech;
    await this._tell(async () => {
      const text = await this._bench.client.fetchLog(session.id);
      const title = fill(trans.__('Log of {session}'), { session: session.name });
      this._showText(title, text || trans.__('The log is empty.'), () => this._bench.client.fetchLog(session.id));
    });
  }

  /** Everything known of a session, as the server tells it now. */
  async describe(session: Session): Promise<void> {
    await this._tell(async () => {
      const fresh = (await this._bench.sessions.fetch(session.id)) ?? session;
      const content = new DetailsPane(fresh, this._bench, this.speech, {
        tierName: this.tierName,
        onLog: item => this.showLog(item),
        onCopy: text => this.copy(text)
      });
      this._show(content, fill(this.speech.trans.__('Details of {session}'), { session: session.name }));
    });
  }

  copy(text: string): void {
    Clipboard.copyToSystem(text);
    Notification.emit(this.speech.trans.__('Copied'), 'info', { autoClose: 2000 });
  }

  /** Saves text as a file beside the current notebook. */
  async saveText(text: string, extension: string): Promise<void> {
    const { trans } = this.speech;
    await this._tell(async () => {
      const folder = this._bench.current?.path.split('/').slice(0, -1).join('/') ?? '';
      const model = await this._app.serviceManager.contents.newUntitled({ path: folder, type: 'file', ext: extension });
      await this._app.serviceManager.contents.save(model.path, { type: 'file', format: 'text', content: text });
      Notification.emit(fill(trans.__('Saved as {path}'), { path: model.path }), 'info', { autoClose: 4000 });
    });
  }

  async copyRequest(requirement: Requirement = this._bench.draft.value.requirement): Promise<void> {
    await this._tell(async () => {
      const { yaml } = await this._bench.client.previewClaim(requirement);
      this.copy(yaml);
    });
  }

  copyForAdmin(): void {
    const { cluster, plan, draft } = this._bench;
    const line = requirementLine(this.speech, draft.value.requirement, this.tierName);
    this.copy(copyForAdmin(this.speech, cluster.state.value.status, plan.state.value.plan, line));
  }

  async rememberInNotebook(): Promise<void> {
    const { trans } = this.speech;
    const { current } = this._bench;
    if (!current) {
      return;
    }
    const {
      image: _image,
      env: _env,
      namespace: _ns,
      volumes: _volumes,
      ...required
    } = this._bench.draft.value.requirement;
    const title = fill(trans.__('Remember this request in {notebook}?'), { notebook: current.name });
    const body = trans.__('It is written into the notebook’s file and offered to everyone who opens it.');
    if (await this._confirm(title, body, trans.__('Remember'))) {
      this._bench.notebooks.remember(current.path, { version: 1, required, preferred: {} });
    }
  }

  async checkCluster(): Promise<void> {
    await this._tell(async () => {
      const report = await this._bench.client.doctor();
      const lines = report.findings.map(
        item => `${item.severity}: ${item.message}${item.fix ? `\n    ${item.fix}` : ''}`
      );
      const { trans } = this.speech;
      this._showText(trans.__('Check of the cluster'), lines.join('\n\n') || trans.__('Nothing to report.'));
    });
  }

  /** Checks pasted YAML and shows what a real server would say. */
  async checkManifest(): Promise<void> {
    const { trans } = this.speech;
    const body = textDialogBody(trans.__('Paste YAML here'));
    const result = await showDialog({
      title: trans.__('Check a manifest'),
      body,
      buttons: [Dialog.cancelButton({ label: trans.__('Cancel') }), Dialog.okButton({ label: trans.__('Check') })]
    });
    const text = result.value?.trim();
    if (result.button.accept && text) {
      await this._tell(async () => {
        const found = await this._bench.client.check(text);
        const lines = found.findings.map(item => `${item.severity}: ${item.path ?? ''} ${item.message}`);
        const fixed = typeof found.fixed === 'string' ? `\n\n---\n${found.fixed}` : '';
        this._showText(trans.__('Check a manifest'), (lines.join('\n') || trans.__('Nothing to report.')) + fixed);
      });
    }
  }

  async changeCluster(name: string, always = false): Promise<void> {
    const { trans } = this.speech;
    const title = fill(trans.__('Change to {cluster}?'), { cluster: name });
    const body = trans.__('Running sessions go on; the panel shows those of the other cluster.');
    if (!always || (await this._confirm(title, body, trans.__('Change')))) {
      await this._tell(() => this._bench.cluster.switchContext(name));
    }
  }

  async startLocal(always = false): Promise<void> {
    const { trans } = this.speech;
    const title = trans.__('Start a local cluster?');
    const body = trans.__('A small one on this machine: real requests, pretend devices.');
    if (!always || (await this._confirm(title, body, trans.__('Start')))) {
      await this._tell(() => this._bench.cluster.startLocal());
    }
  }

  /** Runs an action; what goes wrong is told in the server's words. */
  async _tell(run: () => Promise<unknown>): Promise<void> {
    try {
      await run();
    } catch (error) {
      Notification.error(plain(this.problemWords(error)), { autoClose: 8000 });
    }
  }

  problemWords(error: unknown): string {
    if (error instanceof Problem) {
      return error.body.next ? `${error.message} ${error.body.next}` : error.message;
    }
    return error instanceof Error ? error.message : String(error);
  }

  private _cancelTitle(session: Session): string {
    return fill(this.speech.trans.__('Cancel the start of {session}?'), { session: session.name });
  }

  private async _confirm(title: string, body: string, accept: string): Promise<boolean> {
    const { trans } = this.speech;
    const result = await showDialog({
      title: plain(title),
      body: plain(body),
      buttons: [Dialog.cancelButton({ label: trans.__('Cancel') }), Dialog.warnButton({ label: accept })],
      defaultButton: 0
    });
    return result.button.accept;
  }

  private _showText(title: string, text: string, reload?: () => Promise<string>): void {
    this._show(new TextPane(text, this.speech, reload ?? null), title);
  }

  private _show(content: Widget, title: string): void {
    const widget = new MainAreaWidget<Widget>({ content });
    widget.title.label = title;
    widget.title.closable = true;
    this._app.shell.add(widget, 'main', { type: 'GPU session text' });
    this._app.shell.activateById(widget.id);
  }
}
