import { ApplicationFailure, CancelledFailure, TimeoutFailure } from '@temporalio/common';
import { msToNumber } from '@temporalio/common/lib/time.js';
import type { ActivityRequest } from '../../src/core/activity-requests/activity-request.ts';
import type { BegunCall } from '../../src/core/bursts/burst.ts';
import { defined, type JsonValue } from '../../src/core/domain/json.ts';
import { missingIn } from '../../src/core/domain/missing-definitions.ts';
import { cleanJson } from '../../src/model/parse-json.ts';
import type { Telemetry } from '../../src/telemetry/telemetry.ts';
import { type AttemptInfo, withAttemptInfo } from '../attempts/attempt-info.ts';
import { fateOfAttempt } from '../telemetry/call-spans.ts';
import { aroundCalls } from './around-calls.ts';
import type { Acknowledgement } from './checkpoints.ts';
import { realSleep } from '../../src/temporal/real-timers.ts';

/** The end of a call: its outcome, or the data that the run needs to finish it. */
export type CallEnd<Outcome> = { type: 'ended'; outcome: Outcome } | { type: 'left'; begun: Omit<BegunCall, 'key'> };

/** The bounds of the attempts at a call. */
export interface CallBounds {
  /** The number of earlier attempts that may have been made, and were lost. */
  before: number;
  /** When the call began, or may have begun if attempts were lost, in milliseconds since the epoch. */
  begunAt: number;
  /** How many calls under the same name the burst has completed before. */
  earlier: number;
  /** Holds the attempts' reports. */
  held: HeldReports;
  /** Aborted when a request has arrived: the burst does not wait for the next attempt. */
  awaited: AbortSignal;
  /** Aborted when the burst must end at once. */
  ending: AbortSignal;
  /** Aborted when the run is cancelled, for a call that the run then does not wait for. */
  givenUp?: AbortSignal;
}

/** The longest wait between two attempts. Longer waits are left to the run. */
const LONGEST_WAIT_MS = 5_000;

/** Makes an activity's call inside another activity, with the attempts and timeouts of its own options. */
export async function callInside<Input, Output, Outcome>(
  call: ActivityRequest<Input, Output, Outcome>,
  work: (input: Input) => Promise<Output>,
  { before, begunAt, earlier, held, awaited, ending, givenUp }: CallBounds,
): Promise<CallEnd<Outcome>> {
  const { retry = {}, startToCloseTimeout = Infinity } = call.options;
  const most = retry.maximumAttempts || Infinity;
  const ended = (outcome: Outcome): CallEnd<Outcome> => ({ type: 'ended', outcome });
  // The same failure as the server's for an activity whose workers were lost.
  if (before >= most) return ended(call.failed(new TimeoutFailure('activity Heartbeat timeout', undefined, 'HEARTBEAT')));
  let details: unknown;
  for (let attempt = before + 1; ; attempt += 1) {
    const left = (attempts: number): CallEnd<Outcome> => ({ type: 'left', begun: { attempts, ...defined({ details: kept(details) }) } });
    const controller = new AbortController();
    const info: AttemptInfo = {
      name: call.name,
      attempt,
      isLocal: false,
      startToCloseTimeoutMs: msToNumber(startToCloseTimeout),
      heartbeatTimeoutMs: undefined,
      retryPolicy: retry,
      scheduledTimestampMs: begunAt,
      currentAttemptScheduledTimestampMs: Date.now(),
      heartbeatDetails: details,
      signal: controller.signal,
      isCancelled: false,
      inside: { isRetry: attempt > before + 1, earlier, whenStored: (report) => held.add(report) },
      heartbeat: (next) => (details = next),
    };
    const act = aroundCalls();
    const make = (): Promise<Output> => withAttemptInfo(info, () => work(call.input));
    const end = await attemptOf(act === undefined ? make : () => act(call, make) as Promise<Output>, {
      controller,
      ending,
      givenUp,
      ms: info.startToCloseTimeoutMs,
    });
    if (end.type === 'returned') return ended(call.returned(end.output));
    if (end.type === 'given_up') return ended(call.failed(new CancelledFailure('CANCELLED')));
    if (ending.aborted) return left(attempt);
    const failure = end.type === 'timed_out' ? new TimeoutFailure('activity StartToClose timeout', details, 'START_TO_CLOSE') : end.error;
    if (failure instanceof ApplicationFailure && missingIn(failure.details?.[0]) !== undefined) return left(attempt - 1);
    const isFinal = !(failure instanceof TimeoutFailure) && !(failure instanceof ApplicationFailure && failure.nonRetryable !== true);
    if (isCancellation(failure)) return ended(call.failed(new CancelledFailure('CANCELLED')));
    if (isFinal || attempt >= most) return ended(call.failed(failure));
    const waitMs = delayOf(failure, retry, attempt);
    if (waitMs > LONGEST_WAIT_MS || awaited.aborted) return left(attempt);
    await realSleep(waitMs, { signal: AbortSignal.any([awaited, ending]) }).catch(() => undefined);
    if (awaited.aborted || ending.aborted) return left(attempt);
  }
}

/** True for the end of an attempt whose signal the run has aborted. */
function isCancellation(failure: unknown): boolean {
  return failure instanceof CancelledFailure || (failure instanceof Error && failure.name === 'AbortError');
}

type AttemptEnd<Output> =
  | { type: 'returned'; output: Output }
  | { type: 'failed'; error: unknown }
  | { type: 'timed_out' }
  | { type: 'given_up' };

interface AttemptBounds {
  controller: AbortController;
  ending: AbortSignal;
  givenUp: AbortSignal | undefined;
  ms: number;
}

/** The longest timeout that Node supports. */
const MAX_TIMER_MS = 2_147_483_647;

/** Makes one attempt, and ends it when its time is over, even if it ignores its signal. */
async function attemptOf<Output>(
  work: () => Promise<Output>,
  { controller, ending, givenUp, ms }: AttemptBounds,
): Promise<AttemptEnd<Output>> {
  const { promise: early, resolve } = Promise.withResolvers<AttemptEnd<Output>>();
  const end = (): void => {
    controller.abort(ending.reason);
    resolve({ type: 'failed', error: ending.reason });
  };
  const giveUp = (): void => resolve({ type: 'given_up' });
  ending.addEventListener('abort', end, { once: true });
  givenUp?.addEventListener('abort', giveUp, { once: true });
  const timer = setTimeout(
    () => {
      controller.abort(new Error(`it took more than ${ms / 1_000} s`));
      resolve({ type: 'timed_out' });
    },
    Math.min(ms, MAX_TIMER_MS),
  );
  const made = async (): Promise<AttemptEnd<Output>> => {
    try {
      return { type: 'returned', output: await work() };
    } catch (error) {
      return { type: 'failed', error };
    }
  };
  try {
    return await Promise.race([made(), early]);
  } finally {
    clearTimeout(timer);
    ending.removeEventListener('abort', end);
    givenUp?.removeEventListener('abort', giveUp);
  }
}

/** The server's defaults. */
const DEFAULTS = { initialInterval: 1_000, backoffCoefficient: 2, maximumFactor: 100 };

/** Returns the milliseconds before the next attempt: the failure's, otherwise the policy's. */
function delayOf(
  failure: unknown,
  {
    initialInterval = DEFAULTS.initialInterval,
    backoffCoefficient = DEFAULTS.backoffCoefficient,
    maximumInterval,
  }: NonNullable<ActivityRequest<never, never, never>['options']['retry']>,
  attempt: number,
): number {
  const asked = failure instanceof ApplicationFailure ? failure.nextRetryDelay : undefined;
  if (asked !== undefined && asked !== null) return msToNumber(asked);
  const first = msToNumber(initialInterval);
  const longest = maximumInterval === undefined ? first * DEFAULTS.maximumFactor : msToNumber(maximumInterval);
  return Math.min(longest, first * backoffCoefficient ** (attempt - 1));
}

/** Returns details in a form that the run can pass on. */
function kept(details: unknown): JsonValue | undefined {
  return details === undefined ? undefined : cleanJson(details);
}

/**
 * The held reports of a call's attempts. If the server does not get the outcome, later attempts make the call again under the same names,
 * so nothing is reported before.
 */
export class HeldReports {
  readonly #held: (() => void)[] = [];
  /** How to treat a report, once that is known. */
  #fate: ((report: () => void) => void) | undefined;

  /** Reports something, once that is allowed. */
  add(report: () => void): void {
    if (this.#fate === undefined) this.#held.push(report);
    else this.#fate(report);
  }

  /** Called when the server has the outcome. */
  release(): void {
    this.#decide((report) => report());
  }

  /** Called when the server does not get the outcome. `drop` is called for each report. */
  giveUp(drop: () => void): void {
    this.#decide(drop);
  }

  #decide(fate: (report: () => void) => void): void {
    this.#fate = fate;
    for (const report of this.#held.splice(0)) fate(report);
  }
}

/** The reports of a burst attempt's calls whose outcomes the server may not have. */
export class BurstReports {
  readonly #telemetry: Telemetry | undefined;
  readonly #beganAt = performance.now();
  /** Reports of calls whose outcomes the next checkpoint stores. */
  readonly #held: HeldReports[] = [];
  /** Reports of calls that are left to the run, which only learns of them from the end of the attempt. */
  readonly #toEnd: HeldReports[] = [];
  /** How to treat the reports that are still held once the attempt has ended. */
  #settle: (() => void) | undefined;

  constructor(telemetry: Telemetry | undefined) {
    this.#telemetry = telemetry;
  }

  /** Holds a call's reports until the server has its outcome. */
  hold(reports: HeldReports, { isLeft }: { isLeft: boolean }): void {
    (isLeft ? this.#toEnd : this.#held).push(reports);
    this.#settle?.();
  }

  /** Takes the reports of calls whose outcomes are about to be stored. */
  storing(): Acknowledgement {
    const held = this.#held.splice(0);
    return {
      stored: () => {
        for (const reports of held) reports.release();
      },
      failed: () => {
        this.#held.push(...held);
        this.#settle?.();
      },
    };
  }

  /** Called before the attempt returns: the server gets all outcomes with its result, unless it has abandoned the attempt. */
  async returned(): Promise<void> {
    const isLost = await this.#isGivenUp();
    this.#settle = () => (isLost ? this.#giveUp() : this.#reportLater(this.#all()));
    this.#settle();
  }

  /**
   * Called if the outcomes were not stored. The run gets the last attempt's outcomes from its failure; calls of an earlier attempt are made
   * again.
   */
  async notStored({ isLast }: { isLast: boolean }): Promise<void> {
    const ofFailure = isLast ? this.#all() : [];
    this.#settle = () => this.#giveUp();
    this.#settle();
    if (!isLast) return;
    if (await this.#isGivenUp()) this.#drop(ofFailure);
    else this.#reportLater(ofFailure);
  }

  /** Also true if the server does not answer: a span must not be reported with two contents, and a missing one can be repaired. */
  async #isGivenUp(): Promise<boolean> {
    if (this.#telemetry?.hasSpans !== true) return false;
    return (await fateOfAttempt({ tookMs: performance.now() - this.#beganAt, isCancelled: false })) !== 'awaited';
  }

  #reportLater(all: readonly HeldReports[]): void {
    this.#telemetry?.later(() => {
      for (const reports of all) reports.release();
    });
  }

  #giveUp(): void {
    this.#drop(this.#all());
  }

  /** Counts the spans as lost. */
  #drop(all: readonly HeldReports[]): void {
    for (const reports of all) reports.giveUp(() => this.#telemetry?.drop());
  }

  #all(): HeldReports[] {
    return [...this.#held.splice(0), ...this.#toEnd.splice(0)];
  }
}
