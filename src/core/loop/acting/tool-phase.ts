import { isToolCall, type ToolCall } from '../../domain/content/content.ts';
import { finish, mayRetryOutput } from '../answer.ts';
import { isAskedAbout } from '../approvals/approvals.ts';
import { askAtLimit } from '../limits/ask-at-limit.ts';
import { endCancelled, endFailed, endAtLimit } from '../endings.ts';
import { executeCalls } from './execute-calls.ts';
import { reserveCalls } from '../limits/limits.ts';
import type { NextStep, ToolsPosition } from '../next-step.ts';
import { endedByNoWorker } from './no-worker.ts';
import type { RunPorts } from '../ports.ts';
import { type Acting, finalOutput, isFinalAnswer, prepareCall, type PreparedCall, problemOf, result } from './prepare-call.ts';
import { recordResults, recordToolStep } from './record-results.ts';
import type { RunState } from '../state/run-state.ts';
import { settleDecisions } from '../approvals/settle-decisions.ts';

/** What a call is answered with that the limits have no room for. */
const OVER_LIMIT = 'Tool call was not executed: the limit of tool calls of this run is reached.';

/**
 * The acting phase: prepare every call in order, let those wait that need a decision, execute concurrently unless the
 * agent or a tool says otherwise, record all results in the model's order, and the step. A history that is full in the
 * middle of it makes the run go on with the calls that have not started in the next execution.
 */
export async function runToolPhase(state: RunState, ports: RunPorts, position: ToolsPosition): Promise<NextStep> {
  state.phase = 'tools';
  const acting = actingOn(state, position);
  const instead = await reserve(acting, ports, position);
  if (instead !== undefined) return instead;
  const { prepared, isOverLimit } = prepare(acting, position);
  const outcomes = await executeCalls(acting, ports, prepared, position);
  if (outcomes.includes(null)) {
    return { type: 'continue', position: { ...position, outcomes, ...(isOverLimit ? { overLimit: true as const } : {}) } };
  }
  // What came too late is refused, and its sender told so.
  if (ports.inbox.decisions.length > 0) await settleDecisions(state, ports);
  recordResults(acting, ports, outcomes);
  recordToolStep(acting, outcomes);
  state.approvals.approved = [];

  if (ports.cancelRequested() || outcomes.some((outcome) => outcome?.type === 'cancelled')) return endCancelled(state);
  const ended = endedByNoWorker(state, ports, outcomes);
  if (ended !== undefined) return ended;
  return afterTools(acting, ports, isOverLimit);
}

function actingOn(state: RunState, { response, final }: ToolsPosition): Acting {
  const offset = state.window.events.findLast(({ id }) => id === response.id)?.offset ?? state.window.through - 1;
  return { state, response, calls: response.content.filter(isToolCall), offset, final };
}

/** Where a person is asked at limits, nothing starts before there is room for all calls, or a no. */
async function reserve({ state, response, calls, final }: Acting, ports: RunPorts, position: ToolsPosition): Promise<NextStep | undefined> {
  if (final || state.limits.onLimit !== 'ask' || position.limitRefused) return undefined;
  const reached = (): ReturnType<typeof reserveCalls>['reached'] =>
    reserveCalls(state, namesToStart(state, response, calls, position)).reached;
  if (reached() === undefined) return undefined;
  const next = await askAtLimit(state, ports, position, reached);
  // A no: the calls that fit are executed, and then the limit ends the run.
  return next?.type === 'finish' ? { ...position, limitRefused: true } : next;
}

/** The calls, without those over the limits. */
function prepare(acting: Acting, position: ToolsPosition): { prepared: PreparedCall[]; isOverLimit: boolean } {
  const { state, response, calls, final } = acting;
  const prepared = calls.map((call) => prepareCall(acting, call));
  const { refused } = final ? { refused: new Set<number>() } : reserveCalls(state, namesToStart(state, response, calls, position));
  for (const index of refused) prepared[index] = { type: 'immediate', outcome: { ...result('error', OVER_LIMIT), durationMs: null } };
  return { prepared, isOverLimit: refused.size > 0 || position.overLimit === true };
}

/** The names of the calls that would start, by place; undefined for those that need no room: one about whose outcome somebody is asked has started. */
function namesToStart(
  state: RunState,
  response: Acting['response'],
  calls: ToolCall[],
  { outcomes }: ToolsPosition,
): (string | undefined)[] {
  const { tools } = state.snapshot;
  const { pending } = state.approvals;
  return calls.map((call, index) => {
    const starts =
      (outcomes[index] ?? null) === null &&
      !isAskedAbout(pending, call.toolCallId) &&
      problemOf(response, call) === undefined &&
      !isFinalAnswer(state, call) &&
      tools.some(({ name }) => name === call.name);
    return starts ? call.name : undefined;
  });
}

function afterTools({ state, response, calls, final }: Acting, ports: RunPorts, isOverLimit: boolean): NextStep {
  if (final) return endAtLimit(state);
  const answers = calls.filter((call) => isFinalAnswer(state, call));
  const valid = answers.find((call) => problemOf(response, call) === undefined);
  if (valid !== undefined) return finish(state, ports, { output: finalOutput(response, valid), final: false });
  if (isOverLimit) return endAtLimit(state, 'tool_call_limit');
  if (answers.length === 0 || mayRetryOutput(state)) return { type: 'call_model', final: false };
  const problem = answers.map((call) => problemOf(response, call)).join('; ');
  return endFailed(state, 'invalid_output', `The answer did not fit the output schema of agent "${state.snapshot.name}": ${problem}`);
}
