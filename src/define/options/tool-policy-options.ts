import { type Duration, milliseconds, timerMilliseconds } from '../../core/domain/run/duration.ts';
import { UsageError } from '../../core/domain/errors/error.ts';
import { type Backoff, DEFAULT_POLICY, MAX_LOCAL_TIMEOUT_MS, type ToolPolicy } from '../../core/domain/agent/tool-policy.ts';
import { nonEmpty, requireKnown, wholeNumber } from './option-checks.ts';
import type { Resources, RunContext } from '../run-context.ts';

/** The waits between attempts. */
export interface BackoffOptions {
  /** Before the second attempt. Default 1 second; 50 milliseconds for a local tool. */
  initial?: Duration;
  /** How much longer each wait is than the one before. Default 2. */
  factor?: number;
  /** The longest wait. Default 1 minute; 1 second for a local tool. */
  max?: Duration;
}

/** Which thrown errors are tried again. Called with what `execute` has thrown, once per attempt. */
export type RetryOn = 'any' | 'none' | ((error: unknown) => boolean);

/** What `verify` found out about a call whose outcome is unknown. */
export type VerifiedOutcome<Result = unknown> =
  /** It took effect, and this is what `execute` would have returned. */
  | { happened: true; result: Result }
  /** It did not, and will not any more. */
  | { happened: false };

/** Looks up what became of a call, by its idempotency key. Throwing is tried again, and means in the end that nobody knows. */
export type Verify<Deps, Needed = Resources> = (
  idempotencyKey: string,
  context: RunContext<Deps, Needed>,
) => VerifiedOutcome | Promise<VerifiedOutcome>;

/** The options of a tool that concern how its calls run. */
export interface ToolPolicyOptions<Deps, Needed = Resources> {
  /**
   * `idempotent`: a call may run again, always with the same `idempotencyKey`. `once`: a call is never started again
   * after it may have started; where nobody knows what came of it, the model is told so. Default `idempotent`.
   */
  effect?: 'idempotent' | 'once';
  /** For `once`: looks up what became of a call of which nobody knows. */
  verify?: Verify<Deps, Needed>;
  /**
   * `remote`: an activity of its own. `local`: inside the task of the workflow, for what takes milliseconds: no round
   * trip to the server, and run again whenever that task is. Default `remote`.
   */
  tier?: 'remote' | 'local';
  /** How long one attempt may take. Default 60 seconds; 5 seconds for a local tool, at most 10. */
  timeout?: Duration;
  /** Attempts in all, the first one included. Default 3. */
  maxAttempts?: number;
  backoff?: BackoffOptions;
  /** Which thrown errors are tried again. Default `any`, but for `ToolFailure` and `ModelRetry`, which never are. */
  retryOn?: RetryOn;
  /** How often in a row calls of the tool may ask the model to try again with `ModelRetry`. Default 2. */
  modelRetries?: number;
  /** How long an attempt may give no sign of life before it is taken for lost. Default: three heartbeats of the worker. */
  heartbeatTimeout?: Duration;
  /** Calls of the tool that may run at a time on one worker. Default: as many as there are. */
  concurrency?: number;
  /** The task queue that its calls go to: of workers with what the tool needs. Default: the run's own. */
  taskQueue?: string;
}

/** The names of those options. */
export const POLICY_OPTIONS = [
  'effect',
  'verify',
  'tier',
  'timeout',
  'maxAttempts',
  'backoff',
  'retryOn',
  'modelRetries',
  'heartbeatTimeout',
  'concurrency',
  'taskQueue',
] as const;

/** The policy of a tool, checked. Throws a UsageError that names the option for what could not hold. */
export function toolPolicy<Deps, Needed>(owner: string, options: ToolPolicyOptions<Deps, Needed>): ToolPolicy {
  const { effect = 'idempotent', tier = 'remote', verify, retryOn = 'any' } = options;
  oneOf(`${owner}: "effect"`, effect, ['idempotent', 'once']);
  oneOf(`${owner}: "tier"`, tier, ['remote', 'local']);
  if (typeof retryOn !== 'function') oneOf(`${owner}: "retryOn"`, retryOn, ['any', 'none', 'a function']);
  if (verify !== undefined && typeof verify !== 'function') throw new UsageError(`${owner}: "verify" is no function`);
  if (verify !== undefined && effect !== 'once') {
    throw new UsageError(`${owner}: "verify" is asked about calls with "effect": "once": write that, or leave "verify" out`);
  }
  if (effect === 'once' && (options.maxAttempts ?? 1) !== 1) {
    throw new UsageError(`${owner}: "maxAttempts" is ${String(options.maxAttempts)}, but "effect": "once" has one attempt: leave it out`);
  }
  const isLocal = tier === 'local';
  if (isLocal) requireLocal(owner, options);
  const timeoutMs = timerMilliseconds(
    options.timeout ?? (isLocal ? DEFAULT_POLICY.localTimeoutMs : DEFAULT_POLICY.timeoutMs),
    `${owner}: "timeout"`,
  );
  if (isLocal && timeoutMs > MAX_LOCAL_TIMEOUT_MS) {
    throw new UsageError(
      `${owner}: "timeout" is ${timeoutMs} ms, but a local tool may take at most ${MAX_LOCAL_TIMEOUT_MS}: write "tier": "remote"`,
    );
  }
  const backoff = checkedBackoff(owner, options.backoff, isLocal);
  return {
    timeoutMs,
    maxAttempts: wholeNumber(`${owner}: "maxAttempts"`, options.maxAttempts ?? (effect === 'once' ? 1 : DEFAULT_POLICY.maxAttempts), 1),
    ...(backoff === undefined ? {} : { backoff }),
    ...(effect === 'once' ? { effect } : {}),
    ...(verify === undefined ? {} : { verify: true as const }),
    ...(isLocal ? { tier } : {}),
    ...bounds(owner, options),
  };
}

function bounds<Deps, Needed>(owner: string, options: ToolPolicyOptions<Deps, Needed>): Partial<ToolPolicy> {
  const { modelRetries, heartbeatTimeout, concurrency, taskQueue } = options;
  return {
    ...(modelRetries === undefined ? {} : { modelRetries: wholeNumber(`${owner}: "modelRetries"`, modelRetries, 0) }),
    ...(heartbeatTimeout === undefined ? {} : { heartbeatTimeoutMs: timerMilliseconds(heartbeatTimeout, `${owner}: "heartbeatTimeout"`) }),
    ...(concurrency === undefined ? {} : { concurrency: wholeNumber(`${owner}: "concurrency"`, concurrency, 1) }),
    ...(taskQueue === undefined ? {} : { taskQueue: nonEmpty(`${owner}: "taskQueue"`, taskQueue) }),
  };
}

/** A local call runs again whenever the task of its workflow does, has no heartbeats, and runs where that task does. */
function requireLocal<Deps, Needed>(
  owner: string,
  { effect, heartbeatTimeout, taskQueue, concurrency }: ToolPolicyOptions<Deps, Needed>,
): void {
  const refusals: readonly [boolean, string][] = [
    [effect === 'once', '"effect": "once": a local call runs again whenever the task of its workflow does'],
    [heartbeatTimeout !== undefined, '"heartbeatTimeout": a local call has no heartbeats'],
    [taskQueue !== undefined, '"taskQueue": a local call runs where its workflow does'],
    [concurrency !== undefined, '"concurrency": a local call that waits for its turn holds up the task of its workflow'],
  ];
  const [, why] = refusals.find(([isRefused]) => isRefused) ?? [];
  if (why !== undefined) throw new UsageError(`${owner} has "tier": "local" and ${why}. Write "tier": "remote", or leave it out`);
}

function checkedBackoff(owner: string, backoff: BackoffOptions | undefined, isLocal: boolean): Backoff | undefined {
  if (backoff === undefined) return undefined;
  requireKnown(`${owner}: "backoff"`, backoff, ['initial', 'factor', 'max']);
  const defaults = isLocal ? DEFAULT_POLICY.localBackoff : DEFAULT_POLICY.backoff;
  const initialMs = milliseconds(backoff.initial ?? defaults.initialMs, `${owner}: "backoff.initial"`);
  const maxMs = milliseconds(backoff.max ?? Math.max(defaults.maxMs, initialMs), `${owner}: "backoff.max"`);
  const factor = backoff.factor ?? defaults.factor;
  if (!Number.isFinite(factor) || factor < 1)
    throw new UsageError(`${owner}: "backoff.factor" is ${String(factor)}: write a number of at least 1`);
  if (isLocal && maxMs > MAX_LOCAL_TIMEOUT_MS) {
    throw new UsageError(
      `${owner}: "backoff.max" is ${maxMs} ms, but a local tool holds the task of its workflow while it waits, and may do so for ${MAX_LOCAL_TIMEOUT_MS} at most: write "tier": "remote"`,
    );
  }
  if (maxMs < initialMs) throw new UsageError(`${owner}: "backoff.max" is ${maxMs} ms, less than "backoff.initial" (${initialMs} ms)`);
  return { initialMs, factor, maxMs };
}

function oneOf(owner: string, value: unknown, known: readonly string[]): void {
  if (known.includes(value as string)) return;
  throw new UsageError(
    `${owner} is ${JSON.stringify(value)}: write ${known.map((one) => (one.startsWith('a ') ? one : `"${one}"`)).join(' or ')}`,
  );
}
