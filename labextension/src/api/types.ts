/**
 * The JSON that the server part speaks, as `jupyter_dra/server/openapi.yaml` describes it.
 *
 * Sizes are bytes, durations seconds, times RFC 3339 in UTC; unknown is `null`. Codes stay plain strings where
 * the server may learn new ones before the page does: the page must survive a code it does not know.
 */

import type { SessionState } from './sessions';

export type * from './sessions';

export type Verdict = 'fits' | 'busy' | 'impossible' | 'invalid' | 'unknown';
export type LaunchAnswer = 'yes' | 'wait' | 'no';
export type Params = Readonly<Record<string, unknown>>;

export interface Context {
  cluster?: string;
  namespace?: string;
  server_version?: string;
  as_of?: string;
}

export interface Share {
  profile?: string;
  memory?: string;
  strategy?: string;
  [key: string]: unknown;
}

/** What the user wants: the one vocabulary of every face. Fields the page does not edit are kept as they are. */
export interface Requirement {
  tier?: string;
  vram?: string;
  max_vram?: string;
  count?: number | 'all';
  product?: string | readonly string[];
  architecture?: string | readonly string[];
  compute_capability?: string;
  driver_version?: string;
  where?: string | readonly string[];
  near?: readonly Requirement[];
  align?: string;
  spread?: string;
  or_else?: readonly Requirement[];
  share?: Share;
  tolerate?: readonly unknown[];
  claim?: string | Readonly<Record<string, unknown>>;
  kernel?: string;
  image?: string;
  cpu?: number | string;
  host_memory?: string;
  env?: Readonly<Record<string, string>>;
  namespace?: string;
  lease?: string;
  idle_timeout?: string;
  name?: string;
  volumes?: readonly string[];
}

export interface ClusterContext {
  name: string;
  cluster?: string | null;
  namespace?: string | null;
  current?: boolean;
  local?: boolean;
}

export type StatusState = 'ready' | 'loading' | 'no-cluster' | 'unreachable' | 'forbidden' | 'too-old' | 'no-devices';

export interface Status {
  kind: 'Status';
  version: number;
  state: StatusState;
  cluster: string | null;
  namespace: string | null;
  contexts: readonly ClusterContext[];
  server_version: string | null;
  as_of: string | null;
  /** When this server part began: another time is another server. */
  started_at: string | null;
  /** Of the inventory, as its events tell it; null before it is read. */
  revision: number | null;
  rights: Params;
  local_cluster: { running?: boolean; context?: string | null; simulated?: boolean | null } | null;
  simulated?: boolean;
  params?: Params;
  message?: string | null;
  offers?: Offers | null;
}

/** What the admin lets people choose besides devices. */
export interface Offers {
  images?: readonly string[];
  /** Whether other images may be typed. */
  any_image?: boolean;
  volumes?: readonly string[];
  defaults?: Requirement;
  longest_lease_seconds?: number | null;
}

export interface TierSize {
  label: string;
  min_bytes: number;
  max_bytes: number;
  devices: number;
  free: number | null;
  free_at_most: number | null;
  out_of_service?: number;
}

export interface Price {
  amount: string;
  currency: string;
  per: string;
}

export interface Architecture {
  name: string;
  devices: number;
  /** The domain of its driver. */
  vendor: string;
  /** Where its devices state one and the same. */
  compute_capability: string | null;
}

export type DeviceKind = 'gpu' | 'part' | 'tpu' | 'nic' | 'cpu' | 'other';

export interface Tier {
  name: string;
  device_class: string;
  display_name: string | null;
  description: string | null;
  hidden: boolean;
  available: boolean;
  why_not: string | { code?: string; message?: string } | null;
  device_kind: DeviceKind;
  drivers: readonly string[];
  /** Null without the right to see devices. */
  devices: number | null;
  nodes: number | null;
  free: number | null;
  free_at_most: number | null;
  out_of_service?: number;
  exclusive_parts: boolean;
  sizes: readonly TierSize[];
  products: readonly { name: string; devices: number }[];
  architectures?: readonly Architecture[];
  profiles?: readonly string[];
  shareable?: boolean;
  most_on_one_node?: number | null;
  price: Price | null;
  defaults: Requirement;
  limits: { lease_seconds?: number | null; idle_seconds?: number | null; counts?: readonly number[] | null };
  scales_from_zero: boolean;
}

/** All GPU devices together, each counted once even if several tiers offer it. */
export interface AnyGPU {
  devices: number | null;
  nodes: number | null;
  free: number | null;
  free_at_most: number | null;
  out_of_service?: number;
  most_on_one_node?: number | null;
  sizes: readonly TierSize[];
}

export interface Visible {
  slices: boolean;
  claims: 'all' | 'namespace' | 'none';
}

export interface TierList {
  kind: 'TierList';
  version: number;
  context: Context;
  visible: Visible;
  tiers: readonly Tier[];
  any_gpu: AnyGPU | null;
  /** Null without the right to see devices. */
  devices: number | null;
  nodes: number | null;
}

export interface Reason {
  code: string;
  devices: number;
  params: Params;
  message: string;
}

export interface Holder {
  who: 'you' | 'user' | 'namespace' | 'hidden' | 'unknown' | string;
  /** Id of the session; its name is this without the five characters at the end. */
  session?: string | null;
  /** Name of the session, where the page knows it. */
  name?: string | null;
  user?: string | null;
  namespace?: string | null;
  claim?: string | null;
  devices?: number;
  device_names?: readonly string[];
  since?: string | null;
  lease_ends?: string | null;
  idle_seconds?: number | null;
  note?: string | null;
  share?: Params | null;
  admin?: boolean;
}

export interface Relaxation {
  code: string;
  change: Params;
  verdict: Verdict;
  free: number | null;
  message: string;
  params?: Params;
}

export interface PlannedDevice {
  claim?: number;
  request: string;
  driver: string;
  pool: string;
  device: string;
  label: string | null;
}

export interface PlanNode {
  name: string;
  verdict: Verdict;
  likely: boolean;
  matching: number;
  free: number;
  devices: readonly PlannedDevice[];
}

export interface Finding {
  code: string;
  severity: 'error' | 'warning' | 'hint' | string;
  path?: string | null;
  line?: number | null;
  column?: number | null;
  message: string;
  why?: string | null;
  fix?: string | null;
  params?: Params;
}

export interface Plan {
  kind: 'Plan';
  version: number;
  verdict: Verdict;
  launch: { can: LaunchAnswer; code: string | null; params: Params };
  certainty: { sure: boolean; reasons: readonly (string | { code: string; params?: Params })[] };
  context?: Context;
  requirement: Requirement | null;
  claim: Readonly<Record<string, unknown>> | null;
  counts: {
    devices: number;
    nodes: number;
    matching: number;
    free: number | null;
    free_at_most: number | null;
    matching_nodes: number;
  };
  nodes: readonly PlanNode[];
  nodes_left_out: number;
  reasons: readonly Reason[];
  /** At most fifty, you first, then those with most devices. */
  holders: readonly Holder[];
  holders_left_out?: number;
  relaxations: readonly Relaxation[];
  charges: Params;
  findings: readonly Finding[];
}

export interface ClaimPreview {
  claim: Readonly<Record<string, unknown>>;
  yaml: string;
  python: string;
  magic: string;
  shell: string;
  lines: number;
  findings: readonly Finding[];
  /** The claim read back as a requirement, as far as that can be. */
  form?: Requirement | null;
  /** What the claim says and a requirement has no field for. */
  kept?: readonly KeptPart[];
}

export interface KeptPart {
  path: string;
  code: string;
  what: string;
}

export type DeviceState =
  'free' | 'yours' | 'taken' | 'shared' | 'releasing' | 'out-of-service' | 'hidden' | 'unknown' | 'incomplete';

export interface Device {
  driver: string;
  pool: string;
  name: string;
  nodes: readonly string[] | null;
  device_kind: DeviceKind;
  label: string | null;
  product: string | null;
  memory_bytes: number | null;
  memory_published: string | null;
  state: DeviceState;
  tiers: readonly string[];
  simulated?: boolean;
  attributes?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  taints?: readonly { key?: string; value?: string; effect?: string; timeAdded?: string }[];
  holders: readonly Holder[];
}

export interface DeviceList {
  kind: 'DeviceList';
  version: number;
  context: Context;
  /** Grows with every change of a device; no other server or cluster gives the same. */
  revision: number;
  visible: Visible;
  devices: readonly Device[];
  total?: number;
  /** These are the changes after that revision; absent: this is all. */
  since?: number;
  /** Driver, pool and name of those that are gone. */
  removed?: readonly (readonly [string, string, string])[];
}

/** What occurs in a column, and where; without cells and runs every row has the one value. */
export interface Column {
  values: readonly unknown[];
  /** Of each row the place of its value. */
  cells?: readonly number[];
  /** Pairs: a value's place, and how many rows in succession have it. */
  runs?: readonly number[];
}

/** The same in columns, for pictures of tens of thousands. */
export interface CompactDeviceList extends Omit<DeviceList, 'kind' | 'devices'> {
  kind: 'CompactDeviceList';
  total: number;
  rows: number;
  columns: Readonly<Record<string, Column>>;
  holders: { rows: number; columns: Readonly<Record<string, Column>> };
}

export interface Waiting {
  /** As for holders; names are null where policy withholds them. */
  who: Holder['who'];
  user: string | null;
  namespace: string | null;
  claim: string | null;
  session: string | null;
  /** The recorded request, else what the claim itself amounts to; null where no request can say it. */
  requirement: Requirement | null;
  since: string;
  /** `never` cannot ever start, `starting` fits now. */
  group: 'never' | 'taken' | 'starting' | 'unknown' | string;
  verdict: Verdict | null;
  reasons: readonly Reason[];
}

export interface WaitingList {
  kind: 'WaitingList';
  version: number;
  context: Context;
  visible: Visible;
  waiting: readonly Waiting[];
}

export interface LaunchRequest {
  requirement: Requirement;
  name?: string;
  notebook?: string;
  kernel?: string;
  wait?: number | null;
  key?: string;
  force?: boolean;
}

export interface ProblemBody {
  type?: string;
  title?: string;
  status?: number;
  detail?: string;
  message?: string;
  code?: string;
  object?: { kind?: string; namespace?: string | null; name?: string | null } | null;
  path?: string | null;
  next?: string | null;
  params?: Params;
}

export interface DoctorFinding {
  code: string;
  severity: string;
  area: string;
  message: string;
  fix: string | null;
  who: 'you' | 'admin' | string;
}

export interface DoctorReport {
  kind: 'DoctorReport';
  version: number;
  good: boolean;
  findings: readonly DoctorFinding[];
}

export interface SessionEvent {
  id: string;
  revision: number;
  change: string;
  state: SessionState;
  step: { code: string; state: string } | null;
  code: string | null;
}

export interface InventoryEvent {
  revision: number;
  changed: readonly string[];
  reset: boolean;
}

export interface StatusEvent {
  state: StatusState;
  as_of: string | null;
}
