import type { ActivityOptions } from '@temporalio/common';
import { CancellationScope, isCancellation, proxySinks, setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import { activityProblem } from '../src/activity-outcome.ts';
import type { AgentSnapshot } from '../src/domain/agent-snapshot.ts';
import { errorMessage, type ErrorCode } from '../src/domain/error.ts';
import type { RunResultFields } from '../src/domain/run-result.ts';
import { oneLine } from '../src/domain/text.ts';
import { closeRun, closeUnstarted } from '../src/loop/close-run.ts';
import type { Ending } from '../src/loop/next-step.ts';
import { runLoop } from '../src/loop/run-loop.ts';
import { lastThought, newRunState } from '../src/loop/run-state.ts';
import { ACTIVITIES, type ResolveAgentInput, type RunInput } from '../src/protocol.ts';
import { checkRunInput } from '../src/schema/run-input-schema.ts';
import type { LonghaulSinks } from './cancel-sink.ts';
import { close } from './closing.ts';
import { currentDetails } from './current-details.ts';
import { type QueriedRun, registerQueries } from './run-queries.ts';
import { publishStatus } from './search-attributes.ts';
import { activity, fits, temporalPorts } from './temporal-ports.ts';

const { longhaul } = proxySinks<LonghaulSinks>();

/** Resolving an agent is quick; a worker that does not know it must not be asked for ever. */
const RESOLVE: ActivityOptions = {
  startToCloseTimeout: '1 minute',
  scheduleToCloseTimeout: '7 days',
  retry: { maximumAttempts: 5, initialInterval: '1s', backoffCoefficient: 2 },
};

/**
 * One run of an agent. Registers its queries, resolves the agent, runs the loop, closes. Started by the client, the
 * CLI, the Temporal UI or a Schedule with the same plain JSON. Returns the RunResult without its steps; throws an
 * ApplicationFailure whose details hold it for status `error`, a cancellation for status `cancelled`.
 */
export async function agentRun(rawInput: RunInput): Promise<RunResultFields> {
  const { workflowId, startTime } = workflowInfo();
  const checked = checkRunInput(rawInput);
  const run: QueriedRun = {
    runId: workflowId,
    agentName: checked.ok ? checked.input.agent : '',
    deps: checked.ok ? (checked.input.deps ?? {}) : {},
    startedAt: startTime.getTime(),
  };
  registerQueries(run);
  abortOnCancel();
  if (!checked.ok) return close(failed(run, 'invalid_input', `The input of the run does not fit: ${checked.problem}`));
  let result: RunResultFields;
  try {
    result = await think(run, checked.input);
  } catch (error) {
    // Whatever is thrown here would fail the workflow task, and the task would be retried for ever.
    result = isCancellation(error) ? cancelled(run) : failed(run, 'internal', errorMessage(error));
  }
  if (run.snapshot !== undefined) publishStatus(run.snapshot, result.status);
  return close(result);
}

async function think(run: QueriedRun, input: RunInput): Promise<RunResultFields> {
  const resolved = await resolveAgent(input);
  if (resolved.type === 'cancelled') return cancelled(run);
  if (resolved.type === 'failed') return failed(run, resolved.code, resolved.message);

  const { snapshot } = resolved;
  run.snapshot = snapshot;
  publishStatus(snapshot, 'running');
  const ports = temporalPorts({
    snapshot,
    deps: run.deps,
    state: () => run.state,
    recorded: (state) => setCurrentDetails(currentDetails(state)),
  });
  const state = newRunState({ runId: run.runId, snapshot, input: input.input, startedAt: run.startedAt }, ports);
  run.state = state;
  const result = await runLoop(state, ports);
  setCurrentDetails(currentDetails(state));
  return result;
}

type Resolved =
  | { type: 'resolved'; snapshot: AgentSnapshot }
  | { type: 'cancelled' }
  | { type: 'failed'; code: ErrorCode; message: string };

async function resolveAgent(input: RunInput): Promise<Resolved> {
  const request: ResolveAgentInput = {
    agent: input.agent,
    ...(input.maxIterations === undefined ? {} : { maxIterations: input.maxIterations }),
    ...(input.deps === undefined ? {} : fits(input.deps) ? { deps: input.deps } : { depsByReference: true }),
  };
  try {
    const options = { ...RESOLVE, summary: oneLine(`resolve agent ${input.agent}`, 200) };
    return { type: 'resolved', snapshot: await activity<ResolveAgentInput, AgentSnapshot>(ACTIVITIES.resolveAgent, options)(request) };
  } catch (error) {
    const problem = activityProblem(error);
    switch (problem.type) {
      case 'cancelled':
        return { type: 'cancelled' };
      case 'timed_out':
        return { type: 'failed', code: 'invalid_agent', message: `Agent "${input.agent}" could not be resolved: ${problem.message}` };
      case 'failed':
        return { type: 'failed', code: problem.code ?? 'invalid_agent', message: problem.message };
    }
  }
}

/** Tells the activities in this worker's process at once; a heartbeat tells those elsewhere. */
function abortOnCancel(): void {
  CancellationScope.current().cancelRequested.catch(() => longhaul.cancelRequested());
}

function failed(run: QueriedRun, code: ErrorCode, message: string): RunResultFields {
  return endedBy(run, { status: 'error', stopReason: 'error', output: '', error: { code, message } });
}

function cancelled(run: QueriedRun): RunResultFields {
  return endedBy(run, { status: 'cancelled', stopReason: 'cancelled', output: '' });
}

/** An ending that the loop did not come to by itself keeps what the loop has recorded. */
function endedBy(run: QueriedRun, ending: Ending): RunResultFields {
  const clock = { now: () => Date.now() };
  return run.state === undefined
    ? closeUnstarted(run, clock, ending)
    : closeRun(run.state, clock, { ...ending, output: lastThought(run.state) });
}
