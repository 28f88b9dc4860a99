import type { RecordedResponse } from '../../domain/model/recorded-response.ts';
import { bytesInFlight, continueBeforeTool } from '../limits/continuing.ts';
import { InFlight, MAX_BYTES_IN_FLIGHT } from './in-flight.ts';
import type { ToolsPosition } from '../next-step.ts';
import { executeWithDecisions } from './execute-with-decisions.ts';
import type { RunPorts, ToolOutcome } from '../ports.ts';
import { noWorker } from './no-worker.ts';
import { type Acting, interrupted, type PreparedCall } from './prepare-call.ts';
import type { RunState } from '../state/run-state.ts';
import { applyChanges } from './apply-changes.ts';
import { isAskedAbout } from '../approvals/approvals.ts';
import { reevaluatePredicate } from './ask-again.ts';
import { resultIfStopped, startTool } from './start-tool.ts';

/** What has come of each call, by its place; null for a call that has not started. */
type Outcomes = (ToolOutcome | null)[];

/** The calls of a response, and what has come of them. */
interface Batch {
  response: RecordedResponse;
  prepared: PreparedCall[];
  outcomes: Outcomes;
}

/**
 * Executes the calls that have no outcome yet, and gives all outcomes by place. Null is left for the calls that have
 * to wait for the next execution, because the history of this one is full.
 */
export async function executeCalls(acting: Acting, ports: RunPorts, prepared: PreparedCall[], position: ToolsPosition): Promise<Outcomes> {
  const { state } = acting;
  const outcomes = prepared.map((_, index) => position.outcomes[index] ?? null);
  if (ports.cancelRequested()) return prepared.map((one, place) => ofCancelledRun(acting, one, { place, outcome: outcomes[place] }));
  const batch = { prepared, outcomes, response: position.response };
  const inSequence = runsInSequence(state, prepared);
  if (prepared.some((one) => mayWait(state, one))) return executeWithDecisions(acting, ports, { ...batch, inSequence });
  return inSequence ? executeInSequence(acting, ports, batch) : executeTogether(state, ports, batch);
}

/** What the call has changed is kept: it may not have been applied yet, where calls overlapped. */
function ofCancelledRun(
  acting: Acting,
  one: PreparedCall,
  { place, outcome }: { place: number; outcome: ToolOutcome | null | undefined },
): ToolOutcome {
  return outcome ? applyChanges(acting.state, one, outcome) : cancelledCall(acting, place);
}

/** A call that has no outcome when the run ends. One about which somebody is asked was started in an execution before. */
function cancelledCall({ state, calls }: Acting, index: number): ToolOutcome {
  const isStarted = isAskedAbout(state.approvals.pending, calls[index]?.toolCallId ?? '');
  return isStarted ? { type: 'cancelled', isUnknown: true } : interrupted();
}

/** A call that needs a decision; or one about whose outcome a person may have to be asked. */
function mayWait({ snapshot }: RunState, one: PreparedCall): boolean {
  if (one.type !== 'execute') return false;
  return one.terms !== undefined || (snapshot.onUnknownOutcome === 'ask' && one.invocation.tool.effect === 'once');
}

/** One call alone is a sequence: what lets calls overlap is not free. */
function runsInSequence(state: RunState, prepared: PreparedCall[]): boolean {
  return (
    prepared.length === 1 || !state.snapshot.parallel || prepared.some((one) => one.type === 'execute' && !one.invocation.tool.parallel)
  );
}

/** Calls that run one after the other see what the calls before them changed. */
async function executeInSequence(acting: Acting, ports: RunPorts, batch: Batch): Promise<Outcomes> {
  const { state } = acting;
  const { prepared, outcomes } = batch;
  for (const [index, one] of prepared.entries()) {
    if (outcomes[index] !== null) continue;
    if (noWorker(ports, outcomes) !== undefined) {
      outcomes[index] = interrupted();
      continue;
    }
    if (continueBeforeTool(state, ports, batch)) return outcomes;
    if (mayAskAgain(one) && (await reevaluatePredicate(ports, batch, index)))
      return executeWithDecisions(acting, ports, { ...batch, inSequence: true });
    outcomes[index] = applyChanges(state, one, await execute(state, ports, one));
  }
  return outcomes;
}

/** Not asked for without need: in the sandbox every promise costs a stack trace. */
function mayAskAgain(one: PreparedCall): boolean {
  return one.type === 'execute' && one.invocation.tool.approval?.when === 'predicate';
}

/** Calls that overlap all see the state as the response found it; their changes are applied in call order, never in completion order. */
async function executeTogether(state: RunState, ports: RunPorts, batch: Batch): Promise<Outcomes> {
  const { prepared } = batch;
  const outcomes = startsAtOnce(state, ports, batch)
    ? // oxlint-disable-next-line typescript/await-thenable -- What needs no execution is there already, without a promise.
      await Promise.all(prepared.map((one, index) => batch.outcomes[index] ?? execute(state, ports, one)))
    : await executeInTurn(state, ports, batch);
  if (outcomes.includes(null)) return outcomes;
  return prepared.map((one, place) => applyChanges(state, one, outcomes[place] ?? interrupted()));
}

/** True for calls that are few and small enough to need no order of their own. */
function startsAtOnce(state: RunState, ports: RunPorts, batch: Batch): boolean {
  const bytes = batch.prepared.reduce((sum, one) => sum + (one.type === 'execute' ? bytesInFlight(one.invocation) : 0), 0);
  return bytes <= MAX_BYTES_IN_FLIGHT && !continueBeforeTool(state, ports, batch);
}

/** Starts calls in their order as long as their bytes allow, until none is left, or the rest belongs into the next execution. */
async function executeInTurn(state: RunState, ports: RunPorts, batch: Batch): Promise<Outcomes> {
  while (batch.outcomes.includes(null)) {
    await startInTurn(state, ports, batch);
    if (continueBeforeTool(state, ports, batch)) break;
  }
  return batch.outcomes;
}

/** Starts calls in their order as long as their bytes allow, waits for one to end where they do not, and for all at the end. */
async function startInTurn(state: RunState, ports: RunPorts, batch: Batch): Promise<void> {
  const { prepared, outcomes } = batch;
  const calls = new InFlight();
  for (const [index, one] of prepared.entries()) {
    if (outcomes[index] !== null) continue;
    if (one.type === 'immediate') {
      outcomes[index] = one.outcome;
      continue;
    }
    const bytes = bytesInFlight(one.invocation);
    while (!calls.hasRoomFor(bytes) && ports.allows('bounded-fan-out')) await calls.one();
    const instead = resultIfStopped(state, ports, one) ?? (noWorker(ports, outcomes) === undefined ? undefined : interrupted());
    if (instead !== undefined) {
      outcomes[index] = instead;
      continue;
    }
    if (continueBeforeTool(state, ports, batch)) break;
    calls.add(bytes, startTool(state, ports, one.invocation), (outcome) => (outcomes[index] = outcome));
  }
  await calls.all();
}

/** Not async: in the sandbox every promise costs a stack trace. */
function execute(state: RunState, ports: RunPorts, prepared: PreparedCall): ToolOutcome | Promise<ToolOutcome> {
  return (
    resultIfStopped(state, ports, prepared) ??
    (prepared.type === 'immediate' ? prepared.outcome : startTool(state, ports, prepared.invocation))
  );
}
