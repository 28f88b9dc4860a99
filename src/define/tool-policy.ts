import { type Backoff, DEFAULT_POLICY, MAX_LOCAL_TIMEOUT_MS, type ToolCaller, type ToolPolicy } from '../core/domain/agent.ts';
import { BYTE_BUDGETS } from '../core/domain/byte-budgets.ts';
import { UsageError } from '../core/domain/errors.ts';
import { defined } from '../core/domain/json.ts';
import { type Duration, milliseconds, timerMilliseconds } from '../core/domain/time.ts';
import type { Resources, RunContext } from './context.ts';
import { nonEmpty, type OptionTable, requireKnown, wholeNumber } from './option-checks.ts';

/** The waits between attempts. */
export interface BackoffOptions {
  /** The wait before the second attempt. Default 1 second; 50 milliseconds for a local tool. */
  initial?: Duration;
  /** The ratio of each wait to the one before. Default 2. */
  factor?: number;
  /** The longest wait. Default 1 minute; 1 second for a local tool. */
  max?: Duration;
}

/** The thrown errors that are retried. A function is called with the error that `execute` has thrown, once per attempt. */
export type RetryOn = 'any' | 'none' | ((error: unknown) => boolean);

/** The answer of `verify` about a call whose outcome is unknown. */
export type VerifiedOutcome<Result = unknown> =
  /** The call took effect, and `result` is what `execute` would have returned. */
  | { happened: true; result: Result }
  /** The call did not take effect, and will not any more. */
  | { happened: false };

/** Looks up the outcome of a call, by its idempotency key. If it throws, it is retried; after the last attempt the outcome stays unknown. */
export type Verify<Deps, Needed = Resources> = (
  idempotencyKey: string,
  context: RunContext<Deps, Needed>,
) => VerifiedOutcome | Promise<VerifiedOutcome>;

/** The options of a tool that concern the execution of its calls. */
export interface ToolPolicyOptions<Deps, Needed = Resources> {
  /**
   * `idempotent`: a call may run again, always with the same `idempotencyKey`. `once`: a call is never started again
   * after it may have started; if its outcome is unknown, the model reads that. Default `idempotent`.
   */
  effect?: 'idempotent' | 'once';
  /** Looks up the outcome of a call with `effect: 'once'` whose outcome is unknown. */
  verify?: Verify<Deps, Needed>;
  /**
   * `remote`: an activity of its own. `local`: a local activity, within the workflow task, for calls of a few milliseconds: it
   * needs no round trip to the server, and runs again if the workflow task does. Default `remote`.
   */
  tier?: 'remote' | 'local';
  /** The time limit of one attempt. Default 60 seconds; 5 seconds for a local tool, at most 10. */
  timeout?: Duration;
  /** The number of attempts, the first one included. Default 3. */
  maxAttempts?: number;
  /** The waits between attempts. Default: 1 second, then twice as long each time, up to 1 minute; 50 ms up to 1 second for a local tool. */
  backoff?: BackoffOptions;
  /** The thrown errors that are retried. Default `any`; `ToolFailure` and `ModelRetry` are never retried. */
  retryOn?: RetryOn;
  /** The number of times in a row that calls of the tool may ask the model to try again with `ModelRetry`. Default 2. */
  modelRetries?: number;
  /** The time without a heartbeat after which an attempt is considered lost. Default: three heartbeats of the worker. */
  heartbeatTimeout?: Duration;
  /** The number of calls of the tool that may run at once on one worker. Default: unlimited. */
  concurrency?: number;
  /** The task queue of its calls, polled by workers that have what the tool needs. Default: the run's own. */
  taskQueue?: string;
}

export const TOOL_POLICY_OPTIONS: OptionTable<ToolPolicyOptions<unknown>> = {
  effect: true,
  verify: true,
  tier: true,
  timeout: true,
  maxAttempts: true,
  backoff: true,
  retryOn: true,
  modelRetries: true,
  heartbeatTimeout: true,
  concurrency: true,
  taskQueue: true,
};

/** Returns the checked policy of a tool. Throws a UsageError that names an invalid option. */
export function toolPolicy<Deps, Needed>(owner: string, options: ToolPolicyOptions<Deps, Needed>): ToolPolicy {
  const { effect = 'idempotent', tier = 'remote', verify, retryOn = 'any' } = options;
  oneOf(`${owner}: "effect"`, effect, ['idempotent', 'once']);
  oneOf(`${owner}: "tier"`, tier, ['remote', 'local']);
  if (typeof retryOn !== 'function') oneOf(`${owner}: "retryOn"`, retryOn, ['any', 'none', 'a function']);
  if (verify !== undefined && typeof verify !== 'function') throw new UsageError(`${owner}: "verify" is not a function`);
  if (verify !== undefined && effect !== 'once') {
    throw new UsageError(`${owner}: "verify" is for calls with "effect": "once": write that, or leave "verify" out`);
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
    ...defined({ backoff }),
    ...(effect === 'once' ? { effect } : {}),
    ...(verify === undefined ? {} : { verify: true as const }),
    ...(isLocal ? { tier } : {}),
    ...callBounds(owner, options),
  };
}

function callBounds<Deps, Needed>(owner: string, options: ToolPolicyOptions<Deps, Needed>): Partial<ToolPolicy> {
  const { modelRetries, heartbeatTimeout, concurrency, taskQueue } = options;
  return {
    ...(modelRetries === undefined ? {} : { modelRetries: wholeNumber(`${owner}: "modelRetries"`, modelRetries, 0) }),
    ...(heartbeatTimeout === undefined ? {} : { heartbeatTimeoutMs: timerMilliseconds(heartbeatTimeout, `${owner}: "heartbeatTimeout"`) }),
    ...(concurrency === undefined ? {} : { concurrency: wholeNumber(`${owner}: "concurrency"`, concurrency, 1) }),
    ...(taskQueue === undefined ? {} : { taskQueue: nonEmpty(`${owner}: "taskQueue"`, taskQueue) }),
  };
}

/** Throws for options that a local tool cannot have: it runs again whenever its workflow task does, has no heartbeats, and runs on the same worker as that task. */
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
  requireKnown(`${owner}: "backoff"`, backoff, { initial: true, factor: true, max: true });
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

/**
 * The form of a result that is too large for the conversation. `cut`: its beginning, with a marker that gives the number of
 * missing bytes. `spill`: the same, and the whole result goes to the worker's payload store. `error`: an error result with
 * its size, for tools of which half a result is worse than none.
 * @useDeclaredType
 */
export type Overflow = (typeof OVERFLOWS)[number];

const OVERFLOWS = ['cut', 'spill', 'error'] as const;

/** The smallest budget: below it there is no room for the marker or an error message. */
const LEAST_RESULT_BYTES = 1_000;

/** The options of a tool that concern the size of its results. */
export interface ResultBudget {
  maxResultBytes: number;
  overflow: Overflow;
}

/** Returns the budget of a tool's results, defaults filled in. Throws a UsageError that names an option out of range. */
export function resultBudget(owner: string, options: Partial<ResultBudget>): ResultBudget {
  const maxResultBytes = wholeNumber(`${owner}: "maxResultBytes"`, options.maxResultBytes ?? BYTE_BUDGETS.toolResult, LEAST_RESULT_BYTES);
  if (maxResultBytes > BYTE_BUDGETS.maxToolResult) {
    throw new UsageError(
      `${owner}: "maxResultBytes" is ${maxResultBytes}: write at most ${BYTE_BUDGETS.maxToolResult}, or keep large results with "overflow": "spill"`,
    );
  }
  const overflow = options.overflow ?? 'cut';
  if (!OVERFLOWS.includes(overflow)) {
    throw new UsageError(`${owner}: "overflow" is ${JSON.stringify(overflow)}: write "cut", "spill" or "error"`);
  }
  return { maxResultBytes, overflow };
}

const TOOL_CALLERS: readonly unknown[] = ['model', 'code'] satisfies ToolCaller[];

/** Returns the callers of a tool; none if both may call it, as without the option. Throws a UsageError for a list that cannot work. */
export function toolCallers(owner: string, callers: readonly ToolCaller[] | undefined): { callers?: readonly ToolCaller[] } {
  if (callers === undefined) return {};
  if (!Array.isArray(callers) || callers.length === 0 || !callers.every((caller) => TOOL_CALLERS.includes(caller))) {
    throw new UsageError(`${owner}: "callers" is ${JSON.stringify(callers)}: write ["model"], ["code"] or both`);
  }
  const [only, ...others] = new Set<ToolCaller>(callers);
  return only === undefined || others.length > 0 ? {} : { callers: Object.freeze([only]) };
}
