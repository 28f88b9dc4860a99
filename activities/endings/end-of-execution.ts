import { activityInfo, cancellationSignal, getClient } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { ActivityFunctions } from '../../src/core/activity-requests/contracts.ts';
import { type ErrorCode, errorMessage, LonghaulError } from '../../src/core/domain/errors.ts';
import { isJsonObject } from '../../src/core/domain/json.ts';
import { type Event, recordsInOrder } from '../../src/core/domain/record.ts';
import { RunResult, type RunResultFields } from '../../src/core/domain/result.ts';
import { identityOf, type Principal } from '../../src/core/domain/run.ts';
import { attemptsText, type StepResult } from '../../src/core/domain/tool-calls.ts';
import {
  type ArchiveEventsInput,
  type ContextPage,
  type DataView,
  type NotifyEndedInput,
  QUERIES,
  type StepsPage,
} from '../../src/core/protocol.ts';
import { readExecution, type ReadExecution } from '../../src/history/read-run.ts';
import type { ArchiveBatch, ArchiveSink } from '../../src/stores/file-archive.ts';
import { attemptInfo } from '../attempts/attempt-info.ts';
import { runAttempt, withTimeout } from '../attempts/attempt.ts';
import { NO_CHANGE, toFailure, withStack } from '../attempts/failure.ts';
import { queryRun, runIdOf } from '../run-queries/query-run.ts';
import { type ActivityRuntime, dataFor } from '../runtime.ts';

/** The activities at the end of an execution: archiving its record, and notifying the worker of the end of the run. */
export function endActivities(runtime: ActivityRuntime): Pick<ActivityFunctions, 'notifyEnded' | 'archiveEvents'> {
  return { notifyEnded: notifyEndedActivity(runtime), archiveEvents: archiveEventsActivity(runtime) };
}

/** The default of `notifyEndedTimeout`, in milliseconds. */
export const DEFAULT_NOTIFY_ENDED_MS = 300_000;

/**
 * Creates the activity that calls the worker's `notifyEnded` when a run has ended. A failed attempt is retried with the same id for
 * `notifyEndedTimeout`.
 */
function notifyEndedActivity(runtime: ActivityRuntime): (input: NotifyEndedInput) => Promise<void> {
  const { notifyEnded, notifyEndedTimeoutMs = DEFAULT_NOTIFY_ENDED_MS, resourcePool } = runtime;
  return (input) =>
    boundedAttempt(runtime, { totalMs: notifyEndedTimeoutMs, code: 'notification_failed' }, async (signal) => {
      if (notifyEnded === undefined) {
        throw new LonghaulError(
          'notification_failed',
          'This worker has no "notifyEnded", but the run was started by a worker that has one',
        );
      }
      const fields = await queryRun<RunResultFields<unknown> | null>(input, QUERIES.result, null);
      if (fields === null) throw new LonghaulError('notification_failed', `Run "${runIdOf(input)}" does not say how it has ended`);
      const { deps } = await queryRun<DataView>(input, QUERIES.data, null);
      const resources = await resourcePool.use();
      const { agentName, status } = input;
      const notice = { id: endingId(input), runId: runIdOf(input), agentName, status, result: new RunResult(fields) };
      await notifyEnded(notice, { deps: Object.freeze(deps), resources, signal });
    });
}

/**
 * Returns the id of a notice. A run ends once in each execution; if it is reset, or started again under its id, it ends
 * again in another execution.
 */
function endingId(input: NotifyEndedInput): string {
  return `${runIdOf(input)}/${activityInfo().workflowExecution?.runId ?? ''}`;
}

/**
 * Creates the activity that hands the record of an execution to the worker's archive. A failed attempt is retried for
 * `archiveTimeout`: the run waits for it.
 */
export function archiveEventsActivity(runtime: ActivityRuntime): (input: ArchiveEventsInput) => Promise<void> {
  const { archive, archiveTimeoutMs } = runtime;
  return (input) =>
    boundedAttempt(runtime, { totalMs: archiveTimeoutMs, code: 'archive_failed' }, async () => {
      if (archive !== undefined) return archiveExecution(runtime, archive, input);
      throw new LonghaulError('archive_failed', 'This worker has no archive, but the run was started by a worker that has one');
    });
}

async function archiveExecution(runtime: ActivityRuntime, archive: ArchiveSink, input: ArchiveEventsInput): Promise<void> {
  const { workflowNamespace } = activityInfo();
  const { principal } = await dataFor(runtime, { ...input, principal: true });
  const runId = runIdOf(input);
  const history = readOnce(input);
  const events = await readEvents(input, history);
  const { firstIndex, steps } = await readSteps(input, history);
  const records = [...recordsInOrder({ firstOffset: input.from, events, firstStep: firstIndex, steps })];
  const run = { namespace: workflowNamespace ?? '', runId };
  await archive.append({ run, ...actingFor(principal), from: input.from, through: input.through, records });
}

/** Returns the tenant and the user of a run, which never change. Claims are left out. */
function actingFor({ tenant, user }: Principal = {}): Pick<ArchiveBatch, 'principal'> {
  return tenant === undefined && user === undefined ? {} : { principal: identityOf({ tenant, user }) };
}

/** Reads the execution from its own history, which includes events and steps that are too large for a query's answer. */
type History = () => Promise<ReadExecution>;

function readOnce({ run }: ArchiveEventsInput): History {
  let reading: Promise<ReadExecution | undefined> | undefined;
  return async () => {
    const { workflowExecution } = activityInfo();
    if (run === undefined) reading ??= readExecution(getClient(), workflowExecution?.workflowId ?? '', workflowExecution?.runId ?? '');
    const read = await reading;
    if (read !== undefined) return read;
    throw new LonghaulError('payload_too_large', `Run "${run}" inside a workflow has a step that is too large to be archived`);
  };
}

async function readEvents(input: ArchiveEventsInput, history: History): Promise<Event[]> {
  const events: Event[] = [];
  for (let offset = input.from; offset < input.through; offset = input.from + events.length) {
    const page = await queryRun<ContextPage>(input, QUERIES.context, { from: offset });
    events.push(...(page.events.length > 0 ? page.events : [await largeEvent(offset, page, history)]));
  }
  return events.slice(0, input.through - input.from);
}

async function largeEvent(offset: number, { nextId }: ContextPage, history: History): Promise<Event> {
  const { firstOffset, events } = await history();
  const event = events[offset - firstOffset];
  if (event !== undefined) return nextId === undefined ? event : { ...event, id: nextId };
  throw new LonghaulError('archive_failed', `Event ${offset} of the run cannot be read`);
}

async function readSteps(input: ArchiveEventsInput, history: History): Promise<{ firstIndex: number; steps: StepResult[] }> {
  const first = await queryRun<StepsPage>(input, QUERIES.steps, { from: 0 });
  const { firstIndex, total } = first;
  const steps = [...first.steps];
  while (firstIndex + steps.length < total) {
    const page = await queryRun<StepsPage>(input, QUERIES.steps, { from: firstIndex + steps.length });
    const large = page.steps.length > 0 ? undefined : (await history()).steps[steps.length];
    if (page.steps.length === 0 && large === undefined) {
      throw new LonghaulError('archive_failed', `Step ${firstIndex + steps.length + 1} of the run cannot be read`);
    }
    steps.push(...(large === undefined ? page.steps : [large]));
  }
  return { firstIndex, steps };
}

/** The bound of an activity's attempts. */
interface AttemptBound {
  /** Milliseconds from the start of the first attempt. A failed attempt is the last one if the next would start after that. */
  totalMs: number;
  /** The code of failures without a code. */
  code: ErrorCode;
}

/** An attempt is aborted after this fraction of the total time: a fifth. */
const ATTEMPT_SHARE = 5;
/** Less than the five minutes that the server gives an attempt. */
const LONGEST_ATTEMPT_MS = 270_000;
/**
 * The wait after the first attempt is this fraction of the total time (a second of five minutes). It doubles with every attempt, up to the
 * time of one attempt.
 */
const FIRST_WAIT_SHARE = 300;

/**
 * Runs one attempt of an activity whose attempts together take a bounded time, and sets the delay of the next one. The
 * time counts from the start of the first attempt, which is passed on by heartbeat details, so that waiting for a
 * worker is not counted. A cancellation of the run does not affect the attempt; a shutdown of the worker ends it, and
 * another worker takes over.
 */
async function boundedAttempt<Result>(
  { aborts, heartbeatMs }: Pick<ActivityRuntime, 'aborts' | 'heartbeatMs'>,
  bound: AttemptBound,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const start = { begun: firstAttemptStart(attemptInfo().heartbeatDetails) ?? Date.now() };
  const stop = cancellationSignal();
  return runAttempt(aborts, { heartbeatMs, details: () => start }, async (current) => {
    try {
      return await withTimeout(work, { ms: longestAttemptMs(bound), stop });
    } catch (error) {
      // Reaches the server together with the failure.
      current.heartbeat(start);
      throw stop.aborted ? error : failureOf(error, bound, Date.now() - start.begun);
    }
  });
}

function longestAttemptMs({ totalMs }: AttemptBound): number {
  return Math.min(totalMs / ATTEMPT_SHARE, LONGEST_ATTEMPT_MS);
}

function firstAttemptStart(details: unknown): number | undefined {
  return isJsonObject(details) && typeof details['begun'] === 'number' ? details['begun'] : undefined;
}

/**
 * Returns the failure of an attempt, retryable only if there is time for another one. It sets every delay itself and
 * leaves none to the retry policy.
 */
function failureOf(error: unknown, bound: AttemptBound, elapsedMs: number): ApplicationFailure {
  const { attempt: attempts } = attemptInfo();
  const failure = toFailure(error, bound.code);
  const applicationFailure = failure instanceof ApplicationFailure ? failure : undefined;
  const doubled = (bound.totalMs / FIRST_WAIT_SHARE) * 2 ** (attempts - 1);
  const wait = applicationFailure?.nextRetryDelay ?? Math.max(1, Math.round(Math.min(doubled, longestAttemptMs(bound))));
  const isLast = applicationFailure?.nonRetryable === true || (typeof wait === 'number' && elapsedMs + wait > bound.totalMs);
  const message = applicationFailure?.message ?? errorMessage(error);
  const result = ApplicationFailure.create({
    type: applicationFailure?.type ?? bound.code,
    message: isLast ? `${message} (given up after ${attemptsText(attempts)} in ${(elapsedMs / 1000).toFixed(1)} s)` : message,
    nonRetryable: isLast,
    ...(isLast ? {} : { nextRetryDelay: wait }),
    ...(failure.cause === undefined ? {} : { cause: failure.cause as Error }),
  });
  return withStack(result, failure, NO_CHANGE);
}
