import type { Event } from '../../../src/core/domain/record/event.ts';
import type { RunOpening } from '../../../src/core/domain/run/opening.ts';
import type { RunResultFields } from '../../../src/core/domain/run/result.ts';
import type { StepResult } from '../../../src/core/domain/record/step.ts';
import { Inbox } from '../../../src/core/loop/state/inbox.ts';
import type { Position } from '../../../src/core/loop/next-step.ts';
import type { RunPorts } from '../../../src/core/loop/ports.ts';
import { quietPorts } from './quiet-ports.ts';
import { BEGINNING, runLoop } from '../../../src/core/loop/run-loop.ts';
import { newRunState, type RunState } from '../../../src/core/loop/state/run-state.ts';
import { windowLimit } from '../../../src/core/loop/compaction/window-limit.ts';
import { carriedOver, type Standing } from './carried-over.ts';
import { plannedAgent, type PlannedRun } from './planned-run.ts';
import { type Playing, World } from './scripted-run.ts';

/** A generated run, from its beginning to its end, in however many executions. */
export interface ChainedRun {
  world: World;
  events: Event[];
  steps: StepResult[];
  result: RunResultFields;
  /** The state in which each execution ended. */
  states: RunState[];
  /** Where the run continued as new. */
  positions: Position[];
}

/** Asked before every step, call and wait whether the run continues as new there. */
export type Switches = () => boolean;

/**
 * Executions after which a generated run stays in the last one. Each begins with a check of all that it is given: a run
 * of hundreds of executions takes longer than all others together, and shows nothing that the first do not.
 */
const MOST_EXECUTIONS = 60;

/** Plays a generated run; it continues as new where `switches` says so, as soon as an execution has done anything. */
export async function chainedRun(plan: PlannedRun, switches: Switches, opening: RunOpening = { input: 'Q' }): Promise<ChainedRun> {
  const world = new World(plan);
  const chain = {
    world,
    events: [] as Event[],
    steps: [] as StepResult[],
    states: [] as RunState[],
    positions: [] as Position[],
  };
  let ids = 0;
  const clock = { now: () => world.now, uuid: () => `event-${++ids}` };
  const beginning = { runId: 'run-1', snapshot: plannedAgent(plan), startedAt: 1_699_999_998_500, ...opening };
  let standing: Standing = { state: newRunState(beginning, clock), position: BEGINNING, inbox: new Inbox() };
  for (;;) {
    const { state, position } = standing;
    const ports = {
      ...clock,
      ...portsOf(standing, { world, switches: () => chain.states.length < MOST_EXECUTIONS && switches(), before: [...chain.events] }),
    };
    const end = await runLoop(state, ports, position);
    chain.events.push(...state.context.events);
    chain.steps.push(...state.steps);
    chain.states.push(state);
    if (end.type === 'finished') return { ...chain, result: end.result };
    chain.positions.push(end.position);
    standing = carriedOver({ ...standing, position: end.position, executions: chain.states.length });
  }
}

/** What surrounds an execution. */
interface Surroundings {
  world: World;
  switches: Switches;
  /** The record of the executions before. */
  before: Event[];
}

function portsOf({ state, inbox }: Standing, { world, switches, before }: Surroundings): Omit<RunPorts, 'now' | 'uuid'> {
  let hasActed = false;
  let isFull = false;
  const acted = <Outcome>(outcome: Outcome): Outcome => {
    hasActed = true;
    return outcome;
  };
  const run: Playing = { runId: state.runId, state, inbox, record: () => [...before, ...state.context.events] };
  world.act = () => acted(world.say(run));
  return {
    ...quietPorts(),
    inbox,
    // Which ids are new is told by what is carried: it is not part of the request.
    callModel: async ({ earlierIds: _, ...modelCall }) =>
      acted(await world.during(world.model({ ...modelCall, window: structuredClone(state.window) }, run))),
    runTool: async (invocation) => acted(await world.during(world.tool(invocation, run))),
    summarise: async (request) => acted(world.summary(request, run)),
    cancelRequested: () => world.cancelled,
    until: (isMet, deadline) => world.until(isMet, deadline),
    // A paused run that is carried on is compacted for that, before the messages that come while it waits.
    continueDue: () => {
      if (!hasActed || (inbox.paused && state.window.bytes > (windowLimit(state) ?? Infinity))) return false;
      isFull ||= switches();
      return isFull;
    },
  };
}
