import { setState } from '../domain/execution-context.ts';
import { bytesInFlight, continueBeforeTool } from './continuing.ts';
import { InFlight } from './in-flight.ts';
import type { RunPorts, ToolInvocation, ToolOutcome } from './ports.ts';
import type { RunState } from './run-state.ts';

/** What `prepare` makes of a call: something to execute, or a result that needs no execution. */
export type PreparedCall = { type: 'execute'; invocation: ToolInvocation } | { type: 'immediate'; outcome: ToolOutcome };

/** What has come of each call, by its place; null for a call that has not started. */
type Outcomes = (ToolOutcome | null)[];

/**
 * Executes the calls that have no outcome yet, and gives all outcomes by place. Null is left for the calls that have
 * to wait for the next execution, because the history of this one is full.
 */
export async function executeCalls(state: RunState, ports: RunPorts, prepared: PreparedCall[], known: Outcomes): Promise<Outcomes> {
  const outcomes = prepared.map((_, place) => known[place] ?? null);
  return runsInSequence(state, prepared)
    ? executeInSequence(state, ports, prepared, outcomes)
    : executeTogether(state, ports, prepared, outcomes);
}

function runsInSequence(state: RunState, prepared: PreparedCall[]): boolean {
  return !state.snapshot.parallel || prepared.some((one) => one.type === 'execute' && !one.invocation.tool.parallel);
}

/** Calls that run one after the other see what the calls before them changed. */
async function executeInSequence(state: RunState, ports: RunPorts, prepared: PreparedCall[], outcomes: Outcomes): Promise<Outcomes> {
  for (const [place, one] of prepared.entries()) {
    if (outcomes[place] !== null) continue;
    if (continueBeforeTool(ports, outcomes)) return outcomes;
    const outcome: ToolOutcome = ports.cancelRequested() ? { type: 'cancelled' } : await execute(one, ports);
    applyState(state, outcome);
    outcomes[place] = outcome;
  }
  return outcomes;
}

/** Calls that overlap all see the state as the response found it; their changes are applied in call order, never in completion order. */
async function executeTogether(state: RunState, ports: RunPorts, prepared: PreparedCall[], outcomes: Outcomes): Promise<Outcomes> {
  while (outcomes.includes(null)) {
    await startInTurn(ports, prepared, outcomes);
    if (continueBeforeTool(ports, outcomes)) break;
  }
  if (!outcomes.includes(null)) for (const outcome of outcomes) applyState(state, outcome);
  return outcomes;
}

/** Starts calls in their order as long as their bytes allow, waits for one to end where they do not, and for all at the end. */
async function startInTurn(ports: RunPorts, prepared: PreparedCall[], outcomes: Outcomes): Promise<void> {
  const calls = new InFlight();
  for (const [place, one] of prepared.entries()) {
    if (outcomes[place] !== null) continue;
    if (one.type === 'immediate') {
      outcomes[place] = one.outcome;
      continue;
    }
    const bytes = bytesInFlight(one.invocation);
    while (!calls.hasRoomFor(bytes) && ports.allows('bounded-fan-out')) await calls.one();
    if (continueBeforeTool(ports, outcomes)) break;
    calls.add(bytes, note(outcomes, place, ports.runTool(one.invocation)));
  }
  await calls.all();
}

async function note(outcomes: Outcomes, place: number, call: Promise<ToolOutcome>): Promise<void> {
  outcomes[place] = await call;
}

/** Not async: in the sandbox every promise costs a stack trace. */
function execute(prepared: PreparedCall, ports: RunPorts): ToolOutcome | Promise<ToolOutcome> {
  return prepared.type === 'immediate' ? prepared.outcome : ports.runTool(prepared.invocation);
}

function applyState(state: RunState, outcome: ToolOutcome | null): void {
  if (outcome?.type !== 'result') return;
  for (const [key, value] of Object.entries(outcome.state ?? {})) setState(state.context, key, value);
}
