import { AsyncLocalStorage } from 'node:async_hooks';
import { activityInfo } from '@temporalio/activity';
import { MISSED_HEARTBEATS } from '../../src/core/domain/agent.ts';
import { activityDetails, uncountedAttemptsIn, withUncountedAttempts, type WorkerWait } from '../../src/core/domain/missing-definitions.ts';
import { BYTE_BUDGETS, jsonBytes } from '../../src/core/domain/byte-budgets.ts';
import type { JsonValue } from '../../src/core/domain/json.ts';
import { isoTime } from '../../src/core/domain/time.ts';
import { withStreamedOutput } from '../../src/core/domain/stream.ts';
import { cleanJson } from '../../src/model/parse-json.ts';
import { executionKey } from '../run-queries/query-run.ts';
import { type AttemptInfo, attemptInfo, mayPark } from './attempt-info.ts';
import { registrationIn } from '../../src/core/domain/batch.ts';

/** The controls of one attempt of an activity. */
export interface Attempt {
  /** Aborted by a cancellation, an interruption, a timeout or a worker shutdown. */
  readonly signal: AbortSignal;
  /** Throws the signal's reason if it is aborted. */
  throwIfAborted(): void;
  /** Aborts the signal, unless it is already aborted. */
  abort(reason: Error): void;
  /** True if the workflow has cancelled the activity; false if the worker shuts down or the attempt timed out. */
  isCancelled(): boolean;
  /** Sends a heartbeat now. Every later heartbeat of this attempt repeats its details. */
  heartbeat(details: unknown): void;
  /**
   * Sends a heartbeat with details about the call's stream, in addition to its other details. Every later heartbeat of this attempt repeats
   * them. May be called outside the activity; does nothing once the attempt has ended.
   */
  stream(details: unknown): void;
}

/** Options for the heartbeats and interruptions of an attempt. */
export interface AttemptOptions {
  heartbeatMs: number;
  /** The key of the run whose messages may interrupt the attempt; empty for a run that is a separate workflow. */
  interruptibleBy?: string;
  /** The details of periodic heartbeats until `beat` sets others. */
  details?: () => unknown;
  /** True if the attempt must limit the rate of heartbeats itself, because the worker does not throttle them. */
  isPaced?: boolean;
}

/**
 * Runs `work` with a signal that reports a cancellation from the server and from this process, and sends heartbeats on a timer. The first
 * heartbeat is sent after a whole interval: it is a call to the server, and quick calls need none.
 */
export async function runAttempt<Result>(
  aborts: AbortRegistry,
  { heartbeatMs, interruptibleBy, details = () => undefined, isPaced = false }: AttemptOptions,
  work: (attempt: Attempt) => Promise<Result>,
): Promise<Result> {
  const info = attemptInfo();
  if (info.isLocal) return work(new LocalAttempt(info.signal));
  const { controller, release, isCancelled } = aborts.register(executionKey(), interruptibleBy);
  const { signal } = controller;
  const serverSignal = info.signal;
  const forwardAbort = (): void => controller.abort(serverSignal.reason);
  if (serverSignal.aborted) forwardAbort();
  else serverSignal.addEventListener('abort', forwardAbort, { once: true });
  // A tool may need heartbeats more often than the worker's default.
  const everyMs = Math.max(1, Math.min(heartbeatMs, (info.heartbeatTimeoutMs ?? Infinity) / MISSED_HEARTBEATS));
  const heartbeats = new Heartbeats(info, { everyMs, details, isPaced });
  let hasFailed = true;
  try {
    const result = await work({
      signal,
      throwIfAborted: () => signal.throwIfAborted(),
      abort: (reason) => controller.abort(reason),
      isCancelled: () => isCancelled() || info.isCancelled,
      heartbeat: (newDetails) => heartbeats.send(newDetails),
      stream: (newDetails) => heartbeats.sendStream(newDetails),
    });
    hasFailed = false;
    return result;
  } finally {
    heartbeats.stop(hasFailed);
    serverSignal.removeEventListener('abort', forwardAbort);
    release();
  }
}

/**
 * The attempt of a local activity. It has no heartbeats, and its worker delivers the cancellation. A local call takes
 * milliseconds and rarely uses its signal, so the signal is created on demand.
 */
class LocalAttempt implements Attempt {
  readonly #workerSignal: AbortSignal;
  #abortReason: Error | undefined;
  #controller: AbortController | undefined;

  constructor(workerSignal: AbortSignal) {
    this.#workerSignal = workerSignal;
  }

  get signal(): AbortSignal {
    return (this.#controller ?? this.#createController()).signal;
  }

  throwIfAborted(): void {
    if (this.#reason() !== undefined) throw this.#reason();
  }

  abort(reason: Error): void {
    this.#abortReason ??= reason;
    this.#controller?.abort(reason);
  }

  isCancelled(): boolean {
    return this.#workerSignal.aborted;
  }

  heartbeat(): void {
    // A local call ends before a heartbeat would be due.
  }

  stream(): void {
    // As above.
  }

  #reason(): unknown {
    return this.#abortReason ?? (this.#workerSignal.aborted ? this.#workerSignal.reason : undefined);
  }

  #createController(): AbortController {
    const controller = (this.#controller = new AbortController());
    if (this.#reason() !== undefined) controller.abort(this.#reason());
    else this.#workerSignal.addEventListener('abort', () => controller.abort(this.#workerSignal.reason), { once: true });
    return controller;
  }
}

/** Options of the heartbeats of an attempt. */
interface HeartbeatOptions {
  everyMs: number;
  /** The details of the heartbeats until `send` sets others. */
  details: () => unknown;
  /** True if the worker lets heartbeats through faster, for a stream sink: heartbeats for other reasons then wait for the interval. */
  isPaced: boolean;
}

/** The heartbeats of an attempt, sent on a timer until stopped. */
class Heartbeats {
  readonly #info: AttemptInfo;
  readonly #skipped = skippedAttempts();
  readonly #timer: NodeJS.Timeout;
  readonly #pauseMs: number;
  #details: () => unknown;
  #stream: unknown;
  #sentAt = -Infinity;
  /** True for details that no heartbeat has sent yet. */
  #isDue = false;
  #isStopped = false;

  constructor(info: AttemptInfo, { everyMs, details, isPaced }: HeartbeatOptions) {
    this.#info = info;
    this.#details = details;
    this.#pauseMs = isPaced ? everyMs : 0;
    this.#timer = setInterval(() => this.#send(), everyMs);
  }

  /** Sends a heartbeat now, or at its interval. Every later one repeats its details. */
  send(details: unknown): void {
    this.#details = () => details;
    this.#isDue = true;
    if (performance.now() - this.#sentAt >= this.#pauseMs) this.#send();
  }

  /** Sends a heartbeat now, with details about the call's stream in addition to the others. Every later one repeats them. */
  sendStream(details: unknown): void {
    if (this.#isStopped) return;
    this.#stream = detailsOf(() => details);
    this.#send();
  }

  /** Stops the heartbeats. `hasFailed`: sends the newest details for the next attempt, even before the interval. */
  stop(hasFailed: boolean): void {
    if (hasFailed && this.#isDue) this.#send();
    this.#isStopped = true;
    clearInterval(this.#timer);
  }

  /** Must not throw: an error in the timer's callback would end the process. */
  #send(): void {
    const details = withStreamedOutput(
      this.#stream,
      detailsOf(() => this.#details()),
    );
    this.#isDue = false;
    this.#sentAt = performance.now();
    // A sink may send one call's heartbeats from another call's code.
    this.#info.heartbeat(withUncountedAttempts(this.#skipped, details));
  }
}

/** Returns details that can be sent: the SDK would cancel the activity for any others. */
function detailsOf(read: () => unknown): unknown {
  try {
    return heartbeatDetails(read());
  } catch {
    return '[The details of this heartbeat cannot be read]';
  }
}

/**
 * Returns the details of a heartbeat in a form that can be sent. Details that cannot be sent are replaced by a text
 * that says so: progress is not worth a failed call.
 */
export function heartbeatDetails(details: unknown): JsonValue | undefined {
  if (details === undefined) return undefined;
  const plain = cleanJson(details);
  if (plain === undefined) return '[The details of this heartbeat are not JSON]';
  const bytes = jsonBytes(plain);
  return bytes <= BYTE_BUDGETS.heartbeat
    ? plain
    : `[The details of this heartbeat are ${bytes} bytes of JSON, over ${BYTE_BUDGETS.heartbeat}]`;
}

/** An activity that can be aborted. `interruptibleBy` is the key of the run whose messages may interrupt it. */
interface Abortable {
  controller: AbortController;
  interruptibleBy: string | undefined;
  /** True once its run has cancelled or interrupted it, even if the signal was aborted before. */
  isCancelled: boolean;
}

interface Registration {
  /** Aborted when the run is cancelled or a message interrupts it; the activity may abort it too. */
  controller: AbortController;
  /** True once the run has cancelled or interrupted the activity. */
  isCancelled: () => boolean;
  /** Removes the registration. */
  release: () => void;
}

/**
 * Delivers cancellations inside one process: a workflow sink calls `abort`, and the activities of that run are aborted
 * at once, while a heartbeat would take seconds. Activities in other processes learn of it by heartbeat. Messages that
 * interrupt a model call are delivered in the same way.
 */
export class AbortRegistry {
  readonly #activities = new Map<string, Set<Abortable>>();

  /** Registers one activity of an execution. A model call names the run whose messages may interrupt it. */
  register(execution: string, interruptibleBy?: string): Registration {
    const activity: Abortable = { controller: new AbortController(), interruptibleBy, isCancelled: false };
    const activities = this.#activities.get(execution) ?? new Set();
    this.#activities.set(execution, activities.add(activity));
    return {
      controller: activity.controller,
      isCancelled: () => activity.isCancelled,
      release: () => {
        activities.delete(activity);
        if (activities.size === 0) this.#activities.delete(execution);
      },
    };
  }

  /** Aborts every activity of the execution in this process. Idempotent, because a workflow task may be executed again. */
  abort(execution: string): void {
    for (const activity of this.#activities.get(execution) ?? []) abortActivity(activity, new RunCancelled());
  }

  /** Aborts the model call of one run of the execution. `run` is its key, empty for a run that is a separate workflow. */
  interrupt(execution: string, run: string): void {
    for (const activity of this.#activities.get(execution) ?? []) {
      if (activity.interruptibleBy === run) abortActivity(activity, new RunInterrupted());
    }
  }
}

function abortActivity(activity: Abortable, reason: RunCancelled | RunInterrupted): void {
  activity.isCancelled = true;
  activity.controller.abort(reason);
}

/** The reason of a signal that was aborted because the run was cancelled. */
export class RunCancelled extends Error {
  override readonly name = 'AbortError';

  constructor() {
    super('The run was cancelled');
  }
}

/** The reason of a signal that was aborted because of a message to the run, which continues. */
export class RunInterrupted extends Error {
  override readonly name = 'AbortError';

  constructor() {
    super('A message interrupted the model call');
  }
}

/** The current activity's wait for a worker that has the missing thing. */
const workerWaits = new AsyncLocalStorage<WorkerWait>();

/** Runs an attempt of an activity that may have been rescheduled because other workers lacked something. */
export function withWorkerWait<Result>(wait: WorkerWait | undefined, work: () => Promise<Result>): Promise<Result> {
  return wait === undefined ? work() : workerWaits.run(wait, work);
}

/** Returns the number of attempts that workers could not make because they lacked something, and of parked ones. */
export function skippedAttempts(): number {
  if (workerWaits.getStore() === undefined && !mayPark()) return 0;
  const { attempt, heartbeatDetails: details } = attemptInfo();
  // All attempts at a call that waits for a batch are parked, but only the first says so.
  return registrationIn(details) === undefined ? uncountedAttemptsIn(details) : attempt - 1;
}

/** Returns the number of the current attempt, 1-based, without parked attempts and ones that workers could not make. */
export function attemptNumber(): number {
  return attemptInfo().attempt - skippedAttempts();
}

/** Returns the limit of attempts, or undefined. */
export function attemptsAllowed(): number | undefined {
  return workerWaits.getStore()?.attempts ?? attemptInfo().retryPolicy?.maximumAttempts;
}

/** Returns the details of the last heartbeat of earlier attempts. */
export function lastDetails(): unknown {
  const wait = workerWaits.getStore();
  const details = attemptInfo().heartbeatDetails;
  return activityDetails(details) ?? wait?.details;
}

/**
 * Delays between attempts that workers could not make, in milliseconds: short, because most workers of a queue may have the missing thing.
 */
const WAIT_MS = { first: 250, longest: 5_000 };

/** Returns the delay before the activity is tried on the next worker, in milliseconds; undefined if there is no wait, or it is over. */
export function nextWorkerAfterMs(): number | undefined {
  const wait = workerWaits.getStore();
  if (wait === undefined) return undefined;
  const { scheduledTimestampMs, currentAttemptScheduledTimestampMs } = attemptInfo();
  // Both timestamps are of the server's clock.
  const elapsed = currentAttemptScheduledTimestampMs - scheduledTimestampMs;
  const next = Math.min(WAIT_MS.longest, WAIT_MS.first * 2 ** Math.min(skippedAttempts(), 10));
  return elapsed + next > wait.forMs ? undefined : next;
}

/** Returns the start and the end of the wait for another worker, ISO 8601; undefined if there is none. */
export function waitTimes(): { since: string; until: string } | undefined {
  const wait = workerWaits.getStore();
  if (wait === undefined) return undefined;
  const { scheduledTimestampMs } = attemptInfo();
  return { since: isoTime(scheduledTimestampMs), until: isoTime(scheduledTimestampMs + wait.forMs) };
}

/** True if the wait for another worker is over: the activity then does what it can without the missing thing. */
export function isWaitOver(): boolean {
  return workerWaits.getStore() !== undefined && nextWorkerAfterMs() === undefined;
}

/** The time limit of an operation, and other ways to end it. */
interface TimeoutOptions<Value> {
  /** Milliseconds. */
  ms: number;
  /** Ends the operation early, with the signal's reason. */
  stop?: AbortSignal | undefined;
  /** Receives a value that arrives after the operation was abandoned. */
  onLateResult?: (value: Value) => void;
}

/**
 * Resolves with the result of `work` if it arrives in time. Otherwise aborts the signal of `work` and rejects at once, even if `work`
 * ignores the signal.
 */
export async function withTimeout<Value>(
  work: (signal: AbortSignal) => Value | Promise<Value>,
  { ms, stop, onLateResult }: TimeoutOptions<Value>,
): Promise<Value> {
  stop?.throwIfAborted();
  const controller = new AbortController();
  const stopped = (): void => controller.abort(stop?.reason);
  stop?.addEventListener('abort', stopped, { once: true });
  const timer = setTimeout(() => controller.abort(new Error(`it took more than ${ms / 1000} s`)), ms);
  const { signal } = controller;
  const working = async (): Promise<Value> => {
    const value = await work(signal);
    if (signal.aborted) onLateResult?.(value);
    return value;
  };
  const givenUp = new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
  try {
    return await Promise.race([working(), givenUp]);
  } finally {
    clearTimeout(timer);
    stop?.removeEventListener('abort', stopped);
  }
}

/** The run that the activity of this call belongs to. */
export function currentRun(): { namespace: string; runId: string } {
  const { workflowExecution, workflowNamespace } = activityInfo();
  return { namespace: workflowNamespace ?? '', runId: workflowExecution?.workflowId ?? '' };
}
