/** The user's sessions as the server knows them; each event fetches the one session it names. */

import { Problem, type DRAClient } from '../api/client';
import type { ChangeStream } from '../api/stream';
import type { HistoryEntry, KernelRestart, Session, SessionCreate, SessionEvent, SessionKernel } from '../api/types';
import { lastOfMove } from '../format/moves';
import { Observable, type Visibility } from './observable';

export interface SessionsState {
  readonly sessions: readonly Session[];
  /** The list was fetched at least once. */
  readonly known: boolean;
}

/** A second press within this time joins the first. */
const SAME_PRESS_MS = 1000;
/** Ended sessions stay a day. */
export const ENDED_KEPT_MS = 24 * 3600e3;

export class SessionsModel {
  constructor(
    private readonly _client: DRAClient,
    stream: ChangeStream,
    visible: Visibility,
    private readonly _newKey: () => string = () => crypto.randomUUID()
  ) {
    stream.session.connect((_, event) => void this._onEvent(event));
    visible.changed.connect((_, shown) => {
      if (shown) {
        void this.refresh();
      }
    });
  }

  readonly state = new Observable<SessionsState>({ sessions: [], known: false });

  get(id: string): Session | undefined {
    return this.state.value.sessions.find(session => session.id === id);
  }

  byKernel(kernelId: string | null | undefined): Session | undefined {
    return kernelId
      ? this.state.value.sessions.find(session => session.kernels.some(kernel => kernel.id === kernelId))
      : undefined;
  }

  /** Fetches the whole list; a failure leaves what is known, the cluster's state says why. */
  async refresh(): Promise<void> {
    const turn = ++this._turn;
    try {
      const { sessions } = await this._client.fetchSessions();
      if (turn === this._turn) {
        const mine = sessions.filter(session => !this._forgotten.has(session.id));
        this.state.set({ sessions: mine, known: true });
      }
    } catch {
      // The cluster model meets the same failure and shows it.
    }
  }

  /** Starts a session; presses in quick succession are one. Raises Problem when the server says no. */
  async launch(request: Omit<SessionCreate, 'key'>): Promise<Session> {
    const now = Date.now();
    if (this._press && now - this._press.at < SAME_PRESS_MS) {
      return this._press.session;
    }
    const session = this._client.launch({ ...request, key: this._newKey() });
    this._press = { at: now, session };
    try {
      const started = await session;
      this._put(started);
      return started;
    } catch (error) {
      this._press = null;
      throw error;
    }
  }

  /** Cancels, stops, or forgets an ended session. */
  async stop(id: string): Promise<void> {
    try {
      const session = await this._client.stop(id);
      if (session?.id) {
        this._put(session);
      }
    } catch (error) {
      if (!(error instanceof Problem && error.status === 404)) {
        throw error;
      }
      this._drop(id);
    }
  }

  /** Takes an ended session off the list for as long as the page lives. */
  forget(id: string): void {
    this._forgotten.add(id);
    this._drop(id);
  }

  async extend(id: string, seconds: number): Promise<void> {
    this._put(await this._client.extend(id, seconds));
  }

  /** Starts the idle time anew; nothing to do for a session without an idle limit. */
  async keep(id: string): Promise<void> {
    const limit = this.get(id)?.lease?.idle_limit_seconds;
    if (limit) {
      this._put(await this._client.keep(id, limit));
    }
  }

  async rename(id: string, name: string): Promise<void> {
    this._put(await this._client.rename(id, name));
  }

  async detach(id: string): Promise<void> {
    this._put(await this._client.detach(id));
  }

  /** Adds a notebook's kernel to a running session; resolves with the new kernel's id and name. */
  async addKernel(id: string, notebook: string | null): Promise<SessionKernel> {
    const session = await this._client.addKernel(id, notebook ? { notebook } : {});
    this._put(session);
    const kernel = session.kernels[session.kernels.length - 1];
    if (!kernel) {
      throw new Error('the server named no kernel');
    }
    return this._kernelReady(id, kernel.id);
  }

  /** The kernel once the Jupyter server knows it; rejects when it vanishes before. */
  private _kernelReady(sessionId: string, kernelId: string): Promise<SessionKernel> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        const session = this.get(sessionId);
        const kernel = session?.kernels.find(item => item.id === kernelId);
        if (kernel && kernel.state !== 'starting') {
          this.state.changed.disconnect(look);
          resolve(kernel);
        } else if (!kernel || session?.state === 'ended') {
          this.state.changed.disconnect(look);
          reject(new Error(session?.ended?.message ?? 'the kernel did not start'));
        }
      };
      this.state.changed.connect(look);
      look();
    });
  }

  async restartKernel(id: string, kernel: string): Promise<void> {
    this._put(await this._client.restartKernel(id, kernel));
  }

  /** Moves a kernel to another pod; null when it runs there, else what the history says of why it stays. */
  async moveKernel(id: string, kernel: string, change: KernelRestart): Promise<HistoryEntry | null> {
    this._put(await this._client.restartKernel(id, kernel, change));
    return new Promise(resolve => {
      const look = (): void => {
        const session = this.get(id);
        const one = session?.kernels.find(item => item.id === kernel);
        const last = session && one ? lastOfMove(session, kernel) : null;
        if (last?.event === 'moving') {
          return;
        }
        this.state.changed.disconnect(look);
        resolve(last?.event === 'not-moved' ? last : null);
      };
      this.state.changed.connect(look);
      look();
    });
  }

  async fetch(id: string): Promise<Session | null> {
    try {
      const session = await this._client.fetchSession(id);
      this._put(session);
      return session;
    } catch (error) {
      if (error instanceof Problem && error.status === 404) {
        this._drop(id);
      }
      return null;
    }
  }

  dispose(): void {
    this._turn++;
    this.state.dispose();
  }

  private async _onEvent(event: SessionEvent): Promise<void> {
    // Revision 0 comes from the Jupyter server itself, for what the session does not count: its kernel is attached here.
    const old = event.revision > 0 && (this.get(event.id)?.revision ?? 0) >= event.revision;
    if (this._forgotten.has(event.id) || old) {
      return;
    }
    // One request per session at a time; events that arrive meanwhile ask once more.
    if (this._asking.has(event.id)) {
      this._askAgain.add(event.id);
      return;
    }
    this._asking.add(event.id);
    try {
      await this.fetch(event.id);
    } finally {
      this._asking.delete(event.id);
    }
    if (this._askAgain.delete(event.id)) {
      await this.fetch(event.id);
    }
  }

  private _put(session: Session): void {
    const { sessions } = this.state.value;
    const known = sessions.find(item => item.id === session.id);
    if (this._forgotten.has(session.id) || (known && known.revision > session.revision)) {
      return;
    }
    const next = known ? sessions.map(item => (item === known ? session : item)) : [...sessions, session];
    this.state.set({ sessions: next, known: true });
  }

  private _drop(id: string): void {
    this.state.update(state => ({ ...state, sessions: state.sessions.filter(item => item.id !== id) }));
  }

  private _turn = 0;
  private _press: { at: number; session: Promise<Session> } | null = null;
  private readonly _asking = new Set<string>();
  private readonly _askAgain = new Set<string>();
  private readonly _forgotten = new Set<string>();
}

export function isOver(session: Session): boolean {
  return session.state === 'ended';
}

/** Holds, or is about to hold, a device. */
export function isLive(session: Session): boolean {
  return session.state !== 'ended';
}

/** The notebook in front, as far as there is one. */
export interface Where {
  readonly path: string | null;
  readonly kernelId: string | null;
}

/** Whether a session runs, or is starting, for the notebook in front. */
export function isOf(session: Session, { path, kernelId }: Where): boolean {
  return (
    session.kernels.some(
      kernel => (kernelId !== null && kernel.id === kernelId) || (path !== null && kernel.notebook === path)
    ) ||
    (path !== null && isLive(session) && session.notebook === path)
  );
}

/** This notebook's, then those with a warning, then newest; ended ones last, for a day. */
export function sortSessions(sessions: readonly Session[], where: Where, now: number): Session[] {
  const rank = (session: Session): number =>
    isOver(session) ? 3 : isOf(session, where) ? 0 : warningOf(session, now) ? 1 : 2;
  const at = (session: Session): number => Date.parse(session.ended?.at ?? session.created_at) || 0;
  return sessions
    .filter(session => !isOver(session) || now - at(session) < ENDED_KEPT_MS)
    .sort((a, b) => rank(a) - rank(b) || at(b) - at(a));
}

export type Warning =
  | { kind: 'lease'; left: number; extendable: boolean }
  | { kind: 'idle'; left: number }
  | { kind: 'idle-kept'; idle: number };

export const LEASE_SOON_S = 600;
export const IDLE_SOON_S = 300;

/** What a running session's owner should know now, worst first; null if nothing. */
export function warningOf(session: Session, now: number): Warning | null {
  const { lease } = session;
  if (session.state !== 'running' || !lease) {
    return null;
  }
  const left = lease.ends_at ? (Date.parse(lease.ends_at) - now) / 1000 : Number.POSITIVE_INFINITY;
  if (left <= LEASE_SOON_S) {
    return { kind: 'lease', left: Math.max(0, left), extendable: extendBy(session) > 0 };
  }
  if (lease.idle_since && lease.idle_limit_seconds) {
    const idle = (now - Date.parse(lease.idle_since)) / 1000;
    const idleLeft = lease.idle_limit_seconds - idle;
    if (lease.device_use === 'unknown') {
      return idleLeft <= 0 ? { kind: 'idle-kept', idle } : null;
    }
    if (idleLeft <= IDLE_SOON_S) {
      return { kind: 'idle', left: Math.max(0, idleLeft) };
    }
  }
  return null;
}

/** The current notebook's session stands unfolded, a lone one too, and one whose time runs out; others in short. */
export function isUnfolded(warning: Warning | null, isCurrent: boolean, isAlone: boolean): boolean {
  return isCurrent || isAlone || warning?.kind === 'lease';
}

export const EXTEND_S = 7200;

/** Seconds an extension would bring: two hours, less where the longest lease comes first, 0 at the limit. */
export function extendBy(session: Session): number {
  const { lease } = session;
  if (!lease?.ends_at) {
    return 0;
  }
  if (!lease.longest_until) {
    return EXTEND_S;
  }
  const room = (Date.parse(lease.longest_until) - Date.parse(lease.ends_at)) / 1000;
  return Math.max(0, Math.min(EXTEND_S, Math.floor(room / 60) * 60));
}

/** How long nobody has used it, in seconds; null while something runs or nothing is known. */
export function idleSeconds(session: Session, now: number): number | null {
  const since = session.lease?.idle_since;
  return session.state === 'running' && session.activity !== 'busy' && since
    ? Math.max(0, (now - Date.parse(since)) / 1000)
    : null;
}
