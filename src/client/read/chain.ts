import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import { ApplicationFailure, WorkflowNotFoundError } from '@temporalio/common';
import { decodeArrayFromPayloads, decodeOptionalFailureToOptionalError } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { optionalTsToDate } from '@temporalio/common/lib/time.js';
import { activityDetails, type Missing } from '../../core/domain/missing-definitions.ts';
import { refusedIn } from '../../core/domain/model.ts';
import { ACTIVITIES, PROGRAM_RUN, type RunningCall } from '../../core/protocol.ts';
import { type ChainedExecution, executionBeginning } from '../../history/execution-reader.ts';
import { runNotFound } from '../../temporal/run-outcome.ts';
import { hasEndedAs } from '../../temporal/run-state.ts';
import { withoutMemos } from '../../temporal/without-memos.ts';
import { requireRun } from '../listing/foreign-workflow.ts';
import { missingThings } from '../start/missing-things.ts';

/** The state of the newest execution of a run. */
export interface NewestExecution {
  executionId: string;
  /** The kind of run: of an agent or of a program. */
  kind: 'agent' | 'program';
  /** Temporal's name of the status. */
  status: string;
  /** True if the run has ended. */
  closed: boolean;
  /** The calls in progress. */
  running: RunningCall[];
  /** Things that calls wait for because no worker has had them so far. */
  missing: Missing[];
}

/** The executions of a run. An execution's data never changes, so each is looked up once. */
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
    try {
      const description = await withoutMemos(this.#client).workflow.getHandle(this.#runId).describe();
      const { status, runId, type } = description;
      requireRun(this.#client, this.#runId, type);
      const [running, missing] = await Promise.all([runningCalls(this.#client, description), missingThings(this.#client, description)]);
      const kind = type === PROGRAM_RUN ? 'program' : 'agent';
      return { executionId: runId, kind, status: status.name, closed: hasEndedAs(status.name), running, missing };
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) throw runNotFound(this.#client, this.#runId);
      throw error;
    }
  }

  /** Returns all executions that the server has, the oldest first: it removes the oldest first. Throws `run_not_found`. */
  async executions(): Promise<ChainedExecution[]> {
    const chain: ChainedExecution[] = [];
    let next: string | undefined = (await this.newest()).executionId;
    while (next !== undefined) {
      const execution: ChainedExecution | undefined = this.#known.get(next) ?? (await this.#lookUp(next));
      if (execution === undefined) break;
      chain.unshift(execution);
      next = execution.continuedFrom;
    }
    return chain;
  }

  async #lookUp(executionId: string): Promise<ChainedExecution | undefined> {
    const begun = await executionBeginning(this.#client, this.#runId, executionId);
    if (begun === undefined) return undefined;
    const { before, carry } = begun;
    const execution: ChainedExecution = {
      executionId,
      ...(before === undefined ? {} : { continuedFrom: before }),
      firstOffset: carry?.window.through ?? 0,
      firstStep: carry?.currentStep ?? 0,
      firstTurn: carry?.session?.turn?.number ?? (carry?.session?.turns ?? 0) + 1,
    };
    this.#known.set(executionId, execution);
    return execution;
  }
}

type Pending = NonNullable<WorkflowExecutionDescription['raw']['pendingActivities']>[number];

/** Returns the calls of a run that are in progress, as the server knows them: with the progress of their last heartbeat, and the attempt. */
export async function runningCalls(client: Client, { raw }: Pick<WorkflowExecutionDescription, 'raw'>): Promise<RunningCall[]> {
  const pending = (raw.pendingActivities ?? []).filter(({ activityType }) => isCall(activityType?.name));
  return Promise.all(pending.map((one) => runningCall(client, one)));
}

/** The server's state of an activity that no worker executes now: `PENDING_ACTIVITY_STATE_SCHEDULED`. */
const WAITS = 1;

/** Longhaul's own activities that depend on something outside: on the model, and on what the worker's options name. */
const SHOWN: readonly string[] = [
  ACTIVITIES.callModel,
  ACTIVITIES.summarise,
  ACTIVITIES.askStep,
  ACTIVITIES.useMemory,
  ACTIVITIES.storeOutputs,
  ACTIVITIES.loadOutput,
  ACTIVITIES.archiveEvents,
  ACTIVITIES.notifyWaiting,
  ACTIVITIES.notifyEnded,
];

/** True for those activities, and for tools. */
function isCall(name: string | null | undefined): boolean {
  const others: readonly unknown[] = Object.values(ACTIVITIES).filter((own) => !SHOWN.includes(own));
  return !others.includes(name);
}

async function runningCall(client: Client, pending: Pending): Promise<RunningCall> {
  const { activityType, attempt, heartbeatDetails, lastFailure } = pending;
  const converter = client.options.loadedDataConverter;
  const name = activityType?.name ?? '';
  // The heartbeats of Longhaul's own activities are for their next attempts (usage, start time): they report no progress.
  const [details] = SHOWN.includes(name) ? [] : await decodeArrayFromPayloads(converter, heartbeatDetails?.payloads);
  const progress = activityDetails(details);
  const failure = await decodeOptionalFailureToOptionalError(converter, lastFailure);
  return {
    name,
    attempt: attempt ?? 1,
    ...(progress === undefined || progress === null ? {} : { progress: progress as NonNullable<RunningCall['progress']> }),
    ...(failure === undefined ? {} : { lastFailure: failure.message }),
    ...refusedCall(pending, failure),
  };
}

/** Tells, for a model call that waits for its next attempt, when that is, and when the call is given up. The failure knows the latter. */
function refusedCall({ state, scheduledTime }: Pending, failure: unknown): Pick<RunningCall, 'refused'> {
  if (state !== WAITS || !(failure instanceof ApplicationFailure)) return {};
  const { count, givesUpAt } = refusedIn(failure.details?.[0]) ?? {};
  if (count === undefined || givesUpAt === undefined) return {};
  const next = optionalTsToDate(scheduledTime)?.toISOString();
  return {
    refused: { code: failure.type ?? 'model_error', times: count, ...(next === undefined ? {} : { nextAttemptAt: next }), givesUpAt },
  };
}
