import { type ActivityOptions, ApplicationFailure, CancelledFailure, ChildWorkflowFailure } from '@temporalio/common';
import { CancellationScope, ChildWorkflowCancellationType, executeChild, ParentClosePolicy, uuid4 } from '@temporalio/workflow';
import type { AnyAgent, DepsOption, GivenDepsOf, ResultOf } from '../src/define/agent-definition.ts';
import type { RequiresSomething } from '../src/define/requires-something.ts';
import type { ContentPart } from '../src/domain/content.ts';
import type { LimitOptions } from '../src/domain/limit-options.ts';
import { isRunResult, RunResult, type RunResultFields } from '../src/domain/run-result.ts';
import { oneLine } from '../src/domain/text.ts';
import { ACTIVITIES, AGENT_RUN, type ReadResultInput, type RunInput } from '../src/protocol.ts';
import { checkRunInput } from '../src/schema/run-input-schema.ts';
import { begin } from './perform.ts';
import { type InlineEnd, type InlineOptions, runInline } from './run-inline.ts';
import { runInputOf } from './run-input.ts';

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
export interface ChildOptions {
  inline?: never;
  /** The run id of the child; the parent's id and the agent's name otherwise. */
  runId?: string;
  maxIterations?: number;
  /** Overrides other limits of the agent. */
  limits?: LimitOptions;
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
      staticSummary: oneLine(`agent ${agent}`, 200),
      ...(taskQueue === undefined ? {} : { taskQueue }),
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

/** What a child left that was cancelled by itself. Its close carries no details to its parent, so its memo is read. */
async function readCancelled(runId: string): Promise<RunResultFields> {
  return begin<ReadResultInput, RunResultFields>({ name: ACTIVITIES.readResult, tier: 'remote', options: READ_RESULT, input: { runId } });
}

/** The RunResult in the details of a failed child. */
function resultOf({ cause }: ChildWorkflowFailure): RunResultFields | undefined {
  const [details]: unknown[] = cause instanceof ApplicationFailure ? (cause.details ?? []) : [];
  return isRunResult(details) ? details : undefined;
}
