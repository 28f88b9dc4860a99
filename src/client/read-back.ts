import type { RunResultFields } from '../domain/run-result.ts';
import { closeRun } from '../loop/close-run.ts';
import type { Position } from '../loop/next-step.ts';
import { fromCarry, type RunCarry } from '../loop/run-carry.ts';
import { BEGINNING, type LoopEnd, runLoop } from '../loop/run-loop.ts';
import { newRunState, type RunState } from '../loop/run-state.ts';
import { toldEventIds } from './event-ids.ts';
import type { RecordedExecution } from './recorded-execution.ts';
import { NotYetRecorded, RecordedPorts } from './recorded-ports.ts';

/** What the history of an execution says when the loop is run over it again. */
export interface ReadBackRun {
  /** As the input names it; empty where the input does not. */
  agentName: string;
  /** When the run began, whatever execution of it this is. Milliseconds since the epoch. */
  startedAt: number;
  /** The executions of the run up to this one. */
  executions: number;
  /** Messages that wait to be taken in. */
  queued: number;
  /** With the events and steps of this execution alone. Undefined where the agent was never resolved. */
  state?: RunState;
  /** Undefined where the run has not come to its end in this execution. */
  result?: RunResultFields;
}

/**
 * Runs the loop over what was recorded in one execution, with every answer taken from history: events, steps and
 * result are those of the run, and no worker is needed. Ids of events that only the workflow knew are taken from where
 * history names them (`next`: what was carried into the next execution), and derived from their place otherwise.
 */
export async function readBack(runId: string, recorded: RecordedExecution, next?: RunCarry): Promise<ReadBackRun> {
  const { input, carry, resolved, startedAt } = recorded;
  const known = {
    agentName: carry?.snapshot.name ?? (typeof input?.agent === 'string' ? input.agent : ''),
    startedAt: carry?.startedAt ?? startedAt,
    executions: (carry?.executions ?? 0) + 1,
  };
  const ports = new RecordedPorts(recorded, toldEventIds(recorded, next));
  const beginning = beginningOf(runId, recorded, ports);
  if (resolved === undefined || beginning === undefined) return { ...known, queued: ports.inbox.queued };
  const { state, position } = beginning;
  ports.state = state;
  const end = await runOver(state, ports, position);
  ports.end();
  const result = end === undefined ? undefined : resultOf(end, state, recorded);
  return { ...known, queued: ports.inbox.queued, state, ...(result === undefined ? {} : { result }) };
}

function beginningOf(
  runId: string,
  { carry, input, resolved, startedAt }: RecordedExecution,
  ports: RecordedPorts,
): { state: RunState; position: Position } | undefined {
  // The loop changes what it begins with.
  if (carry !== undefined) return fromCarry(structuredClone(carry));
  if (input === undefined || resolved === undefined) return undefined;
  return { state: newRunState({ runId, snapshot: resolved.snapshot, input: input.input, startedAt }, ports), position: BEGINNING };
}

/** How the loop ended; undefined where history ends before. */
async function runOver(state: RunState, ports: RecordedPorts, from: Position): Promise<LoopEnd | undefined> {
  try {
    return await runLoop(state, ports, from);
  } catch (error) {
    if (error instanceof NotYetRecorded) return undefined;
    throw error;
  }
}

/** A run that was about to continue when it was cancelled ends with what it has. */
function resultOf(end: LoopEnd, state: RunState, { end: close }: RecordedExecution): RunResultFields | undefined {
  if (end.type === 'finished') return end.result;
  if (close?.type !== 'closed' || !close.cancelled) return undefined;
  return closeRun(state, { now: () => close.at }, { status: 'cancelled', stopReason: 'cancelled', output: state.thought });
}
