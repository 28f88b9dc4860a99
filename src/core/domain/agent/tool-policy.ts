/** How long the second attempt waits, and how the wait grows. */
export interface Backoff {
  initialMs: number;
  factor: number;
  maxMs: number;
}

/** How the calls of a tool are run and tried again, as it is pinned for a run. What is absent is the default. */
export interface ToolPolicy {
  /** Milliseconds that one attempt may take. */
  timeoutMs: number;
  /** Attempts in all, the first one included. */
  maxAttempts: number;
  backoff?: Backoff;
  /** A call is never started again after it may have started. Absent: it is idempotent, and tried again with the same key. */
  effect?: 'once';
  /** The tool can be asked what became of a call. */
  verify?: true;
  /** The call runs inside the task of the workflow, without a round trip to the server. Absent: `remote`. */
  tier?: 'local';
  /** Milliseconds without a sign of life after which an attempt is given up. */
  heartbeatTimeoutMs?: number;
  /** How often in a row a call may ask the model to try again. */
  modelRetries?: number;
  /** Calls that may run at a time on one worker. */
  concurrency?: number;
  /** Where its calls go, where that is not the run's own task queue. */
  taskQueue?: string;
}

/** Where neither the tool nor the snapshot says otherwise. */
export const DEFAULT_POLICY = {
  timeoutMs: 60_000,
  localTimeoutMs: 5_000,
  maxAttempts: 3,
  backoff: { initialMs: 1_000, factor: 2, maxMs: 60_000 },
  /** An attempt that is over in milliseconds is not worth a wait of seconds, for which the task of the workflow would have to be kept open. */
  localBackoff: { initialMs: 50, factor: 2, maxMs: 1_000 },
  modelRetries: 2,
} as const;

/** A local call holds the task of its workflow open: longer ones belong to the remote tier. */
export const MAX_LOCAL_TIMEOUT_MS = 10_000;

/** The wait before the next attempt, in milliseconds, after `attempt` attempts (1-based). */
export function backoffMs({ initialMs, factor, maxMs }: Backoff, attempt: number): number {
  return Math.min(maxMs, initialMs * factor ** (attempt - 1));
}

/** The backoff of a tool. */
export function backoffOf({ backoff, tier }: Pick<ToolPolicy, 'backoff' | 'tier'>): Backoff {
  return backoff ?? (tier === 'local' ? DEFAULT_POLICY.localBackoff : DEFAULT_POLICY.backoff);
}

/** Attempts of a tool in all: what happens once is attempted once. */
export function attemptsOf({ effect, maxAttempts }: Pick<ToolPolicy, 'effect' | 'maxAttempts'>): number {
  return effect === 'once' ? 1 : maxAttempts;
}

/** An activity is taken for dead after this many missed heartbeats. */
export const MISSED_HEARTBEATS = 3;
