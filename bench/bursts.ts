import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { Worker } from '@temporalio/worker';
import { ACTIVITIES } from '../src/core/protocol.ts';
import { connect, type LonghaulClient } from '../src/client/index.ts';
import { startDevServer } from '../src/dev-server/dev-server.ts';
import { executionHistory } from '../src/history/history-events.ts';
import { startFakeProvider } from '../test/processes/fake-provider.ts';
import { ProgramProcess } from '../test/processes/program-process.ts';
import { quietRuntime } from '../test/processes/quiet-runtime.ts';
import { bundleWorkflows, RUNS_MODULE } from '../worker/bundle-workflows.ts';
import { LonghaulPlugin } from '../worker/index.ts';
import { weighChain } from './figures/encoded-history.ts';
import { inTurn } from './sides/side.ts';
import { describeMachine, serverCpuClock } from './figures/machine.ts';
import { median, rounded } from './figures/statistics.ts';
import type { HistoryOptions, LatencyOptions, CrowdOptions } from './options.ts';
import { contentBytes, TOOL_NAME } from './script/scripted-run.ts';
import { AS_PUBLISHED } from '../test/processes/workflow-bundle.ts';
import type { SideProcess, SideSetting } from './sides/side-process.ts';
import { medians, ratios, runOnSide, takeTurn, type Turn, type TurnFigures, turnLine, warmUp } from './sides/turn.ts';
import { setTimeout as pause } from 'node:timers/promises';
import { MEASURED_MEMORY } from './sides/measured-memory.ts';

/** The sides: Longhaul without bursts and with them, and the hand-written loop. Each has a separate process. */
const PROGRAMS = { step: 'longhaul', burst: 'bursts', loop: 'loop' } as const;

type SideName = keyof typeof PROGRAMS;

const SIDES = Object.keys(PROGRAMS) as SideName[];

const MODEL_ACTIVITIES: Readonly<Record<SideName, string>> = {
  step: ACTIVITIES.callModel,
  burst: ACTIVITIES.runBurst,
  loop: 'askModel',
};

type Say = (line: string) => void;

/** The processes of the sides, and what else is measured. */
interface Stage {
  client: LonghaulClient;
  sides: ReadonlyMap<SideName, SideProcess>;
  serverCpuMs: () => number;
  machine: object;
}

/** Compares Longhaul in bursts with Longhaul without, and with the loop: their times, or their histories. */
export async function measureBursts(options: HistoryOptions | LatencyOptions, say: Say): Promise<object> {
  return withSides(options.resultChars, say, async (stage) => {
    const figures = options.command === 'latency' ? await times(stage, options, say) : await histories(stage, options, say);
    const { steps, rounds, resultChars } = options;
    return { pace: 'burst', steps, rounds, resultChars, ...figures, machine: stage.machine };
  });
}

async function withSides<Result>(resultChars: number, say: Say, measure: (stage: Stage) => Promise<Result>): Promise<Result> {
  quietRuntime();
  const server = await startDevServer({ say, env: { ...process.env, TEMPORAL_ADDRESS: '' } });
  const provider = await startFakeProvider();
  const { address, namespace } = server;
  const client = await connect({ address, namespace });
  const sides = new Map<SideName, SideProcess>();
  try {
    for (const name of SIDES) {
      const calls = [MODEL_ACTIVITIES[name], TOOL_NAME];
      const setting = { address, namespace, baseURL: provider.baseURL, resultChars, codec: 'none', tier: 'remote', calls };
      const side: SideProcess = new ProgramProcess(fileURLToPath(new URL(`./processes/${PROGRAMS[name]}.ts`, import.meta.url)), setting);
      sides.set(name, side);
      await side.start();
    }
    const machine = await describeMachine(client.temporal);
    return await measure({ client, sides, serverCpuMs: serverCpuClock(address) ?? (() => 0), machine });
  } finally {
    await Promise.all([...sides.values()].map((side) => side.stop({ type: 'stop' })));
    await client.close();
    await provider.stop();
    await server.stop();
  }
}

/** A round has `runs` runs of each side, in turns of `concurrency` at once, and each begins with another side. */
async function times(stage: Stage, options: LatencyOptions, say: Say): Promise<object> {
  const { steps, runs, concurrency, rounds } = options;
  const turn = { steps, runs, concurrency };
  for (const side of SIDES) await turnOf(stage, side, warmUp(turn));
  const measured: Record<SideName, TurnFigures[]> = { step: [], burst: [], loop: [] };
  for (let round = 1; round <= rounds; round += 1) {
    for (const side of inTurn(SIDES, round)) {
      const figures = await turnOf(stage, side, turn);
      measured[side].push(figures);
      say(`round ${round} of ${rounds}, ${side}: ${turnLine(figures)}`);
    }
  }
  return {
    runs,
    concurrency,
    burst: medians(measured.burst),
    step: medians(measured.step),
    loop: medians(measured.loop),
    burstToStep: ratios(measured.burst, measured.step),
    burstToLoop: ratios(measured.burst, measured.loop),
  };
}

/** Has a side take its turn. */
async function turnOf({ sides, serverCpuMs }: Stage, name: SideName, turn: Turn): Promise<TurnFigures> {
  const side = sides.get(name);
  if (side === undefined) throw new RangeError(`Nothing was started for "${name}"`);
  return takeTurn(side, turn, { newId: () => `bursts-${name}-${randomUUID()}`, serverCpuMs });
}

/** The history of one run of each side, and the time of replaying Longhaul's. */
async function histories(stage: Stage, { steps, resultChars, rounds }: HistoryOptions, say: Say): Promise<object> {
  const content = contentBytes(steps, resultChars);
  const ids: Record<SideName, string> = { step: '', burst: '', loop: '' };
  const figures: Partial<Record<SideName, object>> = {};
  for (const [name, side] of stage.sides) {
    ids[name] = `history-${name}-${randomUUID()}`;
    await runOnSide(side, ids[name], steps);
    const { executions, events, bytes } = await weighChain(stage.client.temporal, ids[name], MODEL_ACTIVITIES[name]);
    figures[name] = {
      executions,
      events,
      eventsPerStep: rounded(events / steps, 3),
      historyBytes: bytes,
      amplification: rounded(bytes / content, 3),
    };
    say(`${name}: ${events} events, ${bytes} bytes`);
  }
  return { contentBytes: content, ...figures, replay: await replays(stage.client, ids, { steps, rounds, say }) };
}

/** Replays of one history of each pace in a round. */
const REPLAYS = 10;

/** The processor time of replaying the histories of Longhaul in this process, which has nothing else to do. */
async function replays(
  client: LonghaulClient,
  ids: Readonly<Record<SideName, string>>,
  { steps, rounds, say }: { steps: number; rounds: number; say: Say },
): Promise<object> {
  const plugins = [new LonghaulPlugin({ agents: [], providers: {} })];
  // As workers have it: without the frames of stack traces, which would be most of the time.
  const workflowBundle = await bundleWorkflows({ ...AS_PUBLISHED, workflowsPath: RUNS_MODULE, plugins });
  const cpuMsOf = async (workflowId: string): Promise<number> => {
    const { runId } = await client.temporal.workflow.getHandle(workflowId).describe();
    const history = await executionHistory(client.temporal, workflowId, runId);
    const all = Array.from({ length: REPLAYS }, () => ({ workflowId, history }));
    const before = process.cpuUsage();
    for await (const { error } of Worker.runReplayHistories({ workflowBundle, plugins }, all)) if (error !== undefined) throw error;
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000 / REPLAYS / steps;
  };
  for (const pace of ['step', 'burst'] as const) await cpuMsOf(ids[pace]);
  const measured: { step: number; burst: number }[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    const turns = new Map<'step' | 'burst', number>();
    for (const pace of inTurn(['step', 'burst'] as const, round)) turns.set(pace, await cpuMsOf(ids[pace]));
    const [step, burst] = [turns.get('step') ?? NaN, turns.get('burst') ?? NaN];
    measured.push({ step, burst });
    say(`replay ${round} of ${rounds}: ${rounded(step, 2)} and ${rounded(burst, 2)} ms of CPU per step without bursts and with them`);
  }
  const all = measured.map(({ step, burst }) => burst / step);
  return {
    stepCpuMsPerStep: rounded(median(measured.map(({ step }) => step)), 3),
    burstCpuMsPerStep: rounded(median(measured.map(({ burst }) => burst)), 3),
    ratio: rounded(median(all), 3),
    range: [rounded(Math.min(...all), 3), rounded(Math.max(...all), 3)],
  };
}

const WORKER = fileURLToPath(new URL('./processes/bursts.ts', import.meta.url));

/** Runs before the first reading: they load and compile code, and open connections. */
const WARM_UP_RUNS = 8;

/** Milliseconds until idle connections are closed, and runs that have ended are out of the cache. */
const REST_MS = 10_000;

/** Measures what this many bursts leave in the heaps of their worker: each run has the steps of one burst. */
export async function measureBurstsAtOnce({ runs, steps, resultChars }: CrowdOptions, say: Say): Promise<object> {
  quietRuntime();
  const server = await startDevServer({ say, env: { ...process.env, TEMPORAL_ADDRESS: '' } });
  const provider = await startFakeProvider();
  const { address, namespace } = server;
  const client = await connect({ address, namespace });
  const setting: SideSetting = {
    address,
    namespace,
    baseURL: provider.baseURL,
    resultChars,
    codec: 'none',
    tier: 'remote',
    calls: [ACTIVITIES.runBurst, TOOL_NAME],
  };
  const worker: SideProcess = new ProgramProcess(WORKER, setting, { execArgv: MEASURED_MEMORY });
  try {
    await worker.start();
    await runAtOnce(worker, WARM_UP_RUNS, steps);
    const before = await heapOf(worker);
    const start = performance.now();
    await runAtOnce(worker, runs, steps);
    const seconds = rounded((performance.now() - start) / 1_000, 1);
    const after = await heapOf(worker);
    say(`${runs} runs in bursts took ${seconds} s: the heaps had ${before} bytes before them, and ${after} after them`);
    const machine = await describeMachine(client.temporal);
    return {
      pace: 'burst',
      runs,
      steps,
      resultChars,
      seconds,
      heapBytesBefore: before,
      heapBytesAfter: after,
      growth: rounded(after / before, 3),
      machine,
    };
  } finally {
    await worker.stop({ type: 'stop' });
    await client.close();
    await provider.stop();
    await server.stop();
  }
}

async function heapOf(worker: SideProcess): Promise<number> {
  await pause(REST_MS);
  const { bytes } = await worker.ask({ type: 'heap' }, 'heap');
  return bytes;
}

async function runAtOnce(worker: SideProcess, runs: number, steps: number): Promise<void> {
  const ids = Array.from({ length: runs }, () => `at-once-${randomUUID()}`);
  await Promise.all(
    ids.map(async (runId) => {
      const { error } = await worker.ask({ type: 'run', runId, steps }, 'ran', (reply) => reply.runId === runId);
      if (error !== undefined) throw new Error(`Run "${runId}" came to no answer: ${error}`);
    }),
  );
}
