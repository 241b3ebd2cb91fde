/**
 * Pods that come and go on a Kubernetes cluster, as load for whatever watches it.
 *
 * @module podchurn
 */
export as namespace podchurn;

/** What `new Churn` takes. An unknown option is an error. */
export interface ChurnOptions {
  /** Path of the kubeconfig. */
  kubeconfig: string;
  /** Context of the kubeconfig; default: its current one. */
  context?: string;
  /** Path of the op log, zstd-compressed NDJSON with one record per request. What is there is replaced only if it is one. */
  opLog: string;
  /** Path of a plan file, or its fields. */
  plan: string | Plan;
  /** Wait for lines on standard input before load and teardown, as `churn --wait` does. */
  wait?: boolean;
  /** The part of the plan to send, such as 2/4. Default: that of k6's execution segment, into ops-2.ndjson.zst. */
  shard?: string;
}

/** The fields of a plan file; docs/scenario-reference.md describes them under `load`. */
export interface Plan {
  /** Decides everything that is random. */
  seed?: number;
  /** Names the run: label, namespaces and nodes carry it. Lower-case letters, digits and dashes. */
  runID: string;
  model: 'closed' | 'open';
  /** Closed loop. */
  threads?: number;
  operations?: number;
  duration?: string;
  thinkTime?: string;
  /** Open loop: writes per second; of a profile, pods. */
  rate?: number;
  [field: string]: unknown;
}

/** One process has one Churn; every virtual user constructs it with the same options. */
export declare class Churn {
  constructor(options: ChurnOptions);
  /** Makes namespaces, nodes and what else the plan wants, and begins the load. For setup(). */
  prepare(): void;
  /** Ends the load, completes the op log and removes what was made. For teardown(). */
  finish(): void;
  /**
   * Sends the plan's next operation and returns false when there is none: in a closed loop that
   * of the thread with this virtual user's number, in an open one the next at its time.
   */
  step(): boolean;
}
