/** The wait before the second attempt, and its growth before further ones. */
export interface Backoff {
  initialMs: number;
  factor: number;
  maxMs: number;
}

/** The way in which the calls of a tool run and are retried, pinned for a run. An absent field means its default. */
export interface ToolPolicy {
  /** Milliseconds that one attempt may take. */
  timeoutMs: number;
  /** All attempts, including the first one. */
  maxAttempts: number;
  backoff?: Backoff;
  /** A call that may have started is never started again. Absent: calls are idempotent, and retried with the same key. */
  effect?: 'once';
  /** The tool can report the outcome of a call whose result was lost. */
  verify?: true;
  /** The call runs inside the workflow task, without a round trip to the server. Absent: `remote`. */
  tier?: 'local';
  /** Milliseconds without a heartbeat after which an attempt is given up. */
  heartbeatTimeoutMs?: number;
  /** The number of consecutive times that a call may ask the model to try again. */
  modelRetries?: number;
  /** The number of calls that may run at a time on one worker. */
  concurrency?: number;
  /** The task queue of its calls. Absent: that of the run. */
  taskQueue?: string;
}

/** The policy of a tool for everything that neither the tool nor the snapshot sets. */
export const DEFAULT_POLICY = {
  timeoutMs: 60_000,
  localTimeoutMs: 5_000,
  maxAttempts: 3,
  backoff: { initialMs: 1_000, factor: 2, maxMs: 60_000 },
  /** Short, because the workflow task stays open during the wait. */
  localBackoff: { initialMs: 50, factor: 2, maxMs: 1_000 },
  modelRetries: 2,
} as const;

/** The longest time of a local call, which holds the workflow task open: longer calls belong to the remote tier. */
export const MAX_LOCAL_TIMEOUT_MS = 10_000;

/** Returns the backoff of a tool, or the default of its tier. */
export function backoffOf({ backoff, tier }: Pick<ToolPolicy, 'backoff' | 'tier'>): Backoff {
  return backoff ?? (tier === 'local' ? DEFAULT_POLICY.localBackoff : DEFAULT_POLICY.backoff);
}

/** Returns the number of attempts of a tool: one if its effect is `once`. */
export function attemptsOf({ effect, maxAttempts }: Pick<ToolPolicy, 'effect' | 'maxAttempts'>): number {
  return effect === 'once' ? 1 : maxAttempts;
}

/** The number of missed heartbeats after which an activity counts as lost. */
export const MISSED_HEARTBEATS = 3;
