/** The only place of the front end that speaks HTTP: every route of the server part as one method. */

import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';
import { Signal, type ISignal } from '@lumino/signaling';

import type {
  AttachedKernel,
  CheckResult,
  ClaimPreview,
  CompactDeviceList,
  DeviceList,
  DoctorReport,
  KernelAttach,
  KernelRestart,
  Plan,
  Problem as ProblemBody,
  Requirement,
  Session,
  SessionCreate,
  SessionList,
  Status,
  TierList,
  WaitingList
} from './types';

/** The server answered, but not with what was asked for (problem+json, or no answer of ours at all). */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly body: Partial<ProblemBody>
  ) {
    super(body.detail || body.message || body.title || `HTTP ${status}`);
    this.name = 'Problem';
  }

  get code(): string {
    return this.body.code ?? '';
  }
}

/** The Jupyter server itself did not answer. */
export class Unreachable extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'Unreachable';
  }
}

export interface RequestOptions {
  signal?: AbortSignal;
}

function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}

export class DRAClient {
  constructor(readonly settings: ServerConnection.ISettings = ServerConnection.makeSettings()) {}

  /** A request found no server. */
  get unreachable(): ISignal<this, void> {
    return this._unreachable;
  }

  fetchStatus(options?: RequestOptions): Promise<Status> {
    return this._json('GET', 'status', undefined, options);
  }

  fetchTiers(options?: RequestOptions): Promise<TierList> {
    return this._json('GET', 'tiers', undefined, options);
  }

  /** All devices, with `since` those that changed after that revision where the server still knows. */
  fetchDevices(since: number | null = null): Promise<DeviceList> {
    return this._json('GET', since === null ? 'devices' : `devices?since=${since}`);
  }

  /** The same in columns. */
  fetchCompactDevices(since: number | null = null): Promise<CompactDeviceList> {
    return this._json('GET', since === null ? 'devices?compact=1' : `devices?compact=1&since=${since}`);
  }

  fetchWaiting(options?: RequestOptions): Promise<WaitingList> {
    return this._json('GET', 'waiting', undefined, options);
  }

  plan(
    body: { requirement: Requirement } | { claim: unknown },
    detail: 'verdict' | 'full',
    options?: RequestOptions
  ): Promise<Plan> {
    return this._json('POST', 'plan', { ...body, detail }, options);
  }

  previewClaim(requirement: Requirement, options?: RequestOptions): Promise<ClaimPreview> {
    return this._json('POST', 'claims/preview', { requirement }, options);
  }

  /** Reads the YAML of a claim; Problem where it is none. */
  readClaim(text: string, options?: RequestOptions): Promise<ClaimPreview> {
    return this._json('POST', 'claims/preview', { text }, options);
  }

  fetchSessions(options?: RequestOptions): Promise<SessionList> {
    return this._json('GET', 'sessions', undefined, options);
  }

  fetchSession(id: string, options?: RequestOptions): Promise<Session> {
    return this._json('GET', `sessions/${encodeURIComponent(id)}`, undefined, options);
  }

  launch(request: SessionCreate): Promise<Session> {
    return this._json('POST', 'sessions', request);
  }

  extend(id: string, seconds: number): Promise<Session> {
    const body = { lease: { extend_seconds: seconds } };
    return this._json('PATCH', `sessions/${encodeURIComponent(id)}`, body);
  }

  /** Says that somebody wants it: idling begins anew, the lease stays. */
  keep(id: string, idleSeconds: number): Promise<Session> {
    return this._json('PATCH', `sessions/${encodeURIComponent(id)}`, { idle_timeout: idleSeconds });
  }

  rename(id: string, name: string): Promise<Session> {
    return this._json('PATCH', `sessions/${encodeURIComponent(id)}`, { name });
  }

  /** Cancels a start, stops a running session, forgets an ended one. */
  async stop(id: string): Promise<Session | null> {
    return this._json('DELETE', `sessions/${encodeURIComponent(id)}`);
  }

  detach(id: string): Promise<Session> {
    return this._json('POST', `sessions/${encodeURIComponent(id)}/detach`, {});
  }

  /** Begins another kernel on a session's device; it is the last of the session's kernels. */
  async addKernel(id: string, body: KernelAttach): Promise<Session> {
    const path = `sessions/${encodeURIComponent(id)}/kernels`;
    const kernel: AttachedKernel = await this._json('POST', path, body);
    return kernel.session;
  }

  async fetchLog(id: string, tail = 500): Promise<string> {
    const response = await this._send('GET', `sessions/${encodeURIComponent(id)}/logs?tail=${tail}`);
    return response.text();
  }

  /** Restarts a kernel in place; with a change, in another pod on the same device. */
  restartKernel(id: string, kernel: string, change: KernelRestart = {}): Promise<Session> {
    const path = `sessions/${encodeURIComponent(id)}/kernels/${encodeURIComponent(kernel)}/restart`;
    return this._json('POST', path, change);
  }

  switchContext(name: string): Promise<Status> {
    return this._json('PUT', 'contexts/current', { name });
  }

  startLocalCluster(): Promise<Status> {
    return this._json('POST', 'local', {});
  }

  doctor(): Promise<DoctorReport> {
    return this._json('GET', 'doctor');
  }

  check(text: string, fix = true): Promise<CheckResult> {
    return this._json('POST', 'check', { text, fix });
  }

  private async _json<T>(method: string, path: string, body?: unknown, options?: RequestOptions): Promise<T> {
    const response = await this._send(method, path, body, options);
    const text = await response.text();
    return (text ? JSON.parse(text) : null) as T;
  }

  private async _send(method: string, path: string, body?: unknown, options?: RequestOptions): Promise<Response> {
    const url = URLExt.join(this.settings.baseUrl, 'jupyter-dra', path.split('?')[0]);
    const query = path.includes('?') ? `?${path.split('?')[1]}` : '';
    const init: RequestInit = { method, signal: options?.signal ?? null };
    if (body !== undefined) {
      init.body = JSON.stringify(body);
      init.headers = { 'Content-Type': 'application/json' };
    }
    let response: Response;
    try {
      response = await ServerConnection.makeRequest(url + query, init, this.settings);
    } catch (error) {
      if (isAbort(error) || options?.signal?.aborted) {
        throw new DOMException('superseded', 'AbortError');
      }
      this._unreachable.emit();
      throw new Unreachable(String(error));
    }
    if (!response.ok) {
      throw new Problem(response.status, await readProblem(response));
    }
    return response;
  }

  private readonly _unreachable = new Signal<this, void>(this);
}

async function readProblem(response: Response): Promise<Partial<ProblemBody>> {
  try {
    const body: unknown = await response.json();
    return typeof body === 'object' && body !== null ? (body as Partial<ProblemBody>) : {};
  } catch {
    return { title: response.statusText };
  }
}
