import { setImmediate } from 'node:timers/promises';
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
import { type BurstingPorts, burstPorts, type EndedBurst } from '../../../../src/core/bursts/burst-ports.ts';
import type { AllPorts } from '../../../../src/core/capabilities.ts';
import { defined } from '../../../../src/core/domain/json.ts';
import { Inbox } from '../../../../src/core/kernel/inbox.ts';
import type { ModelCall, RunPorts } from '../../../../src/core/kernel/ports.ts';
import { runTurn } from '../../../../src/core/kernel/run-loop.ts';
import type { ExecutionState } from './carried-over.ts';
import type { ScriptedActors } from './scripted-run.ts';

/** The bursts of a generated run: the model calls of each, and whether its worker is lost before the next call. */
export interface PlannedBursts {
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
export function withBursts(ports: AllPorts, execution: ExecutionState, environment: BurstEnvironment): BurstingPorts<AllPorts> {
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
