import { activityInfo, Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { msToNumber } from '@temporalio/common/lib/time.js';
import { DEFAULT_PATIENCE_MS, type ActivityTiming } from '../../src/core/domain/agent/agent-snapshot.ts';
import { attemptsText } from '../../src/core/domain/content/tool-text.ts';
import { ATTEMPTS_USED_UP, withUncountedAttempts } from '../../src/core/domain/errors/worker-wait.ts';
import { believedQueueMs, type RefusedDetails, refusedIn } from '../../src/core/domain/model/refused.ts';
import type { JsonObject } from '../../src/core/domain/json/json.ts';
import { attemptNumber, lastDetails, skippedAttempts } from '../attempts/worker-wait.ts';
import { NO_CHANGE, type SerializableFailure, withStack } from '../failures/serializable-failure.ts';
import type { Pace } from './pacing.ts';
import { isoTime } from '../../src/core/domain/record/time.ts';

/** The failures that are no fault of the request: the provider says that it cannot serve it now. */
const REFUSALS: readonly unknown[] = ['model_rate_limited', 'model_server_error'];

/** The growth of the waits of a call that is refused again and again, in milliseconds. */
const GROWTH_MS = { first: 1_000, longest: 30_000 };
/** A shorter wait for a worker is not worth a field in each heartbeat. */
const LONG_QUEUE_MS = 10_000;
/** The wait from which on a failing server is taken to ask for a pause, which holds for other calls, too. */
const PAUSE_MS = 1_000;
/** The waits after other failures: those of the retry policy of the activity. */
const BACKOFF_MS = { first: 1_000, longest: 60_000 };

/**
 * Decides about the next attempt of a model call. Refusals (429, 5xx) are bounded by time, the patience of the agent, and do not count
 * as attempts; all other failures are bounded by their number. The server's limit of attempts is only the last bound, for a call whose
 * heartbeats were lost, which carry the count.
 */
export class Patience {
  readonly #begun = performance.now();
  readonly #info = activityInfo();
  readonly #before: { count: number; queuedMs: number };
  #timing: Pick<ActivityTiming, 'modelMaxAttempts' | 'modelPatienceMs'> | undefined;
  #place: { pace: Pace; sentAt: number } | undefined;
  #askedMs: number | undefined;
  #parkedMs: number | undefined;

  constructor() {
    const { attempt, scheduledTimestampMs } = this.#info;
    // The time that the call waited for a worker is not the provider's. The clocks of server and worker may differ.
    const queuedMs = attempt === 1 ? believedQueueMs(Date.now() - scheduledTimestampMs) : 0;
    this.#before = refusedIn(lastDetails()) ?? { count: 0, queuedMs };
  }

  /** Sets the bounds. Throws if the attempts before were all lost with their workers, or timed out. */
  bind(timing: Pick<ActivityTiming, 'modelMaxAttempts' | 'modelPatienceMs'>): void {
    this.#timing = timing;
    const before = this.#counted() - 1;
    if (before < timing.modelMaxAttempts) return;
    throw ApplicationFailure.nonRetryable(`Its worker was lost, or gave no answer in time (${attemptsText(before)})`, ATTEMPTS_USED_UP);
  }

  /** The key of the call, by which its place in the queue is found again. */
  get call(): string {
    const { workflowExecution, activityId } = this.#info;
    return `${workflowExecution?.runId ?? ''}/${activityId}`;
  }

  /** True for an attempt that comes after a wait: the server's clock says that it is over, which need not be that of the queue. */
  get hasWaited(): boolean {
    return this.#before.count > 0;
  }

  /** The longest time that the attempt may wait for its place before it sends the request. */
  get holdMs(): number {
    // A call that comes back for its place is near it; others give their slot of the worker back.
    return this.#before.count > 0 ? this.#info.startToCloseTimeoutMs / 2 : Math.min(5_000, this.#info.startToCloseTimeoutMs / 10);
  }

  /** The details that every heartbeat must repeat for the next attempt. */
  get details(): RefusedDetails | undefined {
    const { count, queuedMs } = this.#before;
    return count === 0 && queuedMs < LONG_QUEUE_MS ? undefined : { refused: { count, queuedMs } };
  }

  /** Notes a request that has failed: its queue, and the wait that the provider asks for, which a failure may hold cut to a day. */
  failed(pace: Pace | undefined, sentAt: number, askedMs: number | undefined): void {
    this.#place = pace === undefined ? undefined : { pace, sentAt };
    this.#askedMs = askedMs;
  }

  /** The request is not sent now: its place in the queue is too far away. */
  parked(ms: number): void {
    this.#parkedMs = ms;
  }

  /** Returns the failure as the server shall see it: final, or with the delay of the next attempt. */
  settled(failure: SerializableFailure): SerializableFailure {
    if (!(failure instanceof ApplicationFailure) || failure.nonRetryable === true || this.#timing === undefined) return failure;
    const patienceMs = this.#timing.modelPatienceMs ?? DEFAULT_PATIENCE_MS;
    const asked = this.#askedMs ?? (failure.nextRetryDelay ? msToNumber(failure.nextRetryDelay) : undefined);
    if (patienceMs > 0 && REFUSALS.includes(failure.type)) return this.#refused(failure, patienceMs, asked);
    if (this.#counted() >= this.#timing.modelMaxAttempts) return final(failure, failure.message);
    // The server's own back-off would count the refusals, too.
    const backoff = Math.min(BACKOFF_MS.longest, BACKOFF_MS.first * 2 ** (this.#counted() - 1));
    return this.#before.count === 0 ? failure : again(failure, asked ?? backoff, failure.details);
  }

  #refused(failure: ApplicationFailure, patienceMs: number, asked: number | undefined): ApplicationFailure {
    const leftMs = patienceMs - this.#elapsedMs();
    const count = this.#before.count + 1;
    const { message } = failure;
    if (asked !== undefined && asked > Math.max(leftMs, 0) && this.#parkedMs === undefined) {
      const rest = leftMs <= 0 ? 'nothing is' : `${span(leftMs)} are`;
      return final(
        failure,
        `${message} (given up: the provider asks for a wait of ${span(asked)}, and ${rest} left of the ${span(patienceMs)} of "modelPatience")`,
      );
    }
    if (leftMs <= 0) {
      return final(
        failure,
        `${message} (given up after ${attemptsText(this.#info.attempt)}: the ${span(patienceMs)} of "modelPatience" are over)`,
      );
    }
    const wait = Math.min(this.#waitMs(failure, asked, count), Math.max(leftMs, asked ?? 0));
    const details: RefusedDetails = {
      ...(failure.details?.[0] as JsonObject | undefined),
      refused: { count, queuedMs: this.#before.queuedMs, givesUpAt: isoTime(Date.now() + leftMs) },
    };
    // Reaches the server together with the failure.
    Context.current().heartbeat(withUncountedAttempts(skippedAttempts(), details));
    return again(failure, wait, [details]);
  }

  #waitMs(failure: ApplicationFailure, asked: number | undefined, count: number): number {
    if (this.#parkedMs !== undefined) return this.#parkedMs;
    const growth = Math.min(GROWTH_MS.longest, GROWTH_MS.first * 2 ** Math.min(count - 1, 10));
    // A server that fails at one request does not limit the others, unless it asks for a pause, as an overloaded one does.
    if (this.#place !== undefined && (failure.type === 'model_rate_limited' || (asked ?? 0) >= PAUSE_MS)) {
      const { pace, sentAt } = this.#place;
      return pace.refused(this.call, sentAt, asked);
    }
    return Math.ceil((asked ?? growth / 2) + growth * Math.random());
  }

  /** The attempts that count, this one included. */
  #counted(): number {
    return attemptNumber() - this.#before.count;
  }

  /** The time since the first attempt has begun, by the server's clock up to this attempt. */
  #elapsedMs(): number {
    const { scheduledTimestampMs, currentAttemptScheduledTimestampMs } = this.#info;
    const before = currentAttemptScheduledTimestampMs - scheduledTimestampMs - this.#before.queuedMs;
    return Math.max(0, before) + performance.now() - this.#begun;
  }
}

function final({ type, details, cause, stack }: ApplicationFailure, message: string): ApplicationFailure {
  return withStack(new ApplicationFailure(message, type, true, details, cause), { stack }, NO_CHANGE);
}

function again(
  { message, type, cause, stack }: ApplicationFailure,
  waitMs: number,
  details: ApplicationFailure['details'],
): ApplicationFailure {
  return withStack(new ApplicationFailure(message, type, false, details, cause, Math.max(1, Math.ceil(waitMs))), { stack }, NO_CHANGE);
}

/** Formats a time: `45 s`, `10 min`, `2.5 h`, `10 d`. */
function span(ms: number): string {
  const [size, unit] =
    ms < 120_000 ? [1_000, 's'] : ms < 7_200_000 ? [60_000, 'min'] : ms < 172_800_000 ? [3_600_000, 'h'] : [86_400_000, 'd'];
  return `${Number((ms / size).toFixed(1))} ${unit}`;
}
