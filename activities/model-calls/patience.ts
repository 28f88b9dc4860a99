import { activityInfo } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { msToNumber } from '@temporalio/common/lib/time.js';
import { type ActivityTiming, DEFAULT_PATIENCE_MS } from '../../src/core/domain/agent.ts';
import { registrationIn } from '../../src/core/domain/batch.ts';
import { attemptsText } from '../../src/core/domain/tool-calls.ts';
import { ATTEMPTS_USED_UP, withUncountedAttempts } from '../../src/core/domain/missing-definitions.ts';
import { isJsonObject, type JsonObject } from '../../src/core/domain/json.ts';
import {
  believedQueueMs,
  type ModelCallContext,
  type ModelClient,
  type ModelRequest,
  refusalDetails,
  type RefusedDetails,
} from '../../src/core/domain/model.ts';
import { isoTime } from '../../src/core/domain/time.ts';
import { attemptNumber, lastDetails, skippedAttempts } from '../attempts/attempt.ts';
import { attemptInfo, type ParkedAttempt, parkedFailure } from '../attempts/attempt-info.ts';
import { NO_CHANGE, type SerializableFailure, withStack } from '../attempts/failure.ts';

/** Failures that are not the request's fault: the provider cannot serve it now. */
const REFUSALS: readonly unknown[] = ['model_rate_limited', 'model_server_error'];

/** The growing waits of a repeatedly refused call, in milliseconds. */
const GROWTH_MS = { first: 1_000, longest: 30_000 };
/** A shorter wait for a worker is not worth a field in each heartbeat. */
const LONG_QUEUE_MS = 10_000;
/** A failing server that asks for at least this wait is taken to ask for a pause, which also applies to other calls. */
const PAUSE_MS = 1_000;
/** The waits after other failures, as in the activity's retry policy. */
const BACKOFF_MS = { first: 1_000, longest: 60_000 };

/**
 * Decides about the next attempt of a model call. Refusals (429, 5xx) are bounded by time, the patience of the agent, and do not count as
 * attempts; all other failures are bounded by their number. The server's limit of attempts is only the last resort, for a call whose
 * heartbeats, which carry the count, were lost.
 */
export class Patience {
  readonly #begun = performance.now();
  readonly #info = attemptInfo();
  readonly #before: { count: number; queuedMs: number };
  #timing: Pick<ActivityTiming, 'modelMaxAttempts' | 'modelPatienceMs'> | undefined;
  #place: { pace: Pace; sentAt: number } | undefined;
  #askedMs: number | undefined;
  #parkedMs: number | undefined;

  constructor() {
    const { attempt, scheduledTimestampMs } = this.#info;
    // The time that the call waited for a worker is not the provider's. The clocks of server and worker may differ.
    const queuedMs = attempt === 1 ? believedQueueMs(Date.now() - scheduledTimestampMs) : 0;
    const known = lastDetails();
    const before = refusalDetails(known) ?? { count: 0, queuedMs };
    // A call that waits for a batch has done nothing else since its registration.
    const batchedMs = Date.now() - (registrationIn(known)?.since ?? Infinity);
    this.#before = { ...before, queuedMs: Math.max(before.queuedMs, batchedMs) };
  }

  /** Sets the bounds. Throws if all allowed attempts were lost with their workers, or timed out. */
  bind(timing: Pick<ActivityTiming, 'modelMaxAttempts' | 'modelPatienceMs'>): void {
    this.#timing = timing;
    const before = this.#counted() - 1;
    if (before < timing.modelMaxAttempts) return;
    throw ApplicationFailure.nonRetryable(`Its worker was lost, or gave no answer in time (${attemptsText(before)})`, ATTEMPTS_USED_UP);
  }

  /** The key of the call, which identifies its place in the queue. */
  get call(): string {
    const { workflowExecution, activityId } = activityInfo();
    return `${workflowExecution?.runId ?? ''}/${activityId}`;
  }

  /** True for an attempt after a wait, which is over by the server's clock, but not necessarily by the queue's. */
  get hasWaited(): boolean {
    return this.#before.count > 0;
  }

  /** The maximum time that the attempt may wait for its place before it sends the request. */
  get holdMs(): number {
    // A call that comes back for its place is near it; others release their worker slot.
    return this.#before.count > 0 ? this.#info.startToCloseTimeoutMs / 2 : Math.min(5_000, this.#info.startToCloseTimeoutMs / 10);
  }

  /** The details that every heartbeat must repeat for the next attempt. */
  get details(): RefusedDetails | undefined {
    const { count, queuedMs } = this.#before;
    return count === 0 && queuedMs < LONG_QUEUE_MS ? undefined : { refused: { count, queuedMs } };
  }

  /** Records a failed request: its queue, and the wait that the provider asks for, which a failure may have cut to a day. */
  failed(pace: Pace | undefined, sentAt: number, askedMs: number | undefined): void {
    this.#place = pace === undefined ? undefined : { pace, sentAt };
    this.#askedMs = askedMs;
  }

  /** Records that the request is not sent now, because its place in the queue is too far away. */
  parked(ms: number): void {
    this.#parkedMs = ms;
  }

  /** Returns the failure of a parked attempt. The time until the next one does not count towards the patience. */
  parkedFailure(parked: ParkedAttempt): ApplicationFailure {
    if (parked.isNoted) return parkedFailure(parked);
    const { count, queuedMs } = this.#before;
    const known = lastDetails();
    const waitedMs = Math.round(queuedMs + performance.now() - this.#begun + parked.waitMs);
    const noted = withUncountedAttempts(skippedAttempts() + 1, {
      ...(isJsonObject(known) ? known : {}),
      ...parked.kept,
      refused: { count, queuedMs: waitedMs },
    });
    // Reaches the server together with the failure.
    this.#info.heartbeat(noted);
    return parkedFailure(parked);
  }

  /** Returns the failure for the server: final, or with the delay of the next attempt. */
  settled(failure: SerializableFailure): SerializableFailure {
    if (!(failure instanceof ApplicationFailure) || failure.nonRetryable === true || this.#timing === undefined) return failure;
    const patienceMs = this.#timing.modelPatienceMs ?? DEFAULT_PATIENCE_MS;
    const asked = this.#askedMs ?? (failure.nextRetryDelay ? msToNumber(failure.nextRetryDelay) : undefined);
    if (patienceMs > 0 && REFUSALS.includes(failure.type)) return this.#refused(failure, patienceMs, asked);
    if (this.#counted() >= this.#timing.modelMaxAttempts) return finalFailure(failure, failure.message);
    // The server's own back-off would also count the refusals.
    const backoff = Math.min(BACKOFF_MS.longest, BACKOFF_MS.first * 2 ** (this.#counted() - 1));
    return this.#before.count === 0 ? failure : retryFailure(failure, asked ?? backoff, failure.details);
  }

  #refused(failure: ApplicationFailure, patienceMs: number, asked: number | undefined): ApplicationFailure {
    const leftMs = patienceMs - this.#elapsedMs();
    const count = this.#before.count + 1;
    const { message } = failure;
    if (asked !== undefined && asked > Math.max(leftMs, 0) && this.#parkedMs === undefined) {
      const rest = leftMs <= 0 ? 'nothing is' : `${timeText(leftMs)} are`;
      return finalFailure(
        failure,
        `${message} (given up: the provider asks for a wait of ${timeText(asked)}, and ${rest} left of the ${timeText(patienceMs)} of "modelPatience")`,
      );
    }
    if (leftMs <= 0) {
      return finalFailure(
        failure,
        `${message} (given up after ${attemptsText(this.#info.attempt)}: the ${timeText(patienceMs)} of "modelPatience" are over)`,
      );
    }
    const wait = Math.min(this.#waitMs(failure, asked, count), Math.max(leftMs, asked ?? 0));
    const details: RefusedDetails = {
      ...(failure.details?.[0] as JsonObject | undefined),
      refused: { count, queuedMs: this.#before.queuedMs, givesUpAt: isoTime(Date.now() + leftMs) },
    };
    // Reaches the server together with the failure.
    this.#info.heartbeat(withUncountedAttempts(skippedAttempts(), details));
    return retryFailure(failure, wait, [details]);
  }

  #waitMs(failure: ApplicationFailure, asked: number | undefined, count: number): number {
    if (this.#parkedMs !== undefined) return this.#parkedMs;
    const growth = Math.min(GROWTH_MS.longest, GROWTH_MS.first * 2 ** Math.min(count - 1, 10));
    // A server error of one request does not slow others, unless the server asks for a pause, as an overloaded one does.
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

  /** The time since the first attempt began, by the server's clock up to this attempt. */
  #elapsedMs(): number {
    const { scheduledTimestampMs, currentAttemptScheduledTimestampMs } = this.#info;
    const before = currentAttemptScheduledTimestampMs - scheduledTimestampMs - this.#before.queuedMs;
    return Math.max(0, before) + performance.now() - this.#begun;
  }
}

function finalFailure({ type, details, cause, stack }: ApplicationFailure, message: string): ApplicationFailure {
  return withStack(new ApplicationFailure(message, type, true, details, cause), { stack }, NO_CHANGE);
}

function retryFailure(
  { message, type, cause, stack }: ApplicationFailure,
  waitMs: number,
  details: ApplicationFailure['details'],
): ApplicationFailure {
  return withStack(new ApplicationFailure(message, type, false, details, cause, Math.max(1, Math.ceil(waitMs))), { stack }, NO_CHANGE);
}

/** Formats a time: `45 s`, `10 min`, `2.5 h`, `10 d`. */
function timeText(ms: number): string {
  const [size, unit] =
    ms < 120_000 ? [1_000, 's'] : ms < 7_200_000 ? [60_000, 'min'] : ms < 172_800_000 ? [3_600_000, 'h'] : [86_400_000, 'd'];
  return `${Number((ms / size).toFixed(1))} ${unit}`;
}

/** The first spacing of requests after a refusal, in milliseconds, if earlier answers prove no higher rate. */
const FIRST_SPACING_MS = 400;
/** Requests keep this margin from the rate that has worked. */
const MARGIN = 1.25;
const LONGEST_SPACING_MS = 60_000;
/** A refusal of a spaced request widens the spacing; a number of answers in a row narrows it a little. */
const WIDER = 1.5;
const NARROWER = 0.9;
const ANSWERS_TO_NARROW = 20;
/** The pause after a refusal that asks for none. It doubles as long as the next request is also refused. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
/** The spacing varies by a fifth, so that processes do not synchronize. */
const JITTER = 0.2;
/** The share of the spacing that requests keep even if timers were late. */
const LEAST_GAP = 0.9;
/** The time without a refusal after which requests are no longer spaced, once nothing waits. */
const WATCHED_MS = 10_000;
/** The time after which the place of a call that did not come back is freed: it was cancelled, or another worker has it. */
const LOST_MS = 10_000;
/** Places are assigned this far ahead. Further calls come back later, without a place. */
const HORIZON_MS = 120_000;
const MOST_PLACES = 1_000;
/** The number of answers whose times are remembered. */
const REMEMBERED = 64;

/** The clock and the random source of a pace. */
interface PaceSources {
  /** Milliseconds of a clock that never goes back. */
  now: () => number;
  /** A number from 0 to 1. */
  random: () => number;
}

/**
 * Spaces this process's requests that share one provider limit, while the provider refuses some.
 *
 * A call that waits alone cannot know how many others wait: thirty calls that are refused together and come back after the same second are
 * refused together again, and jitter spreads them over less than they need. So each refused call takes a place in one queue, with a spacing
 * that is learnt from answers and refusals, and later calls queue after it. After a pause the first call of the queue is the probe for all.
 * Without refusals there is no queue, and a call costs one comparison.
 *
 * It only delays. A lost place, another process, or a clock jump cost at most a refusal, which can happen at any time.
 */
export class Pace {
  readonly #sources: PaceSources;
  /** The times at which waiting calls may be sent. */
  readonly #places = new Map<string, number>();
  readonly #answers: number[] = [];
  #spacingMs = FIRST_SPACING_MS;
  #pauseMs = FIRST_PAUSE_MS;
  #inARow = 0;
  /** The time of the next free place. */
  #nextAt = -Infinity;
  #sentAt = -Infinity;
  #refusedAt = -Infinity;

  constructor(sources: PaceSources) {
    this.#sources = sources;
  }

  /** Returns 0 if the call may be sent now, and then it must be sent; otherwise the milliseconds until its place, which it keeps. */
  waitFor(call: string): number {
    if (this.#refusedAt === -Infinity) return 0;
    const now = this.#sources.now();
    if (!this.#isWatching(now)) return 0;
    const at = this.#places.get(call) ?? this.#place(call, now);
    const wait = Math.max(at, this.#sentAt + this.#spacingMs * LEAST_GAP) - now;
    if (wait >= 1) return Math.ceil(wait);
    this.#places.delete(call);
    this.#sentAt = now;
    return 0;
  }

  /** Returns the milliseconds that a call would have to wait now, without assigning a place. */
  waitOf(call: string): number {
    if (this.#refusedAt === -Infinity) return 0;
    const now = this.#sources.now();
    if (!this.#isWatching(now)) return 0;
    const at = this.#places.get(call) ?? this.#nextAt;
    return Math.max(0, Math.ceil(Math.max(at, this.#sentAt + this.#spacingMs * LEAST_GAP) - now));
  }

  /** Lets a call go before its place if no other one waits. Returns false if one does. */
  goAlone(call: string): boolean {
    if (this.#places.size !== 1 || !this.#places.delete(call)) return false;
    this.#sentAt = this.#sources.now();
    return true;
  }

  /** Frees the place of a call. */
  leave(call: string): void {
    this.#places.delete(call);
  }

  /** Learns from an answer to a request that was sent at `sentAt`. */
  answered(sentAt: number): void {
    if (this.#answers.length >= REMEMBERED) this.#answers.shift();
    this.#answers.push(this.#sources.now());
    if (sentAt <= this.#refusedAt) return;
    this.#pauseMs = FIRST_PAUSE_MS;
    this.#inARow += 1;
    if (this.#inARow % ANSWERS_TO_NARROW === 0) this.#spacingMs = Math.max(1, this.#spacingMs * NARROWER);
  }

  /**
   * Assigns the next place to a call that was sent at `sentAt` and refused. Returns the milliseconds until then, which are at least
   * `askedMs`, the wait that the provider asked for.
   */
  refused(call: string, sentAt: number, askedMs: number | undefined): number {
    const { now, random } = this.#sources;
    const at = now();
    // Requests that were sent before the last refusal arrived say nothing new.
    const isNews = sentAt > this.#refusedAt;
    if (!this.#isWatching(at)) this.#begin(at);
    else if (isNews) {
      this.#spacingMs = Math.min(LONGEST_SPACING_MS, this.#spacingMs * WIDER);
      this.#pauseMs = Math.min(LONGEST_PAUSE_MS, this.#pauseMs * 2);
    }
    this.#inARow = 0;
    this.#refusedAt = at;
    const pause = askedMs === undefined ? this.#pauseMs : askedMs + this.#pauseMs - FIRST_PAUSE_MS;
    const from = at + pause + random() * JITTER * this.#spacingMs;
    if (isNews) this.#postpone(call, from);
    this.#nextAt = Math.max(this.#nextAt, at + (askedMs ?? 0));
    const place = this.#places.get(call) ?? this.#place(call, at + (askedMs ?? 0));
    return Math.ceil(Math.max(1, askedMs ?? 0, place - at));
  }

  /** The spacing of requests, in milliseconds. */
  get spacingMs(): number {
    return this.#spacingMs;
  }

  get waiting(): number {
    return this.#places.size;
  }

  #isWatching(now: number): boolean {
    for (const [call, at] of this.#places) if (at < now - LOST_MS) this.#places.delete(call);
    return this.#places.size > 0 || now < this.#nextAt || now < this.#refusedAt + WATCHED_MS;
  }

  #begin(now: number): void {
    const inLastSecond = this.#answers.filter((at) => at > now - 1_000).length;
    this.#spacingMs = Math.min(FIRST_SPACING_MS, (1_000 * MARGIN) / Math.max(1, inLastSecond));
    this.#pauseMs = FIRST_PAUSE_MS;
  }

  /** Puts the refused call at the front of the queue, which begins again at that time. */
  #postpone(call: string, from: number): void {
    const waiting = [...this.#places].filter(([other]) => other !== call).toSorted(([, one], [, other]) => one - other);
    this.#nextAt = from;
    this.#places.clear();
    for (const [one, at] of [[call, from] as const, ...waiting]) {
      const place = Math.max(at, this.#nextAt);
      this.#places.set(one, place);
      this.#nextAt = place + this.#distance();
    }
  }

  /** Returns the time of the next free place, which the call gets unless the queue is full. */
  #place(call: string, from: number): number {
    const at = Math.max(from, this.#nextAt);
    if (this.#places.size >= MOST_PLACES || at - from > HORIZON_MS) return from + HORIZON_MS * (0.5 + this.#sources.random() / 2);
    this.#places.set(call, at);
    this.#nextAt = at + this.#distance();
    return at;
  }

  #distance(): number {
    return this.#spacingMs * (1 + this.#sources.random() * JITTER);
  }
}

const SOURCES: PaceSources = { now: () => performance.now(), random: Math.random };
/** The maximum number of remembered limits: a worker may have a key for each tenant. */
const MOST_PACES = 1_000;
const paces = new Map<string, Pace>();
const pacesOfClients = new WeakMap<ModelClient, Map<string, Pace>>();

/** Returns the pace for a request. Undefined: the client says that no limit counts it. */
export function paceOf(client: ModelClient, request: ModelRequest, context: Pick<ModelCallContext, 'tags'>): Pace | undefined {
  if (client.rateLimitKey !== undefined) {
    const key = client.rateLimitKey(request, context);
    return key === undefined ? undefined : paceIn(paces, key);
  }
  const ofClient = pacesOfClients.get(client) ?? new Map<string, Pace>();
  pacesOfClients.set(client, ofClient);
  return paceIn(ofClient, request.model);
}

function paceIn(known: Map<string, Pace>, key: string): Pace {
  const pace = known.get(key) ?? new Pace(SOURCES);
  // Moves it to the end: the newest is last.
  known.delete(key);
  known.set(key, pace);
  const [oldest] = known.keys();
  if (oldest !== undefined && known.size > MOST_PACES) known.delete(oldest);
  return pace;
}
