import { type ActivityOptions, ApplicationFailure, CancelledFailure, ChildWorkflowFailure, type Priority } from '@temporalio/common';
import {
  CancellationScope,
  ChildWorkflowCancellationType,
  executeChild,
  ParentClosePolicy,
  uuid4,
  workflowInfo,
} from '@temporalio/workflow';
import type { FlowInput, ModelSettings } from '../src/core/domain/agent.ts';
import type { Tier } from '../src/core/domain/batch.ts';
import type { ContentPart } from '../src/core/domain/content.ts';
import { defined, isJsonObject } from '../src/core/domain/json.ts';
import { errorMessage } from '../src/core/domain/errors.ts';
import { type LimitChanges, type LimitOptions, limitsWithDeadline, plainLimits } from '../src/core/domain/limits.ts';
import type { ModelName } from '../src/core/domain/model.ts';
import { isRunResult, RunResult, type RunResultFields } from '../src/core/domain/result.ts';
import { openingOf, openingText, overridesIn, priorityFrom, priorityProblem, type RunOpening } from '../src/core/domain/run-input.ts';
import type { Principal } from '../src/core/domain/run.ts';
import { summaryText } from '../src/core/domain/text.ts';
import type { Duration } from '../src/core/domain/time.ts';
import type { ContinueAsNewState } from '../src/core/kernel/continue-as-new.ts';
import { ACTIVITIES, AGENT_RUN, type ContinuedInput, type ReadResultInput, type RunInput } from '../src/core/protocol.ts';
import { checkRunInput } from '../src/core/input-checks.ts';
import type { AnyAgent, DepsOption, GivenDepsOf, RequiresSomething, ResultOf } from '../src/define/agent-definition.ts';
import { type CheckedStart, checkStart, executeRun, executionOrigin, type RunIdentity } from './run/execute-run.ts';
import { registerMessages, registerQueries } from './run/handlers.ts';
import { decodedValue, startActivity } from './run/schedule-activity.ts';

const READ_RESULT: ActivityOptions = {
  startToCloseTimeout: '30 seconds',
  scheduleToCloseTimeout: '1 day',
  retry: { maximumAttempts: 5 },
};

/** Options of `runAgent` for a child, with the agent's deps, which are optional if its schema requires none. */
export type RunAgentOptions<GivenDeps = unknown> = ChildOptions & DepsOption<GivenDeps>;

/** The options of `runAgent`, optional if no deps are required. */
export type RunAgentArguments<GivenDeps> =
  RequiresSomething<DepsOption<GivenDeps>> extends true ? [options: RunAgentOptions<GivenDeps>] : [options?: RunAgentOptions<GivenDeps>];

/** Options of `runAgent` for a child, without deps. */
export interface ChildOptions extends StartedRun {
  /** Absent: a child is a separate workflow. */
  inline?: never;
  /** The run id of the child. Default: the agent's name and a random id. */
  runId?: string;
  /** In a backlog, tasks of runs with a lower number go first. Default: the calling workflow's priority. */
  priority?: number;
  /**
   * In a backlog, each fairness key gets an equal share. At most 64 bytes. Default: the key of the calling
   * workflow.
   */
  fairnessKey?: string;
  /** The task queue of the worker that has the agent. Default: the calling workflow's task queue. */
  taskQueue?: string;
}

/**
 * Runs an agent inside the history of the current workflow: see `InlineOptions`. Returns its RunResult, or the state to
 * carry over if the workflow has to continue as new: call `continueAsNew({...yours, continuedState})`, and the next execution
 * resumes the run with `runAgent(agent, input, { inline: true, continuedState })`.
 */
export async function runAgent<Agent extends AnyAgent>(
  agent: string,
  input: RunAgentInput,
  options: InlineOptions<GivenDepsOf<Agent>>,
): Promise<InlineEnd<ResultOf<Agent>>>;
/**
 * Runs an agent as a child of the current workflow and returns its RunResult, for any status. Pass the agent's type for
 * a typed output: `runAgent<typeof researcher>('researcher', question)`. The import of that type is erased, so no code
 * of the agent reaches the sandbox.
 *
 * A cancellation of the calling scope is passed on and rethrown. Throws ChildWorkflowFailure if the child was
 * terminated or timed out, and an ApplicationFailure of type `invalid_input` or `payload_too_large` for
 * invalid input.
 */
export async function runAgent<Agent extends AnyAgent>(
  agent: string,
  input: RunAgentInput,
  ...options: RunAgentArguments<GivenDepsOf<Agent>>
): Promise<ResultOf<Agent>>;
export async function runAgent<Agent extends AnyAgent>(
  agent: string,
  input: RunAgentInput,
  options: RunAgentOptions | InlineOptions = {},
): Promise<ResultOf<Agent> | InlineEnd<ResultOf<Agent>>> {
  return options.inline ? runInline<Agent>(agent, input, options) : ((await runAsChild(agent, input, options)) as ResultOf<Agent>);
}

/** Runs an agent, or a flow, as a child, and returns its result for any status. */
export async function runAsChild(
  agent: string,
  input: RunAgentInput,
  options: RunAgentOptions & { flow?: FlowInput },
): Promise<RunResult<unknown>> {
  const { runId, taskQueue } = options;
  const priority = priorityOf(agent, options);
  const runInput = runInputOf(agent, input, options);
  const checked = checkRunInput(runInput);
  // A command that is too large would fail the task of the calling workflow repeatedly.
  if (!checked.ok) {
    throw ApplicationFailure.create({
      type: checked.code,
      message: `Agent "${agent}" cannot start: ${checked.problem}`,
      nonRetryable: true,
    });
  }
  const workflowId = runId ?? `${agent}-${uuid4()}`;
  try {
    const fields = await executeChild<(input: RunInput) => Promise<RunResultFields<unknown>>>(AGENT_RUN, {
      args: [runInput],
      workflowId,
      cancellationType: ChildWorkflowCancellationType.WAIT_CANCELLATION_COMPLETED,
      parentClosePolicy: ParentClosePolicy.REQUEST_CANCEL,
      staticSummary: summaryText(`${agent}: ${openingText(runInput)}`),
      ...defined({ taskQueue, priority }),
    });
    return new RunResult(fields);
  } catch (error) {
    // A cancellation of the caller's scope is not a result of the agent: the caller has to see it.
    if (CancellationScope.current().consideredCancelled || !(error instanceof ChildWorkflowFailure)) throw error;
    const fields = error.cause instanceof CancelledFailure ? await readCancelled(workflowId) : resultOf(error);
    if (fields === undefined) throw error;
    return new RunResult<unknown>(fields);
  }
}

/**
 * Returns the priority of the child. Throws for one that the server would refuse: the refused command would fail the
 * task of the calling workflow repeatedly.
 */
function priorityOf(agent: string, { priority, fairnessKey }: ChildOptions): Priority | undefined {
  const problem = priorityProblem(priority, fairnessKey);
  if (problem === undefined) return priorityFrom(priority, fairnessKey);
  throw ApplicationFailure.create({ type: 'invalid_input', message: `Agent "${agent}" cannot start: ${problem}`, nonRetryable: true });
}

/**
 * Reads the result of a child that was cancelled on its own. Its close gives the parent no details, so an activity reads
 * its memo.
 */
async function readCancelled(runId: string): Promise<RunResultFields> {
  const raw = await startActivity<ReadResultInput, unknown>({
    name: ACTIVITIES.readResult,
    tier: 'remote',
    options: READ_RESULT,
    input: { runId },
  });
  return decodedValue(raw) as RunResultFields;
}

/** Returns the RunResult from the details of a failed child. */
function resultOf({ cause }: ChildWorkflowFailure): RunResultFields | undefined {
  const [details]: unknown[] = cause instanceof ApplicationFailure ? (cause.details ?? []) : [];
  return isRunResult(details) ? details : undefined;
}

/** The input of `runAgent`: the user's message, or the initial conversation of the run. */
export type RunAgentInput = string | ContentPart[] | RunOpening;

/** Options of a run that a workflow starts, with deps. */
interface RunInputOptions extends StartedRun {
  deps?: unknown;
  flow?: FlowInput;
}

/** Options of `runAgent` for a run of either kind. */
interface StartedRun {
  /** The identity on whose behalf the run and its children act. */
  principal?: Principal;
  /** Overrides limits of the agent. */
  limits?: LimitOptions;
  /** The longest duration of the run, from its start: the limit `deadline`. */
  deadline?: Duration;
  /** Replaces the agent's model for this run: `provider/model`, with a provider of its worker. */
  model?: ModelName;
  /** Model settings that override the agent's, one by one (`extra` as a whole). */
  settings?: ModelSettings;
  /** Up to 20 tags of up to 100 characters: the run can be found by tag, and a provider may choose its key by tag. */
  tags?: readonly string[];
  /** True: lets live output of the run and its children travel in heartbeats, for a worker and a client with `heartbeatStreams()`. */
  live?: boolean;
  /** `batch`: the model calls of the run and its children wait for provider batches, at half the price. */
  tier?: Tier;
}

/**
 * Returns the input of a run that a workflow starts. Throws an ApplicationFailure of type `invalid_input` for an
 * invalid limit or deadline.
 */
function runInputOf(agent: string, input: RunAgentInput, options: RunInputOptions): RunInput {
  const { deps, flow, principal, model, settings, tags, live, tier } = options;
  const limits = plainLimitsOf(agent, options);
  return {
    agent,
    ...openingFrom(input),
    ...defined({ flow }),
    ...(isJsonObject(deps) ? { deps } : {}),
    ...defined({ principal }),
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
    ...overridesIn({
      ...defined({ model, settings, tier }),
      ...(tags === undefined ? {} : { tags: [...tags] }),
      ...(live === true ? { live } : {}),
    }),
  };
}

function openingFrom(input: RunAgentInput): RunOpening {
  return typeof input === 'object' && !Array.isArray(input) && input !== null ? openingOf(input) : { input };
}

function plainLimitsOf(agent: string, options: RunInputOptions): LimitChanges {
  const owner = `agent "${agent}" cannot start`;
  try {
    return plainLimits(owner, limitsWithDeadline(owner, options) ?? {});
  } catch (error) {
    throw ApplicationFailure.create({ type: 'invalid_input', message: errorMessage(error), nonRetryable: true });
  }
}

/** Options of `runAgent` for a run inside the history of the current workflow, with the deps of the agent. */
export type InlineOptions<GivenDeps = unknown> = InlineRunOptions & DepsOption<GivenDeps>;

/** Options of `runAgent` for a run inside the history of the current workflow, without deps. */
export interface InlineRunOptions extends StartedRun {
  /** The run is part of the history of this workflow. */
  inline: true;
  /**
   * Names the run inside this workflow: its queries and Updates get the key as a prefix (`key.status`), and its run id
   * is `workflowId/key`. Default: the agent's name, with a number for the second and later runs of that agent.
   */
  key?: string;
  /** The state from the previous execution. `input` must then be the original input. */
  continuedState?: ContinuedRun;
}

/** The outcome of a run inside a workflow for one execution of that workflow. */
export type InlineEnd<Result> = { type: 'finished'; result: Result } | { type: 'continue'; continuedState: ContinuedRun };

/**
 * The state of a run that continues in the next execution of your workflow: plain JSON, at most one payload. Treat it as opaque: only
 * `runAgent` reads it, and members other than these are not part of the API.
 */
export interface ContinuedRun {
  /** The version of its format. */
  version: number;
  /** The number of earlier executions of the run. */
  executions: number;
  /** The number of the step that the run continues with. */
  currentStep: number;
}

const NO_OBSERVER = { resolved: () => undefined, recorded: () => undefined, noted: () => undefined, missing: () => undefined };

/** Keys that are in use or were used. Module state belongs to one execution. */
const keysInUse = new Set<string>();
const usedKeys = new Set<string>();

/** Runs an agent inside the current workflow. A cancellation of the calling scope is rethrown after the run has ended with it. */
async function runInline<Agent extends AnyAgent>(
  agent: string,
  input: RunAgentInput,
  options: InlineOptions,
): Promise<InlineEnd<ResultOf<Agent>>> {
  const { workflowId } = workflowInfo();
  const key = keyOf(carriedKey(options.continuedState, workflowId) ?? options.key ?? nextKey(agent));
  const identity = { runId: `${workflowId}/${key}`, key, startedAt: Date.now(), origin: executionOrigin() };
  const { run, start } = startInline(agent, input, { options, identity });
  registerQueries(run);
  registerMessages(run);
  const end = await executeRun(run, start, NO_OBSERVER);
  keysInUse.delete(key);
  const scope = CancellationScope.current();
  if (scope.consideredCancelled) await scope.cancelRequested;
  return end.type === 'continue' ? end : { type: 'finished', result: new RunResult<unknown>(end.result) as ResultOf<Agent> };
}

/** Returns the start of the run. If its input is refused, its key becomes free again, and the run is not counted. */
function startInline<Deps>(
  agent: string,
  input: RunAgentInput,
  { options, identity }: { options: InlineOptions<Deps>; identity: RunIdentity & { key: string } },
): Extract<CheckedStart, { ok: true }> {
  const { key } = identity;
  try {
    const { continuedState } = options;
    const checked = checkStart(
      continuedState === undefined
        ? runInputOf(agent, input, options)
        : ({ continuedState: continuedState as ContinueAsNewState } satisfies ContinuedInput),
      identity,
    );
    if (checked.ok) return checked;
    throw ApplicationFailure.create({ type: checked.code, message: checked.problem, nonRetryable: true });
  } catch (error) {
    // The key is part of the idempotency keys of tools: a replayed run must keep its own.
    keysInUse.delete(key);
    usedKeys.delete(key);
    throw error;
  }
}

/** Reads the key from a continued state, which comes from the input of the surrounding workflow and is checked later. */
function carriedKey(continuedState: unknown, workflowId: string): string | undefined {
  const runId = isJsonObject(continuedState) ? continuedState['runId'] : undefined;
  return typeof runId === 'string' ? runId.slice(workflowId.length + 1) : undefined;
}

/** Reserves a key. Two runs with the same key would answer each other's queries. */
function keyOf(key: string): string {
  if (keysInUse.has(key)) {
    const message = `Two agents run inline under the key "${key}" at the same time: give each its own "key"`;
    throw ApplicationFailure.create({ type: 'invalid_input', message, nonRetryable: true });
  }
  keysInUse.add(key);
  usedKeys.add(key);
  return key;
}

function nextKey(agent: string): string {
  let key = agent;
  for (let number = 2; usedKeys.has(key); number += 1) key = `${agent}-${number}`;
  return key;
}
