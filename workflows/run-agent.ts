import { type ActivityOptions, ApplicationFailure, CancelledFailure, ChildWorkflowFailure, type Priority } from '@temporalio/common';
import { CancellationScope, ChildWorkflowCancellationType, executeChild, ParentClosePolicy, uuid4 } from '@temporalio/workflow';
import type { AnyAgent, DepsOption, GivenDepsOf, ResultOf } from '../src/define/agent-definition.ts';
import type { RequiresSomething } from '../src/define/options/requires-something.ts';
import type { ContentPart } from '../src/core/domain/content/content.ts';
import { outputText } from '../src/core/domain/content/output-text.ts';
import { isRunResult, RunResult, type RunResultFields } from '../src/core/domain/run/run-result.ts';
import { summaryText } from '../src/core/domain/content/summary-text.ts';
import { priorityFrom, priorityProblem } from '../src/core/domain/agent/task-priority.ts';
import { ACTIVITIES, AGENT_RUN, type ReadResultInput, type RunInput } from '../src/core/protocol.ts';
import { checkRunInput } from '../src/core/wire-schemas/run-input-schema.ts';
import { startActivity } from './run/schedule-activity.ts';
import { valueOf } from './interceptors/raw-value.ts';
import { type InlineEnd, type InlineOptions, runInline } from './run-inline.ts';
import { runInputOf, type StartedRun } from './run/run-input.ts';

const READ_RESULT: ActivityOptions = {
  startToCloseTimeout: '30 seconds',
  scheduleToCloseTimeout: '1 day',
  retry: { maximumAttempts: 5 },
};

/** How `runAgent` starts a run: with the deps that its agent takes, which may be left out where the agent's schema requires none. */
export type RunAgentOptions<GivenDeps = unknown> = ChildOptions & DepsOption<GivenDeps>;

/** The options of `runAgent`, to be left out where nothing in them is required. */
type RunAgentArguments<GivenDeps> =
  RequiresSomething<DepsOption<GivenDeps>> extends true ? [options: RunAgentOptions<GivenDeps>] : [options?: RunAgentOptions<GivenDeps>];

/** How `runAgent` starts a run, whatever its deps. */
export interface ChildOptions extends StartedRun {
  inline?: never;
  /** The run id of the child; the parent's id and the agent's name otherwise. */
  runId?: string;
  /** Tasks of a run with a lower number go first where a task queue has a backlog. Default: that of the calling workflow. */
  priority?: number;
  /** Where a task queue has a backlog, runs of each key get an equal share. At most 64 bytes. Default: that of the calling workflow. */
  fairnessKey?: string;
  /** The task queue of the worker that has the agent; the parent's own otherwise. */
  taskQueue?: string;
}

/**
 * Runs an agent inside the history of the current workflow: see `InlineOptions`. Gives its RunResult, or what to
 * carry on where the workflow has to continue as new: `continueAsNew({...yours, carry})`, and then
 * `runAgent(agent, input, { inline: true, carry })` goes on where it stood.
 */
export async function runAgent<Agent extends AnyAgent>(
  agent: string,
  input: string | ContentPart[],
  options: InlineOptions<GivenDepsOf<Agent>>,
): Promise<InlineEnd<ResultOf<Agent>>>;
/**
 * Runs an agent as a child of the current workflow and returns its RunResult, whatever its status. Name the agent's
 * type for a typed output: `runAgent<typeof researcher>('researcher', question)`; the import of that type is erased,
 * so that nothing of the agent reaches the sandbox.
 *
 * A cancellation of the calling scope is passed on and rethrown. Throws ChildWorkflowFailure where the child was
 * terminated or timed out, and an ApplicationFailure of type `invalid_input` or `payload_too_large` for what no run can
 * start with.
 */
export async function runAgent<Agent extends AnyAgent>(
  agent: string,
  input: string | ContentPart[],
  ...options: RunAgentArguments<GivenDepsOf<Agent>>
): Promise<ResultOf<Agent>>;
export async function runAgent<Agent extends AnyAgent>(
  agent: string,
  input: string | ContentPart[],
  options: RunAgentOptions | InlineOptions = {},
): Promise<ResultOf<Agent> | InlineEnd<ResultOf<Agent>>> {
  return options.inline ? runInline<Agent>(agent, input, options) : ((await runChild(agent, input, options)) as ResultOf<Agent>);
}

async function runChild(agent: string, input: string | ContentPart[], options: RunAgentOptions): Promise<RunResult<unknown>> {
  const { runId, taskQueue } = options;
  const priority = priorityOf(agent, options);
  const runInput = runInputOf(agent, input, options);
  const checked = checkRunInput(runInput);
  // A command that is too large would fail the task of the calling workflow, again and again.
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
      staticSummary: summaryText(`${agent}: ${outputText(runInput.input)}`),
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

/** Throws where the server would refuse the command, which would fail the task of the calling workflow again and again. */
function priorityOf(agent: string, { priority, fairnessKey }: ChildOptions): Priority | undefined {
  const problem = priorityProblem(priority, fairnessKey);
  if (problem === undefined) return priorityFrom(priority, fairnessKey);
  throw ApplicationFailure.create({ type: 'invalid_input', message: `Agent "${agent}" cannot start: ${problem}`, nonRetryable: true });
}

/** What a child left that was cancelled by itself. Its close carries no details to its parent, so its memo is read. */
async function readCancelled(runId: string): Promise<RunResultFields> {
  const raw = await startActivity<ReadResultInput, unknown>({
    name: ACTIVITIES.readResult,
    tier: 'remote',
    options: READ_RESULT,
    input: { runId },
  });
  return valueOf(raw) as RunResultFields;
}

/** The RunResult in the details of a failed child. */
function resultOf({ cause }: ChildWorkflowFailure): RunResultFields | undefined {
  const [details]: unknown[] = cause instanceof ApplicationFailure ? (cause.details ?? []) : [];
  return isRunResult(details) ? details : undefined;
}
