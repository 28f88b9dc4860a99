import type { Event } from '../../src/domain/event.ts';
import type { RunResultFields } from '../../src/domain/run-result.ts';
import type { StepResult } from '../../src/domain/step.ts';
import type { Position } from '../../src/loop/next-step.ts';
import type { RunPorts } from '../../src/loop/ports.ts';
import { fromCarry, type RunCarry, toCarry } from '../../src/loop/run-carry.ts';
import { BEGINNING, runLoop } from '../../src/loop/run-loop.ts';
import { newRunState, type RunState } from '../../src/loop/run-state.ts';
import { windowLimit } from '../../src/loop/window-limit.ts';
import { checkRunCarry } from '../../src/schema/run-carry-schema.ts';
import { Inbox } from '../../src/loop/inbox.ts';
import { type PlannedRun, World } from './scripted-run.ts';
import { testSnapshot, testTool } from './snapshot.ts';

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
  /** The phases in which it waited because it was paused. */
  waits: number;
}

/** What one execution of a run begins with. */
interface Execution {
  state: RunState;
  position: Position;
  inbox: Inbox;
}

/** Asked before every step, call and wait whether the run continues as new there. */
export type Switches = () => boolean;

/** Plays a generated run; it continues as new where `switches` says so, as soon as an execution has done anything. */
export async function chainedRun(plan: PlannedRun, switches: Switches): Promise<ChainedRun> {
  const world = new World(plan);
  const chain = {
    world,
    events: [] as Event[],
    steps: [] as StepResult[],
    states: [] as RunState[],
    positions: [] as Position[],
    waits: 0,
  };
  let ids = 0;
  const clock = { now: () => 1_700_000_000_000, uuid: () => `event-${++ids}` };
  const beginning = { runId: 'run-1', snapshot: snapshotOf(plan), input: 'Q', startedAt: 1_699_999_998_500 };
  let execution: Execution = { state: newRunState(beginning, clock), position: BEGINNING, inbox: new Inbox() };
  for (;;) {
    const { state, position, inbox } = execution;
    const ports = { ...clock, ...portsOf(execution, world, switches, () => (chain.waits += 1)) };
    const end = await runLoop(state, ports, position);
    chain.events.push(...state.context.events);
    chain.steps.push(...state.steps);
    chain.states.push(state);
    if (end.type === 'finished') return { ...chain, result: end.result };
    chain.positions.push(end.position);
    execution = carriedOver(toCarry(state, end.position, { deps: {}, executions: chain.states.length, inbox: inbox.carried() }));
  }
}

function snapshotOf({ maxIterations, finalAttempt, parallel, structured, window }: PlannedRun): ReturnType<typeof testSnapshot> {
  const schema = { type: 'object' };
  return testSnapshot({
    tools: [testTool('known'), testTool('lonely', { parallel: false })],
    parallel,
    window,
    limits: { maxIterations, finalAttempt },
    ...(structured ? { output: { mode: 'final_answer' as const, schema, providerSchema: schema, strict: true, maxRetries: 2 } } : {}),
  });
}

function portsOf({ state, inbox }: Execution, world: World, switches: Switches, waits: () => void): Omit<RunPorts, 'now' | 'uuid'> {
  let hasActed = false;
  let isFull = false;
  const acted = <Outcome>(outcome: Outcome): Outcome => {
    hasActed = true;
    return outcome;
  };
  return {
    // Which ids are new is told by what is carried: it is not part of the request.
    callModel: async ({ earlierIds: _, ...modelCall }) =>
      acted(await world.model({ ...modelCall, window: structuredClone(state.window) }, inbox)),
    runTool: async (invocation) => acted(await world.tool(invocation, state, inbox)),
    summarise: async (request) => acted(world.summary(request)),
    cancelRequested: () => world.cancelled,
    takeMessages: () => inbox.take(),
    paused: () => inbox.paused,
    idle: async () => {
      waits();
      acted(world.waited(inbox));
    },
    // A paused run that is carried on is compacted for that, before the messages that come while it waits.
    continueDue: () => {
      if (!hasActed || (inbox.paused && state.window.bytes > (windowLimit(state) ?? Infinity))) return false;
      isFull ||= switches();
      return isFull;
    },
    allows: () => true,
  };
}

/** What comes of a run on its way through the input of the next execution. */
function carriedOver(carry: RunCarry): Execution {
  const checked = checkRunCarry(JSON.parse(JSON.stringify(carry)));
  if (!checked.ok) throw new Error(checked.problem);
  return { ...fromCarry(checked.carry), inbox: new Inbox(checked.carry.inbox) };
}
