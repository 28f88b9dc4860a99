import { type ActivityOptions, ApplicationFailure, CancelledFailure, ChildWorkflowFailure, type Priority } from '@temporalio/common';
import { CancellationScope, ChildWorkflowCancellationType, executeChild, ParentClosePolicy, uuid4 } from '@temporalio/workflow';
import type { AnyAgent, DepsOption, GivenDepsOf, ResultOf } from '../src/define/agent-definition.ts';
import type { RequiresSomething } from '../src/define/options/requires-something.ts';
import type { FlowInput } from '../src/core/domain/agent.ts';
import { openingText, priorityFrom, priorityProblem } from '../src/core/domain/run-input.ts';
import { isRunResult, RunResult, type RunResultFields } from '../src/core/domain/result.ts';
import { summaryText } from '../src/core/domain/text.ts';
import { ACTIVITIES, AGENT_RUN, type ReadResultInput, type RunInput } from '../src/core/protocol.ts';
import { checkRunInput } from '../src/core/wire-schemas/run-input-schema.ts';
import { startActivity } from './run/schedule-activity.ts';
import { decodedValue } from './interceptors/raw-value.ts';
import { type InlineEnd, type InlineOptions, runInline } from './run-inline.ts';
import { type RunAgentInput, runInputOf, type StartedRun } from './run/input.ts';

const READ_RESULT: ActivityOptions = {
  startToCloseTimeout: '30 seconds',
  scheduleToCloseTimeout: '1 day',
  retry: { maximumAttempts: 5 },
};

/** Options of `runAgent` for a child: with the deps of the agent, optional if its schema requires none. */
export type RunAgentOptions<GivenDeps = unknown> = ChildOptions & DepsOption<GivenDeps>;

/** The options of `runAgent`, optional if no deps are required. */
type RunAgentArguments<GivenDeps> =
  RequiresSomething<DepsOption<GivenDeps>> extends true ? [options: RunAgentOptions<GivenDeps>] : [options?: RunAgentOptions<GivenDeps>];

/** Options of `runAgent` for a child, without deps. */
export interface ChildOptions extends StartedRun {
  inline?: never;
  /** The run id of the child. Default: the agent's name and a random id. */
  runId?: string;
  /** Tasks of a run with a lower number go first if a task queue has a backlog. Default: that of the calling workflow. */
  priority?: number;
  /**
   * If a task queue has a backlog, runs of each key get an equal share. At most 64 bytes. Default: that of the calling
   * workflow.
   */
  fairnessKey?: string;
  /** The task queue of the worker that has the agent. Default: that of the calling workflow. */
  taskQueue?: string;
}

/**
 * Runs an agent inside the history of the current workflow: see `InlineOptions`. Returns its RunResult, or the state to
 * carry over if the workflow has to continue as new: call `continueAsNew({...yours, carry})`, and the next execution
 * resumes the run with `runAgent(agent, input, { inline: true, carry })`.
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
 * terminated or timed out, and an ApplicationFailure of type `invalid_input` or `payload_too_large` for an input that
 * no run can start with.
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
      ...(taskQueue === undefined ? {} : { taskQueue }),
      ...(priority === undefined ? {} : { priority }),
    });
    return new RunResult(fields);
  } catch (error) {
    // A cancellation of the caller's own scope is not a result of the agent: the caller has to see it.
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
 * Reads the result of a child that was cancelled by itself. Its close gives its parent no details, so an activity reads
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
