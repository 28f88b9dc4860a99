import { type Client, QueryNotRegisteredError, type WorkflowExecutionDescription } from '@temporalio/client';
import { ApplicationFailure, WorkflowNotFoundError } from '@temporalio/common';
import { decodeArrayFromPayloads, decodeOptionalFailureToOptionalError } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { optionalTsToDate } from '@temporalio/common/lib/time.js';
import { isOwnActivity, traitsOf } from '../core/activity-requests/contracts.ts';
import type { ApprovalView, RememberedDecision } from '../core/domain/approvals.ts';
import { batchedCallKey, type CallPlace, registrationIn } from '../core/domain/batch.ts';
import { type ApprovalsPage, COLLECTOR_QUERIES, collectorId, PROGRAM_RUN, QUERIES, type RunningCall } from '../core/protocol.ts';
import { defined } from '../core/domain/json.ts';
import { errorMessage } from '../core/domain/errors.ts';
import { activityDetails, type Missing } from '../core/domain/missing-definitions.ts';
import { refusalDetails } from '../core/domain/model.ts';
import type { RunStatus, RunSubject } from '../core/domain/run.ts';
import type { ChainedExecution } from '../history/execution-reader.ts';
import { describeRun, hasEndedAs, runNotFound } from '../temporal/run-workflow.ts';
import { GRPC, grpcCode, isRetryableQueryError, isUnanswered, retryQueryAfterMs } from '../temporal/server-calls.ts';
import { sleep } from '../temporal/waiting.ts';
import { missingThings } from './missing-workers.ts';
import { requireRun } from './visibility.ts';
import { waitingTask, type WaitingTask } from './worker-waits.ts';
import { sessionOf } from '../core/domain/sessions.ts';

/** The state of the newest execution of a run. */
export interface NewestExecution {
  executionId: string;
  /** Whether it is the run of an agent or of a program. */
  kind: 'agent' | 'program';
  /** Temporal's name of the status. */
  status: string;
  /** True if the run has ended. */
  closed: boolean;
  /** When the server closed it, ISO 8601. Undefined while the run is running. */
  endTime?: string;
  /** The calls in progress. */
  running: RunningCall[];
  /** What calls wait for because no worker has had it so far. */
  missing: Missing[];
  /** The task that has waited for a worker for some seconds. */
  waitingTask?: WaitingTask;
  /** The task queue of the run. */
  taskQueue: string;
}

/** The chain of executions of a run. Each is looked up once, since its data never changes. */
export class RunChain {
  readonly #client: Client;
  readonly #runId: string;
  readonly #known = new Map<string, ChainedExecution>();

  constructor(client: Client, runId: string) {
    this.#client = client;
    this.#runId = runId;
  }

  /** Returns the newest execution. Throws `run_not_found`, and `not_a_run` for a workflow of the user's own. */
  async newest(): Promise<NewestExecution> {
    const description = await describeRun(this.#client, this.#runId);
    const { status, runId, type, closeTime } = description;
    requireRun(this.#client, this.#runId, type);
    const [running, missing] = await Promise.all([runningCalls(this.#client, description), missingThings(this.#client, description)]);
    const kind = type === PROGRAM_RUN ? 'program' : 'agent';
    const closed = hasEndedAs(status.name);
    const task = defined({ waitingTask: waitingTask(description), endTime: closed ? closeTime?.toISOString() : undefined });
    const { taskQueue } = description;
    return { executionId: runId, kind, status: status.name, closed, running, missing, taskQueue, ...task };
  }

  /** Returns all executions that the server has, oldest first: the server removes the oldest first. Throws `run_not_found`. */
  async executions(): Promise<ChainedExecution[]> {
    return this.endingWith((await this.newest()).executionId);
  }

  /** Returns an execution and those that it continues, oldest first, as far as the server has them. */
  async endingWith(executionId: string): Promise<ChainedExecution[]> {
    const chain: ChainedExecution[] = [];
    let next: string | undefined = executionId;
    while (next !== undefined) {
      const execution: ChainedExecution | undefined = this.#known.get(next) ?? (await this.#lookUp(next));
      if (execution === undefined) break;
      chain.unshift(execution);
      next = execution.continuedFrom;
    }
    return chain;
  }

  async #lookUp(executionId: string): Promise<ChainedExecution | undefined> {
    const { executionBeginning } = await import('../history/execution-reader.ts');
    const begun = await executionBeginning(this.#client, this.#runId, executionId);
    if (begun === undefined) return undefined;
    const { before, continuedState } = begun;
    const session = sessionOf(continuedState ?? {});
    const execution: ChainedExecution = {
      executionId,
      ...defined({ continuedFrom: before }),
      firstOffset: continuedState?.window.through ?? 0,
      firstStep: continuedState?.currentStep ?? 0,
      firstTurn: session?.turn?.number ?? (session?.turns ?? 0) + 1,
    };
    this.#known.set(executionId, execution);
    return execution;
  }
}

type Pending = NonNullable<WorkflowExecutionDescription['raw']['pendingActivities']>[number];

/** Returns the calls in progress as the server knows them, with their attempt and the progress in their last heartbeat. */
export async function runningCalls(client: Client, { raw, runId = '', taskQueue = '' }: DescribedExecution): Promise<RunningCall[]> {
  const pending = (raw.pendingActivities ?? []).filter(({ activityType }) => isCall(activityType?.name ?? ''));
  return Promise.all(pending.map((one) => runningCall(client, { runId, taskQueue }, one)));
}

/** An execution as the server describes it. */
interface DescribedExecution
  extends Pick<WorkflowExecutionDescription, 'raw'>, Partial<Pick<WorkflowExecutionDescription, 'runId' | 'taskQueue'>> {}

/** The facts about an execution that its calls lack. */
type OfExecution = Pick<WorkflowExecutionDescription, 'runId' | 'taskQueue'>;

/** The server's state of an activity that no worker executes now: `PENDING_ACTIVITY_STATE_SCHEDULED`. */
const WAITS = 1;

/** True for tools, and for Longhaul's own activities that depend on an external service. */
function isCall(name: string): boolean {
  return !isOwnActivity(name) || traitsOf(name).progress !== undefined;
}

async function runningCall(client: Client, execution: OfExecution, pending: Pending): Promise<RunningCall> {
  const { activityType, attempt, heartbeatDetails, lastFailure } = pending;
  const converter = client.options.loadedDataConverter;
  const name = activityType?.name ?? '';
  // The heartbeats of Longhaul's own activities carry data for the next attempt (usage, start time), not progress.
  const [details] = isOwnActivity(name) ? [] : await decodeArrayFromPayloads(converter, heartbeatDetails?.payloads);
  const progress = activityDetails(details);
  const failure = await decodeOptionalFailureToOptionalError(converter, lastFailure);
  return {
    name,
    attempt: attempt ?? 1,
    ...(progress === undefined || progress === null ? {} : { progress: progress as NonNullable<RunningCall['progress']> }),
    ...defined({ lastFailure: failure?.message }),
    ...refusedModelCall(pending, failure),
    ...(await batchedModelCall(client, execution, pending, failure)),
  };
}

/** Returns when a waiting model call makes its next attempt, and when it gives up. The failure holds the latter. */
function refusedModelCall({ state, scheduledTime }: Pending, failure: unknown): Pick<RunningCall, 'refused'> {
  if (state !== WAITS || !(failure instanceof ApplicationFailure)) return {};
  const { count, givesUpAt } = refusalDetails(failure.details?.[0]) ?? {};
  if (count === undefined || givesUpAt === undefined) return {};
  const next = optionalTsToDate(scheduledTime)?.toISOString();
  return {
    refused: { code: failure.type ?? 'model_error', times: count, ...defined({ nextAttemptAt: next }), givesUpAt },
  };
}

/** Returns the batch that a model call waits for: its collector knows it. */
async function batchedModelCall(
  client: Client,
  { runId, taskQueue }: OfExecution,
  { state, activityId }: Pending,
  failure: unknown,
): Promise<Pick<RunningCall, 'waitsForBatch'>> {
  if (state !== WAITS || !(failure instanceof ApplicationFailure)) return {};
  const registered = registrationIn(failure.details?.[0]);
  if (registered === undefined) return {};
  const collector = collectorId(registered.provider, registered.collector, taskQueue);
  const key = batchedCallKey({ runId, activityId: activityId ?? '' });
  const [place] = (await queryRun<CallPlace[]>(client, collector, COLLECTOR_QUERIES.calls, [key]).catch(() => undefined)) ?? [];
  const since = new Date(registered.since).toISOString();
  if (place?.state !== 'in_batch') return { waitsForBatch: { collector, since } };
  return { waitsForBatch: { collector, since, batch: place.seq, ...defined({ id: place.id }) } };
}

/** The time limit of a query, after which the history is read instead: without a worker a query does not return. */
const QUERY_DEADLINE_MS = 3_000;

/** The pause between two attempts. The first task of the next execution may take the server up to a second. */
const SWITCH_PAUSE_MS = 100;

/** How long a query is repeated if the worker had to load the run. If a run was ended with unhandled events, only history has them. */
const ASK_AGAIN_FOR_MS = 1_500;

/** Returns the answer of a query to the newest execution, or undefined if no worker answered in time. Throws `run_not_found`. */
export function queryRun<Answer>(client: Client, runId: string, query: string, argument?: unknown): Promise<Answer | undefined> {
  return sendQuery(client, runId, { query, argument, askAgainForMs: ASK_AGAIN_FOR_MS });
}

/** As `queryRun`, and also returns undefined if the worker had to load the run and asks for a second query. */
export function queryLoadedRun<Answer>(client: Client, runId: string, query: string, argument?: unknown): Promise<Answer | undefined> {
  return sendQuery(client, runId, { query, argument, askAgainForMs: 0 });
}

interface RunQuery {
  query: string;
  argument: unknown;
  askAgainForMs: number;
}

async function sendQuery<Answer>(client: Client, runId: string, { query, argument, askAgainForMs }: RunQuery): Promise<Answer | undefined> {
  const handle = client.workflow.getHandle(runId);
  const begun = Date.now();
  const deadline = begun + QUERY_DEADLINE_MS;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await client.withDeadline(deadline, () => handle.query<Answer, [unknown]>(query, argument ?? null));
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) throw runNotFound(client, runId);
      if (isSwitching(error) && Date.now() + SWITCH_PAUSE_MS < deadline) await sleep(SWITCH_PAUSE_MS);
      // The server refused the query because another one waits for the same workflow task.
      else if (grpcCode(error) === GRPC.resourceExhausted && Date.now() < deadline) await sleep(retryQueryAfterMs(attempt));
      else if (isRetryableQueryError(error) && Date.now() - begun < askAgainForMs) await sleep(retryQueryAfterMs(attempt));
      else if (error instanceof QueryNotRegisteredError || isUnanswered(error)) return undefined;
      else throw error;
    }
  }
}

/** True if the execution has no first task yet. */
function isSwitching(error: unknown): boolean {
  if (grpcCode(error) !== GRPC.failedPrecondition || !(error instanceof Error)) return false;
  return `${error.message} ${errorMessage(error.cause)}`.includes('is not scheduled yet');
}

/** The pending approvals of a run and of its children, and its remembered decisions. */
export interface RunApprovals {
  /** The version of this form: 1. */
  version: 1;
  /** The run that waits. */
  runId: string;
  /** The agent of the run. */
  agentName: string;
  /** What an approver needs to know about the run. Approvals of its children have their own. */
  about: RunSubject;
  /** The status of the run at the time of the query. */
  status: RunStatus;
  /**
   * The pending approvals in the order in which they began to wait, followed by the approvals of the children that the run waits for.
   * Empty once the run has ended.
   */
  pending: ApprovalView[];
  /** Decisions that apply to further calls, until they are revoked. */
  remembered: RememberedDecision[];
}

/** The pending approvals of a run, without its children's. */
export interface OwnApprovals extends RunApprovals {
  /** The children that the run waits for. */
  children?: string[];
}

/** Retries when the list changes between pages. */
const ATTEMPTS = 5;

/** Queries the approvals of the newest execution, page by page; undefined if no worker answers. */
export async function queryApprovals(client: Client, runId: string): Promise<OwnApprovals | undefined> {
  for (let attempt = 1; ; attempt += 1) {
    const pending: ApprovalView[] = [];
    let page: ApprovalsPage | undefined;
    let isSame = true;
    do {
      const before: number | undefined = page?.total;
      page = await queryRun<ApprovalsPage>(client, runId, QUERIES.approvals, { from: pending.length });
      if (page === undefined) return undefined;
      pending.push(...page.pending);
      // A decision made meanwhile shifts the list: the next page would skip an entry.
      isSame = before === undefined || before === page.total;
    } while (isSame && page.pending.length > 0 && pending.length < page.total);
    const { agentName, about, status, remembered, children } = page;
    if (!isSame && attempt < ATTEMPTS) continue;
    return { version: 1, runId, agentName, about, status, pending, remembered, ...defined({ children }) };
  }
}
