import { type ActivityOptions, ApplicationFailure, CancelledFailure, ChildWorkflowFailure } from '@temporalio/common';
import { CancellationScope, ChildWorkflowCancellationType, executeChild, ParentClosePolicy, uuid4 } from '@temporalio/workflow';
import type { AnyAgent, DepsOf, OutputOf } from '../src/define/agent-definition.ts';
import type { ContentPart } from '../src/domain/content.ts';
import type { JsonObject } from '../src/domain/json.ts';
import type { LimitOptions } from '../src/domain/limit-options.ts';
import { outputText } from '../src/domain/output-text.ts';
import { isRunResult, RunResult, type RunResultFields } from '../src/domain/run-result.ts';
import { summaryText } from '../src/domain/summary-text.ts';
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

/** How `runAgent` starts the run. */
export interface RunAgentOptions<Deps = JsonObject> {
  inline?: never;
  deps?: Deps;
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
  options: InlineOptions<DepsOf<Agent>>,
): Promise<InlineEnd<OutputOf<Agent>>>;
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
  options?: RunAgentOptions<DepsOf<Agent>>,
): Promise<RunResult<OutputOf<Agent>>>;
export async function runAgent<Agent extends AnyAgent>(
  agent: string,
  input: string | ContentPart[],
  options: RunAgentOptions<DepsOf<Agent>> | InlineOptions<DepsOf<Agent>> = {},
): Promise<RunResult<OutputOf<Agent>> | InlineEnd<OutputOf<Agent>>> {
  return options.inline ? runInline<Agent>(agent, input, options) : runChild<Agent>(agent, input, options);
}

async function runChild<Agent extends AnyAgent>(
  agent: string,
  input: string | ContentPart[],
  options: RunAgentOptions<DepsOf<Agent>>,
): Promise<RunResult<OutputOf<Agent>>> {
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
    const fields = await executeChild<(input: RunInput) => Promise<RunResultFields<OutputOf<Agent>>>>(AGENT_RUN, {
      args: [runInput],
      workflowId,
      cancellationType: ChildWorkflowCancellationType.WAIT_CANCELLATION_COMPLETED,
      parentClosePolicy: ParentClosePolicy.REQUEST_CANCEL,
      staticSummary: summaryText(`${agent}: ${outputText(runInput.input)}`),
      ...(taskQueue === undefined ? {} : { taskQueue }),
    });
    return new RunResult(fields);
  } catch (error) {
    // A cancellation of the caller's own scope is not a result of the agent: the caller has to see it.
    if (CancellationScope.current().consideredCancelled || !(error instanceof ChildWorkflowFailure)) throw error;
    const fields = error.cause instanceof CancelledFailure ? await readCancelled(workflowId) : resultOf(error);
    if (fields === undefined) throw error;
    return new RunResult(fields as RunResultFields<OutputOf<Agent>>);
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
