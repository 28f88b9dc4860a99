import type { Event } from '../../../../src/core/domain/record.ts';
import type { RunOpening } from '../../../../src/core/domain/run-input.ts';
import type { RunResultFields } from '../../../../src/core/domain/result.ts';
import type { StepResult } from '../../../../src/core/domain/tool-calls.ts';
import { Inbox } from '../../../../src/core/kernel/inbox.ts';
import type { Position } from '../../../../src/core/kernel/next-step.ts';
import type { AllPorts } from '../../../../src/core/capabilities.ts';
import { quietPorts } from '../fakes/quiet-ports.ts';
import { BEGINNING, runLoop } from '../../../../src/core/kernel/run-loop.ts';
import { newRunState, type RunState } from '../../../../src/core/kernel/run-state.ts';
import { windowLimit } from '../../../../src/core/kernel/continue-as-new.ts';
import { carriedOver, type ExecutionState } from './carried-over.ts';
import { type PlannedBursts, withBursts } from './bursts-in-memory.ts';
import { plannedAgent, type PlannedRun } from './planned-run.ts';
import { type ActiveRun, ScriptedActors } from './scripted-run.ts';

/** A generated run, from its beginning to its end, over all its executions. */
export interface ChainedRun {
  actors: ScriptedActors;
  events: Event[];
  steps: StepResult[];
  result: RunResultFields;
  /** The final state of each execution. */
  states: RunState[];
  /** The points where the run continued as new. */
  positions: Position[];
}

/** Called before every step, call and wait: decides if the run continues as new there. */
export type ContinueDue = () => boolean;

/**
 * The number of executions after which a generated run stays in the last one. Each execution begins with a validation of all
 * its input: a run of hundreds of executions takes longer than all others together, and shows nothing that the first do not.
 */
const MOST_EXECUTIONS = 60;

/** Options of a generated run. */
interface ChainOptions {
  opening?: RunOpening;
  bursts?: PlannedBursts;
}

/** Does a generated run; it continues as new if `continueDue` is true, once an execution has recorded something. */
export async function chainedRun(
  plan: PlannedRun,
  continueDue: ContinueDue,
  { opening = { input: 'Q' }, bursts }: ChainOptions = {},
): Promise<ChainedRun> {
  const actors = new ScriptedActors(plan);
  const chain = {
    actors,
    events: [] as Event[],
    steps: [] as StepResult[],
    states: [] as RunState[],
    positions: [] as Position[],
  };
  let ids = 0;
  const clock = { now: () => actors.now, uuid: () => `event-${++ids}` };
  const beginning = { runId: 'run-1', snapshot: plannedAgent(plan), startedAt: 1_699_999_998_500, ...opening };
  let executionState: ExecutionState = { state: newRunState(beginning, clock), position: BEGINNING, inbox: new Inbox() };
  for (;;) {
    const { state, position } = executionState;
    const environment = {
      actors,
      continueDue: () => chain.states.length < MOST_EXECUTIONS && continueDue(),
      before: [...chain.events],
    };
    const plain = { ...clock, ...portsOf(executionState, environment) };
    const { ports, end: endBursts } =
      bursts === undefined
        ? { ports: plain, end: () => undefined }
        : withBursts(plain, executionState, { bursts, actors, portsOf: (burst) => portsOf(burst, environment) });
    const end = await runLoop(state, ports, position);
    endBursts();
    chain.events.push(...state.context.events);
    chain.steps.push(...state.steps);
    chain.states.push(state);
    if (end.type === 'finished') return { ...chain, result: end.result };
    chain.positions.push(end.position);
    executionState = carriedOver({ ...executionState, position: end.position, executions: chain.states.length });
  }
}

/** The data of an execution from outside. */
interface Environment {
  actors: ScriptedActors;
  continueDue: ContinueDue;
  /** The record of the executions before. */
  before: Event[];
}

function portsOf({ state, inbox }: ExecutionState, { actors, continueDue, before }: Environment): Omit<AllPorts, 'now' | 'uuid'> {
  let hasActed = false;
  let isFull = false;
  const acted = <Outcome>(outcome: Outcome): Outcome => {
    hasActed = true;
    return outcome;
  };
  const run: ActiveRun = { runId: state.runId, state, inbox, record: () => [...before, ...state.context.events] };
  actors.act = () => acted(actors.say(run));
  return {
    ...quietPorts(),
    inbox,
    // The carried state marks the new ids: the marks are not part of the request.
    callModel: async ({ earlierIds: _, ...modelCall }) =>
      acted(await actors.during(actors.model({ ...modelCall, window: structuredClone(state.window) }, run))),
    runTool: async (invocation) => acted(await actors.during(actors.tool(invocation, run))),
    summarize: async (request) => acted(actors.summary(request, run)),
    cancelRequested: () => actors.cancelled,
    until: (isMet, deadline) => actors.until(isMet, deadline),
    // A paused run that continues as new is compacted before it, and so before the messages that come while it waits.
    continueDue: () => {
      if (!hasActed || (inbox.paused && state.window.bytes > (windowLimit(state) ?? Infinity))) return false;
      isFull ||= continueDue();
      return isFull;
    },
  };
}
