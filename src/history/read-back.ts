import { setImmediate } from 'node:timers/promises';
import { archiveFailure, notifyFailure } from '../core/activity-requests/activity-outcome.ts';
import type { RunResultFields } from '../core/domain/run/run-result.ts';
import { beginArchiving, endArchiving, withNotArchived } from '../core/loop/state/archiving.ts';
import { closeRun, noteNotifyEndedFailure } from '../core/loop/close-run.ts';
import type { Position } from '../core/loop/next-step.ts';
import { fromContinueAsNewState, type ContinueAsNewState } from '../core/loop/state/continue-as-new-state.ts';
import { BEGINNING, type LoopEnd, runLoop } from '../core/loop/run-loop.ts';
import { newRunState, type RunState } from '../core/loop/state/run-state.ts';
import { toldEventIds } from './event-ids.ts';
import type { RecordedExecution } from './recorded-execution.ts';
import { RecordedPorts } from './recorded-ports.ts';
import { RecordedTasks } from './recorded-tasks.ts';

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
  /** Ids of the calls that have waited for a decision in this execution, decided or not. */
  waited: ReadonlySet<string>;
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
export async function readBack(runId: string, recorded: RecordedExecution, next?: ContinueAsNewState): Promise<ReadBackRun> {
  const { input, carry, startedAt } = recorded;
  const known = {
    agentName: carry?.snapshot.name ?? (typeof input?.agent === 'string' ? input.agent : ''),
    startedAt: carry?.startedAt ?? startedAt,
    executions: (carry?.executions ?? 0) + 1,
  };
  const tasks = new RecordedTasks(runId, recorded);
  const ports = new RecordedPorts(recorded, tasks, toldEventIds(recorded, next));
  const beginning = beginningOf(runId, recorded, { tasks, ports });
  if (beginning === undefined) {
    tasks.reach();
    return { ...known, queued: tasks.inbox.queued, waited: ports.waited };
  }
  const { state, position } = beginning;
  const first = await runOver({ tasks, ports }, state, position);
  const end = first?.type === 'continue' ? await endHere({ tasks, ports }, state, { position: first.position, recorded }) : first;
  readArchivings(recorded, state);
  readTellingEnd(recorded, state);
  // What has come to a run that had decided its end was refused.
  tasks.inbox.closed = end?.type === 'finished';
  tasks.reach();
  const result = end === undefined ? undefined : resultOf(end, state, recorded);
  return {
    ...known,
    queued: tasks.inbox.queued,
    waited: ports.waited,
    state,
    ...(result === undefined ? {} : { result: withNotArchived(result, state) }),
  };
}

/** The tasks of an execution, and the ports of the loop that goes through them. */
interface Replay {
  tasks: RecordedTasks;
  ports: RecordedPorts;
}

/** What came before the agent was resolved found no run yet; a run that goes on from another execution is there at once. */
function beginningOf(
  runId: string,
  { carry, input, resolved, startedAt }: RecordedExecution,
  { tasks, ports }: Replay,
): { state: RunState; position: Position } | undefined {
  if (resolved === undefined) return undefined;
  if (carry !== undefined) {
    // The loop changes what it begins with.
    const beginning = fromContinueAsNewState(structuredClone(carry));
    tasks.state = beginning.state;
    tasks.reach(resolved.task);
    return beginning;
  }
  tasks.reach(resolved.task);
  if (input === undefined) return undefined;
  tasks.state = newRunState({ runId, snapshot: resolved.snapshot, input: input.input, deps: input.deps, startedAt }, ports);
  return { state: tasks.state, position: BEGINNING };
}

/** How the loop ended; undefined where history ends before. Each task is let come to rest before the next one. */
async function runOver({ tasks, ports }: Replay, state: RunState, from: Position): Promise<LoopEnd | undefined> {
  const loop = runLoop(state, ports, from);
  let end: LoopEnd | undefined;
  do end = await Promise.race([loop, setImmediate(undefined)]);
  while (end === undefined && (tasks.release() || tasks.endLocalCalls() || tasks.next()));
  ports.end();
  return end;
}

/** A run that was about to continue when it was cancelled comes to its end in this execution, from where it stood. */
async function endHere(
  replay: Replay,
  state: RunState,
  { position, recorded }: { position: Position; recorded: RecordedExecution },
): Promise<LoopEnd | undefined> {
  if (!recorded.changes.has('cancelled-before-continuing')) return { type: 'continue', position };
  replay.tasks.reach(recorded.archivings[0]?.task);
  return runOver(replay, state, position);
}

/** Reads what the run knows of its archive: an end that no task has seen is not known to it. */
function readArchivings({ archivings, taskTimes, startedAt }: RecordedExecution, state: RunState): void {
  for (const { input, scheduledIn, failure, task } of archivings) {
    beginArchiving(state, input, taskTimes[scheduledIn - 1] ?? startedAt);
    if (task !== undefined) endArchiving(state, failure === undefined ? undefined : archiveFailure(failure));
  }
}

/** Reads whether somebody could be told of the end, as far as a task has seen what came of it. */
function readTellingEnd({ tellingEnd }: RecordedExecution, state: RunState): void {
  if (tellingEnd?.task === undefined || tellingEnd.failure === undefined) return;
  const outcome = notifyFailure(tellingEnd.failure);
  if (outcome.type === 'failed') noteNotifyEndedFailure(state, outcome.message);
}

/** A run of an earlier release that was about to continue when it was cancelled ends with what it had. */
function resultOf(end: LoopEnd, state: RunState, { end: close }: RecordedExecution): RunResultFields | undefined {
  if (end.type === 'finished') return end.result;
  if (close?.type !== 'closed' || !close.cancelled) return undefined;
  return closeRun(state, { now: () => close.at }, { status: 'cancelled', stopReason: 'cancelled', output: state.thought });
}
