/** All models of the page wired together: the form drives the plan, events drive the rest, ready kernels are attached. */

import type { IStateDB } from '@jupyterlab/statedb';
import { Signal, type ISignal } from '@lumino/signaling';

import type { DRAClient } from '../api/client';
import type { ChangeStream } from '../api/stream';
import type { Requirement, Session } from '../api/types';
import { moveOf } from '../format/moves';
import { ClaimEditor } from './claimeditor';
import { ClusterModel } from './cluster';
import { DevicesModel } from './devices';
import { deviceOnly, draftOf, EMPTY_DRAFT, readWish, sameRequirement, type Draft, type Wish } from './draft';
import { Gather } from './gather';
import { Observable, type Visibility } from './observable';
import { PlanModel, TYPING_MS } from './plan';
import { PreviewModel } from './preview';
import { firstRequest, Remembered } from './remembered';
import { isLive, SessionsModel, warningOf } from './sessions';
import { defaultTarget, type NotebookInfo, type Notebooks, type Target } from './target';
import { Ticker } from './ticker';

export interface Started {
  readonly session: Session;
  readonly target: Target;
}

const READY_SHOWN_MS = 5000;

export class Workbench {
  constructor(
    readonly client: DRAClient,
    readonly stream: ChangeStream,
    readonly notebooks: Notebooks,
    visible: Visibility,
    db: IStateDB | null
  ) {
    this.cluster = new ClusterModel(client, stream, visible);
    this.sessions = new SessionsModel(client, stream, visible);
    this.devices = new DevicesModel(
      client,
      stream,
      visible,
      () => this.cluster.state.value.tiers?.devices ?? this.plan.state.value.plan?.counts.devices ?? 0
    );
    this.plan = new PlanModel(client);
    this.preview = new PreviewModel(client);
    this.claimEditor = new ClaimEditor(client);
    this.remembered = new Remembered(db);
    this.ticker = new Ticker(visible);
    this.cluster.state.changed.connect(() => void this._onCluster());
    this.sessions.state.changed.connect(() => this._onSessions());
    this.remembered.state.changed.connect(() => this._onRemembered());
    notebooks.changed.connect(() => this._onNotebook());
    this.draft.changed.connect(() => this._emit());
    this.target.changed.connect(() => this._emit());
    this.plan.state.changed.connect(() => this._emit());
    this.preview.state.changed.connect(() => this._emit());
    this.claimEditor.state.changed.connect(() => this._emit());
    this.devices.state.changed.connect(() => this._emit());
    this.ticker.now.changed.connect(() => this._emit());
    this._planSoon = new Gather(() => this.plan.refresh(), visible);
    stream.inventory.connect(() => this._planSoon.soon());
    this.cluster.missed.connect(() => this._catchUp());
    client.unreachable.connect(() => this.cluster.doubt());
  }

  readonly cluster: ClusterModel;
  readonly sessions: SessionsModel;
  readonly devices: DevicesModel;
  readonly plan: PlanModel;
  readonly preview: PreviewModel;
  readonly claimEditor: ClaimEditor;
  readonly remembered: Remembered;
  readonly ticker: Ticker;
  readonly draft = new Observable<Draft>(EMPTY_DRAFT);
  readonly target = new Observable<Target>({ kind: 'new' });

  /** Anything shown may have changed. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** A session became ready and its notebook, if one was meant, is on it. */
  get ready(): ISignal<this, Started> {
    return this._ready;
  }

  /** Attaching a ready kernel to its notebook failed. */
  get attachFailed(): ISignal<this, { session: Session; reason: string }> {
    return this._attachFailed;
  }

  async start(): Promise<void> {
    await Promise.all([this.cluster.refresh(), this.sessions.refresh()]);
  }

  /** Changes the form; `delay` debounces typing. */
  edit(change: (draft: Draft) => Draft, typing = false): void {
    this._touched = true;
    this.draft.update(change);
    this.ask(typing ? TYPING_MS : 0);
  }

  /** Puts a request into the form, to be looked at before anything is launched. */
  prefill(requirement: Requirement): void {
    this.edit(() => draftOf(requirement));
  }

  ask(delay = 0): void {
    const { requirement } = this.draft.value;
    this.plan.request(requirement, delay);
    this.preview.request(requirement, delay);
  }

  setTarget(target: Target): void {
    this._targetChosen = true;
    this.target.set(target);
    this.remembered.update({ target: target.kind === 'new' ? 'new' : 'here' });
  }

  /** Starts what the form asks for. The kernel is attached to its notebook once it is ready. */
  async launch(options: { wait?: number | null; force?: boolean; target?: Target } = {}): Promise<Session> {
    const { requirement } = this.draft.value;
    return this.launchRequirement(requirement, options);
  }

  async launchRequirement(
    requirement: Requirement,
    options: { wait?: number | null; force?: boolean; target?: Target } = {}
  ): Promise<Session> {
    const target = options.target ?? this.target.value;
    const notebook = target.kind === 'notebook' ? target.path : null;
    const session = await this.sessions.launch({
      requirement,
      ...(notebook ? { notebook } : {}),
      ...(options.wait ? { wait: options.wait } : {}),
      ...(options.force ? { force: true } : {})
    });
    this._attachTo.set(session.id, target);
    this._asked.set(session.id, requirement);
    this.remembered.launched(requirement, notebook);
    this.remembered.toggle('sessions', true);
    this._onSessions();
    return session;
  }

  /** Runs the current or named notebook on a session that is already there. */
  async attach(sessionId: string, path: string | null): Promise<void> {
    const kernel = await this.sessions.addKernel(sessionId, path);
    if (path) {
      await this.notebooks.moveTo(path, kernel);
    } else {
      await this.notebooks.openNew(kernel);
    }
  }

  /** What the current notebook asks for, from its metadata. */
  get wish(): Wish | null {
    return readWish(this.notebooks.current?.wish);
  }

  /** All sessions, kernels with the notebook that is open on them where the server names none. */
  get shown(): Session[] {
    return this.sessions.state.value.sessions.map(session =>
      session.kernels.every(kernel => kernel.notebook !== null)
        ? session
        : {
            ...session,
            kernels: session.kernels.map(kernel => ({
              ...kernel,
              notebook: kernel.notebook ?? this.notebooks.pathOf(kernel.id)
            }))
          }
    );
  }

  /** Ready less than five seconds ago: its card still says so. */
  isFreshlyReady(session: Session): boolean {
    const at = this._readyAt.get(session.id);
    return at !== undefined && Date.now() - at < READY_SHOWN_MS;
  }

  /** This page opens a new notebook for it, so that there is nothing to tell. */
  opensNotebook(session: Session): boolean {
    return this._opened.has(session.id);
  }

  get current(): NotebookInfo | null {
    return this.notebooks.current;
  }

  dispose(): void {
    for (const model of [
      this.cluster,
      this.sessions,
      this.devices,
      this.plan,
      this.preview,
      this.claimEditor,
      this.ticker
    ]) {
      model.dispose();
    }
    this._planSoon.dispose();
    Signal.clearData(this);
  }

  private async _onCluster(): Promise<void> {
    this._setPace();
    const { lost } = this.cluster.state.value;
    if (this._wasLost && !lost) {
      this._catchUp();
    }
    this._wasLost = lost !== null;
    const { status } = this.cluster.state.value;
    const context = status ? `${status.cluster}/${status.namespace}` : null;
    if (status && context !== this._context) {
      this._context = context;
      this._touched = false;
      this.devices.reset();
      await this.remembered.load(status.cluster, status.namespace);
      await this.sessions.refresh();
      this._prefillFirst();
    }
    if (this.cluster.state.value.tiers && !this.plan.state.value.asked) {
      this.ask();
    }
    this._emit();
  }

  /** What happened meanwhile was not told. */
  private _catchUp(): void {
    void this.sessions.refresh();
    this._planSoon.soon();
    this.devices.soon();
  }

  private _prefillFirst(): void {
    const { recent, byNotebook } = this.remembered.state.value;
    const path = this.current?.path;
    const offers = this.cluster.state.value.status?.offers;
    const first = firstRequest(
      this.wish?.required ?? null,
      path ? byNotebook[path] : undefined,
      recent[0]?.requirement,
      offers?.defaults && deviceOnly(offers.defaults)
    );
    this.draft.set(draftOf(first));
    this._onNotebook();
    if (this.cluster.state.value.tiers) {
      this.ask();
    }
  }

  private _onNotebook(): void {
    const chosen = this._targetChosen ? this.target.value : null;
    // A chosen "here" follows the notebook in front; "new" stays.
    if (chosen?.kind !== 'new') {
      this.target.set(this._sameTarget(defaultTarget(this.current, this.remembered.state.value.target)));
    }
    this._emit();
  }

  private _sameTarget(next: Target): Target {
    const now = this.target.value;
    const same = now.kind === next.kind && (now.kind === 'new' || (next.kind === 'notebook' && now.path === next.path));
    return same ? now : next;
  }

  private _onRemembered(): void {
    this.devices.open = this.remembered.state.value.open.devices;
    this._emit();
  }

  private _onSessions(): void {
    for (const session of this.sessions.state.value.sessions) {
      this._noteReady(session);
    }
    this._setPace();
    this._emit();
  }

  /** Seconds are counted only while something on the page shows them. */
  private _setPace(): void {
    const now = Date.now();
    this.ticker.fast =
      this.cluster.state.value.lost !== null ||
      this.sessions.state.value.sessions.some(
        session =>
          ['starting', 'releasing', 'waiting'].includes(session.state) ||
          moveOf(session) !== null ||
          warningOf(session, now)?.kind === 'idle'
      );
  }

  private _noteReady(session: Session): void {
    const target = this._attachTo.get(session.id);
    const asked = this._asked.get(session.id);
    if (session.state === 'ended') {
      this._attachTo.delete(session.id);
      this._asked.delete(session.id);
    }
    const kernel = session.kernels[0];
    if (target && session.state === 'running' && kernel) {
      this._attachTo.delete(session.id);
      this._readyAt.set(session.id, Date.now());
      this._asked.delete(session.id);
      // The form has done its work, unless it holds the next request by now.
      if (asked && sameRequirement(asked, this.draft.value.requirement)) {
        this.remembered.toggle('new', false);
      }
      if (target.kind === 'new') {
        this._opened.add(session.id);
      }
      setTimeout(() => this._emit(), READY_SHOWN_MS + 50);
      void this._attachReady(session, kernel, target);
    }
  }

  private async _attachReady(session: Session, kernel: { id: string; name: string }, target: Target): Promise<void> {
    try {
      if (target.kind === 'notebook') {
        await this.notebooks.moveTo(target.path, kernel);
      } else {
        const path = await this.notebooks.openNew(kernel);
        const name = path
          ?.split('/')
          .pop()
          ?.replace(/\.ipynb$/, '');
        if (name) {
          // A session goes by the name of its notebook, which did not exist when it was asked for.
          await this.sessions.rename(session.id, name).catch(() => undefined);
        }
      }
      this._ready.emit({ session, target });
    } catch (error) {
      this._attachFailed.emit({ session, reason: error instanceof Error ? error.message : String(error) });
    }
  }

  private _emit(): void {
    this._changed.emit();
  }

  /** Live sessions, whoever looks. */
  get live(): Session[] {
    return this.shown.filter(isLive);
  }

  /** Whether a person has changed the form since it was filled. */
  get touched(): boolean {
    return this._touched;
  }

  private readonly _planSoon: Gather;
  private _wasLost = false;
  private _context: string | null = null;
  private _touched = false;
  private _targetChosen = false;
  private readonly _attachTo = new Map<string, Target>();
  /** What sessions that are not ready yet were asked for. */
  private readonly _asked = new Map<string, Requirement>();
  private readonly _readyAt = new Map<string, number>();
  private readonly _opened = new Set<string>();
  private readonly _changed = new Signal<this, void>(this);
  private readonly _ready = new Signal<this, Started>(this);
  private readonly _attachFailed = new Signal<this, { session: Session; reason: string }>(this);
}
