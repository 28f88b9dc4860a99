import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { activityInfo, getClient } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { LRUCache } from 'lru-cache';
import type { AgentSnapshot } from '../../src/core/domain/agent.ts';
import { defined } from '../../src/core/domain/json.ts';
import { errorMessage } from '../../src/core/domain/errors.ts';
import { didYouMean } from '../../src/core/domain/text.ts';
import type { Principal } from '../../src/core/domain/run.ts';
import {
  type ChildInputAnswer,
  type ChildInputQuestion,
  EVENTS_READ,
  type OfRun,
  QUERIES,
  type QueryingActivity,
  type RecordPage,
  type ResolveAgentInput,
  scopedName,
} from '../../src/core/protocol.ts';
import type { EventsOptions, ReadEvents } from '../../src/define/context.ts';
import { attemptInfo } from '../attempts/attempt-info.ts';
import { isRetryableQueryError, isUnanswered, retryQueryAfterMs } from '../../src/temporal/server-calls.ts';

/**
 * The time limit of each attempt of a query. A busy workflow task delays the answer without an error. If the server
 * sheds load from this run, it drops the query and never answers: then the next attempt helps, and should come soon.
 */
const QUERY_DEADLINES_MS = [1_000, 2_000, 5_000, 5_000, 5_000];
const PAUSE_MS = 50;

/** The time for which a query is repeated while the worker that receives it loads the run. */
const REPEAT_FOR_MS = 10_000;

/** The run that the current activity belongs to. */
export interface RunKey {
  /** The run across its executions: `namespace/workflowId`, and the key of a run inside a user's workflow. */
  chain: string;
  execution: string;
}

/** Identifies the run that the current activity belongs to. */
export function runKey({ run = '' }: OfRun): RunKey {
  const { workflowExecution: { workflowId = '', runId = '' } = {}, workflowNamespace: namespace = '' } = activityInfo();
  return keyOfRun({ namespace, workflowId, runId, key: run });
}

/** Identifies a run. `key`: of a run inside a user's workflow, otherwise empty. */
export function keyOfRun(run: { namespace: string; workflowId: string; runId: string; key: string }): RunKey {
  const chain = [run.namespace, run.workflowId, ...(run.key === '' ? [] : [run.key])].join('/');
  return { chain, execution: `${chain}@${run.runId}` };
}

/**
 * Returns the id of the run that the current activity belongs to: its workflow id, followed by its key if it runs inside a user's workflow.
 */
export function runIdOf({ run }: OfRun): string {
  const workflowId = activityInfo().workflowExecution?.workflowId ?? '';
  return run === undefined ? workflowId : `${workflowId}/${run}`;
}

/** Returns the workflow execution that the current activity belongs to: `namespace/workflowId/runId`. */
export function executionKey(): string {
  const { workflowExecution, workflowNamespace } = activityInfo();
  return [workflowNamespace, workflowExecution?.workflowId, workflowExecution?.runId].join('/');
}

/** Answers a query in place of the run. */
type AnswerQuery = (query: string, argument: unknown) => unknown;

const answers = new AsyncLocalStorage<AnswerQuery>();

/** Runs `work` with queries answered by `answer` instead of the run, which does not have the data yet. */
export function withRunAnswers<Result>(answer: AnswerQuery, work: () => Promise<Result>): Promise<Result> {
  return answers.run(answer, work);
}

/** Queries the run that the current activity belongs to, unless something answers in its place. */
export async function queryRun<Answer>(run: OfRun, query: string, argument: unknown): Promise<Answer> {
  const answer = answers.getStore();
  return answer === undefined ? askRun(run, query, argument) : ((await answer(query, argument)) as Answer);
}

/**
 * Queries the run that the current activity belongs to. The query names the execution by its run id, because another execution of the same
 * workflow id has different content. Throws `transcript_unavailable` (retryable) if the run does not answer.
 */
export async function askRun<Answer>({ run }: OfRun, query: string, argument: unknown): Promise<Answer> {
  const name = scopedName(query, run);
  const { workflowExecution, activityId } = activityInfo();
  const handle = getClient().workflow.getHandle(workflowExecution?.workflowId ?? '', workflowExecution?.runId);
  return queryHandle(name, () => handle.query<Answer, [unknown, QueryingActivity]>(name, argument, { activityId }));
}

/** Sends a query to a run, repeatedly for a bounded time. Throws `transcript_unavailable` (retryable) if the run does not answer. */
export async function queryHandle<Answer>(name: string, ask: () => Promise<Answer>): Promise<Answer> {
  const client = getClient();
  let last: unknown;
  for (const [retry, deadlineMs] of QUERY_DEADLINES_MS.entries()) {
    try {
      return await client.withDeadline(Date.now() + deadlineMs, () => untilAnswered(ask));
    } catch (error) {
      last = error;
      if (!isUnanswered(error)) break;
      await sleep(PAUSE_MS * (retry + 1));
    }
  }
  throw ApplicationFailure.create({
    type: 'transcript_unavailable',
    message: `The run did not answer the query "${name}": ${errorWithCause(last)}`,
  });
}

/** Repeats the query while the worker that receives it has to load the run. */
async function untilAnswered<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  const begun = Date.now();
  for (let tries = 1; ; tries += 1) {
    try {
      return await ask();
    } catch (error) {
      if (!isRetryableQueryError(error) || Date.now() - begun > REPEAT_FOR_MS) throw error;
      await sleep(retryQueryAfterMs(tries));
    }
  }
}

/** Adds the cause to the message: the SDK's own error only says which call failed. */
function errorWithCause(error: unknown): string {
  return error instanceof Error && error.cause !== undefined ? `${error.message} (${errorMessage(error.cause)})` : errorMessage(error);
}

/** Returns the function that lets users' code read its run's record. */
export function eventsOf(run: OfRun): ReadEvents {
  return async (options = {}) => {
    const question = checkedOptions(options);
    if (attemptInfo().isLocal) {
      throw new Error(
        'events: a call of a local tool, or of local code, cannot read the record, because its run answers nothing before the call has ended: write "tier": "remote"',
      );
    }
    const { from, firstOffset, events, total, cut } = await queryRun<RecordPage>(run, QUERIES.record, { ...question, steps: false });
    return {
      events: events.map((event, index) => ({ ...event, offset: from + index })),
      firstOffset,
      total,
      ...(cut ? { cut } : {}),
    };
  };
}

const EVENTS_OPTIONS = ['from', 'last', 'bytes'] as const satisfies readonly (keyof EventsOptions)[];

/** Returns the options with their defaults. Throws a TypeError for an invalid option. */
function checkedOptions(options: EventsOptions): EventsOptions & { bytes: number } {
  for (const key of Object.keys(options)) {
    if ((EVENTS_OPTIONS as readonly string[]).includes(key)) continue;
    throw new TypeError(`events: there is no option "${key}" (there are: ${EVENTS_OPTIONS.join(', ')})${didYouMean(key, EVENTS_OPTIONS)}`);
  }
  const { from, last, bytes = EVENTS_READ.bytes } = options;
  requireWhole('from', from, 0, Number.MAX_SAFE_INTEGER);
  requireWhole('last', last, 1, EVENTS_READ.mostEvents);
  requireWhole('bytes', bytes, 1, EVENTS_READ.mostBytes);
  return {
    ...defined({ from }),
    ...(from === undefined || last !== undefined ? { last: last ?? EVENTS_READ.events } : {}),
    bytes,
  };
}

function requireWhole(option: string, value: unknown, least: number, most: number): void {
  if (value === undefined || (typeof value === 'number' && Number.isSafeInteger(value) && value >= least && value <= most)) return;
  const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`;
  throw new TypeError(`events: "${option}" is ${JSON.stringify(value)}: write a whole number ${range}`);
}

/** Asks the parent of a run for the input and deps of its call, unless they are in the run's input. */
export async function openingOfCall({
  runId,
  eventId,
  index,
  ...parts
}: NonNullable<ResolveAgentInput['ofCall']>): Promise<ChildInputAnswer> {
  // The newest execution has the call for as long as the child runs.
  const handle = getClient().workflow.getHandle(runId);
  const question: ChildInputQuestion = { eventId, index };
  const { input, deps } = await queryHandle(QUERIES.childInput, () =>
    handle.query<ChildInputAnswer, [ChildInputQuestion]>(QUERIES.childInput, question),
  );
  return {
    ...(parts.input && input !== undefined ? { input } : {}),
    ...(parts.deps && deps !== undefined ? { deps } : {}),
  };
}

/** This process's snapshots, by digest: equal digests mean equal content, across runs. */
export class SnapshotCache {
  readonly #snapshots = new LRUCache<string, AgentSnapshot>({ max: 500 });

  add(snapshot: AgentSnapshot): void {
    this.#snapshots.set(snapshot.digest, snapshot);
  }

  /** Returns a snapshot if this process has it. */
  known(digest: string): AgentSnapshot | undefined {
    return this.#snapshots.get(digest);
  }

  /** Returns the snapshot of the run that the current activity belongs to. Queries the run if this process does not have it. */
  async load(run: OfRun, digest: string): Promise<AgentSnapshot> {
    const known = this.known(digest);
    if (known !== undefined) return known;
    const snapshot = await queryRun<AgentSnapshot>(run, QUERIES.snapshot, null);
    this.add(snapshot);
    return snapshot;
  }
}

/** The number of principals that a worker keeps. */
const MOST_PRINCIPALS = 10_000;

/**
 * Keeps the principals of runs, so that a worker asks each run once. The key is the execution, not the run id: another run with that id may
 * have another principal.
 */
export class PrincipalCache {
  readonly #principals = new LRUCache<string, { principal: Principal | undefined }>({ max: MOST_PRINCIPALS });

  /** Returns the principal of the run that the current activity belongs to, and asks the run for it if necessary. */
  async of(run: OfRun, ask: () => Promise<Principal | undefined>): Promise<Principal | undefined> {
    const { execution } = runKey(run);
    const known = this.#principals.get(execution) ?? { principal: await ask() };
    this.#principals.set(execution, known);
    return known.principal;
  }
}
