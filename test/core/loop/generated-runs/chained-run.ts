import { setImmediate } from 'node:timers/promises';
import { type BurstingPorts, burstPorts, type EndedBurst } from '../../../../src/core/bursts/burst-ports.ts';
import {
  type BurstEntry,
  burstRecordOf,
  fromBurstState,
  mayRunInBurst,
  modelKey,
  type StoredEntry,
  storedEntry,
  toBurstState,
  toolKey,
} from '../../../../src/core/bursts/burst.ts';
import type { AllPorts } from '../../../../src/core/capabilities.ts';
import { defined } from '../../../../src/core/domain/json.ts';
import type { Event } from '../../../../src/core/domain/record.ts';
import type { RunResultFields } from '../../../../src/core/domain/result.ts';
import type { RunOpening } from '../../../../src/core/domain/run-input.ts';
import type { StepResult } from '../../../../src/core/domain/tool-calls.ts';
import { windowLimit } from '../../../../src/core/kernel/continue-as-new.ts';
import { Inbox } from '../../../../src/core/kernel/inbox.ts';
import type { Position } from '../../../../src/core/kernel/next-step.ts';
import type { ModelCall, RunPorts } from '../../../../src/core/kernel/ports.ts';
import { BEGINNING, runLoop, runTurn } from '../../../../src/core/kernel/run-loop.ts';
import { newRunState, type RunState } from '../../../../src/core/kernel/run-state.ts';
import { quietPorts } from '../fakes/fake-ports.ts';
import { carriedOver, type ExecutionState } from './carried-over.ts';
import { plannedAgent, type PlannedRun } from './planned-run.ts';
import { type ActiveRun, ScriptedActors } from './scripted-run.ts';

/** The bursts of a generated run: the model calls of each, and whether its worker is lost before the next call. */
interface PlannedBursts {
  steps: number;
  isLost: () => boolean;
}

interface BurstEnvironment {
  bursts: PlannedBursts;
  actors: ScriptedActors;
  /** Returns the ports of the actors for the loop of a burst. */
  portsOf: (burst: ExecutionState) => Omit<AllPorts, 'now' | 'uuid'>;
}

/** Adds bursts to the ports of a generated run, with the functions that runs use for them, but without an activity. */
function withBursts(ports: AllPorts, execution: ExecutionState, environment: BurstEnvironment): BurstingPorts<AllPorts> {
  const settled = (): Promise<void> => environment.actors.during(setImmediate());
  return burstPorts(ports, {
    state: () => execution.state,
    make: (call) => environment.actors.during(burstOf(call, execution, environment)),
    continueModelCall: ports.callModel,
    continueTool: ports.runTool,
    settled,
    delivered: () => void settled(),
    growth: () => 0,
  });
}

let seeds = 0;

/** Makes a burst. An attempt that is lost has stored all outcomes so far, and the next one begins with them. */
async function burstOf(call: ModelCall, execution: ExecutionState, environment: BurstEnvironment): Promise<EndedBurst | undefined> {
  const { actors } = environment;
  const begin = { seed: `seed-${(seeds += 1)}-000000000000`, begunAt: actors.now };
  const act = actors.act;
  const entries: BurstEntry[] = [];
  while (await attempt(call, execution, { ...environment, ...begin, entries }));
  actors.act = act;
  const stored = JSON.parse(JSON.stringify(entries.map(storedEntry))) as StoredEntry[];
  return { record: burstRecordOf({ entries: stored }), ...begin };
}

/** Makes one attempt. Returns true if it was lost. */
async function attempt(
  call: ModelCall,
  { state: { runId, snapshot, window, ...run }, inbox }: ExecutionState,
  parts: BurstEnvironment & { entries: BurstEntry[]; seed: string; begunAt: number },
): Promise<boolean> {
  const { bursts, actors, portsOf, entries, seed, begunAt } = parts;
  const carried = JSON.parse(JSON.stringify(toBurstState({ runId, snapshot, window, ...run }))) as ReturnType<typeof toBurstState>;
  const known = [...entries];
  const worker = { runId, snapshot, window: structuredClone(window), ...(run.principal === undefined ? {} : { principal: run.principal }) };
  const state = fromBurstState(worker, carried);
  const made = portsOf({ state, inbox, position: { type: 'call_model', final: false } });
  const { received } = inbox;
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const running = new Set<Promise<unknown>>();
  let isStopping = false;
  let isLost = false;
  const stop = (): Promise<never> => {
    isStopping = true;
    end();
    return new Promise(() => undefined);
  };
  const isAwaited = (): boolean => inbox.received > received || actors.cancelled;
  const steps = (): number => entries.filter(({ model }) => model !== undefined).length;
  const learned = async <Outcome>(outcome: Promise<Outcome>, entry: (of: Outcome) => BurstEntry): Promise<Outcome> => {
    const learning = outcome.then((one) => entries.push(entry(one)));
    running.add(learning);
    await learning;
    running.delete(learning);
    return isStopping ? stop() : outcome;
  };
  const loses = (): boolean => {
    // Calls in flight would be repeated, and the actors of a test make each call once.
    if (entries.length === known.length || running.size > 0 || !bursts.isLost()) return false;
    isLost = true;
    return true;
  };
  const live: Partial<RunPorts> = {
    now: () => actors.now,
    uuid: () => '',
    inbox: new Inbox(),
    cancelRequested: () => false,
    continueDue: () => false,
    allows: () => true,
    abortModelCall: () => undefined,
    callModel: (modelCall) => {
      if (isStopping || (steps() > 0 && (isAwaited() || steps() >= bursts.steps)) || loses()) return stop();
      return learned(made.callModel(modelCall), (model) => ({ at: actors.now - begunAt, key: modelKey(modelCall), model }));
    },
    runTool: (invocation) => {
      if (isStopping || isAwaited() || !mayRunInBurst(invocation.tool) || loses()) return stop();
      return learned(made.runTool(invocation), (tool) => ({ at: actors.now - begunAt, key: toolKey(invocation), tool }));
    },
  };
  let isFirst = true;
  const { ports } = burstPorts(live as RunPorts, {
    state: () => undefined,
    make: () => {
      if (!isFirst) return undefined;
      isFirst = false;
      return Promise.resolve({ record: { entries: structuredClone(known) }, seed, begunAt });
    },
    continueModelCall: stop,
    continueTool: stop,
    settled: () => setImmediate(),
    growth: () => 0,
  });
  const limited = new Proxy(ports, { get: (target, name) => (Object.hasOwn(target, name) ? target[name as keyof RunPorts] : stop) });
  const { final, shortened, paused } = call;
  runTurn(state, limited, { type: 'call_model', final, ...defined({ shortened, paused }) }).then(
    () => end(),
    () => end(),
  );
  await ended;
  isStopping = true;
  while (running.size > 0) await Promise.all(running);
  return isLost;
}

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
    const plain = { ...clock, ...plannedPorts(executionState, environment) };
    const { ports, end: endBursts } =
      bursts === undefined
        ? { ports: plain, end: () => undefined }
        : withBursts(plain, executionState, { bursts, actors, portsOf: (burst) => plannedPorts(burst, environment) });
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

function plannedPorts({ state, inbox }: ExecutionState, { actors, continueDue, before }: Environment): Omit<AllPorts, 'now' | 'uuid'> {
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
