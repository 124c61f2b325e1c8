/** Sessions as the server part tells them: devices, kernels, steps, use, lease and end. Units as in `types.ts`. */

import type { Context, DeviceKind, Params, Price, Reason, Requirement, Share } from './types';

export type SessionState = 'waiting' | 'starting' | 'running' | 'releasing' | 'ended';

export interface SessionDevice {
  request: string;
  driver: string;
  pool: string;
  device: string;
  node: string | null;
  label: string | null;
  share: Share | null;
  predicted: boolean | null;
  device_kind?: DeviceKind | null;
  /** The published name of a fixed part: "2g.10gb". */
  profile?: string | null;
  /** Memory as the driver publishes it: "81559Mi". */
  memory_published?: string | null;
  /** Which of the request's alternatives this is, counted from 1. */
  choice?: number | null;
  /** What the driver says about the device. */
  conditions?: readonly { type: string; status: string; reason: string; message: string }[];
  simulated?: boolean;
}

export interface SessionKernel {
  id: string;
  name: string;
  pod: string | null;
  notebook: string | null;
  state: string;
  last_activity: string | null;
  transport?: string | null;
  encrypted?: boolean | null;
  image?: string | null;
  cpu?: string | null;
  host_memory?: string | null;
  /** The pod it is being moved to. */
  next_pod?: string | null;
}

/** One line of a session's history. */
export interface HistoryEntry {
  at: number;
  event: string;
  kernel?: string;
  code?: string | null;
  detail?: string | null;
}

/** What another pod of a kernel has that the present one has not. */
export interface PodChange {
  image?: string;
  cpu?: string;
  host_memory?: string;
}

export interface Step {
  code: string;
  state: 'todo' | 'now' | 'done' | 'failed' | string;
  started_at: string | null;
  seconds: number | null;
  params: Params;
}

/** One measured cell. */
export interface CellUsage {
  at: string | null;
  running: boolean;
  seconds: number | null;
  peak_bytes: number | null;
  device_seconds: number | null;
}

export interface KernelUsage {
  kernel: string;
  memory_used_bytes: number | null;
  cell?: CellUsage | null;
}

/** The figures of one device of a session. */
export interface DeviceUsage {
  uuid: string | null;
  name: string | null;
  driver: string | null;
  pool: string | null;
  device: string | null;
  memory_used_bytes: number | null;
  memory_total_bytes: number | null;
  utilisation_percent: number | null;
  peak_bytes: number | null;
  why_missing: string | null;
}

export interface Usage {
  at: string;
  source: string | null;
  memory_used_bytes: number | null;
  memory_total_bytes: number | null;
  utilisation_percent: number | null;
  by_kernel: readonly KernelUsage[];
  why_missing: string | null;
  peak_bytes?: number | null;
  device_seconds?: number | null;
  /** Memory was measured all the time. */
  complete?: boolean;
  devices?: readonly DeviceUsage[];
  simulated?: boolean;
}

export interface RightSize {
  peak_bytes: number;
  total_bytes: number;
  label: string;
  tier: string;
  price: Price | null;
}

export interface Wait {
  since: string;
  until: string | null;
  reasons: readonly Reason[];
  next_change: { code: string; at: string | null } | null;
  queue: { name: string; position: number | null; message: string | null; as_of: string | null } | null;
}

export interface Ended {
  at: string;
  code: string;
  exit_code: number | null;
  by: string | null;
  message: string | null;
  next?: string | null;
  params: Params;
  device_returned_at: string | null;
}

export interface Session {
  id: string;
  name: string;
  state: SessionState;
  activity: string | null;
  revision: number;
  mine: boolean;
  user: string | null;
  server: string | null;
  namespace: string | null;
  requirement: Requirement | null;
  claim: { name: string; made_by_us: boolean; template: string | null } | null;
  devices: readonly SessionDevice[];
  kernels: readonly SessionKernel[];
  steps: readonly Step[];
  wait: Wait | null;
  lease: {
    ends_at: string | null;
    longest_until: string | null;
    idle_limit_seconds: number | null;
    idle_since: string | null;
    /** With `unknown` the session of an idle kernel is kept until its lease ends. */
    device_use?: 'used' | 'unused' | 'unknown' | null;
  } | null;
  usage: Usage | null;
  price: (Price & { so_far?: string | null }) | null;
  created_at: string;
  ready_at: string | null;
  ended: Ended | null;
  orphan: boolean;
  simulated: boolean;
  history?: readonly HistoryEntry[];
  notebook?: string | null;
  launch_until?: string | null;
  right_size?: RightSize | null;
}

export interface SessionList {
  kind: 'SessionList';
  version: number;
  context: Context;
  sessions: readonly Session[];
}
