import { type Message, ProgramProcess } from '../test/processes/program-process.ts';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type LonghaulClient, type RunHandle } from '../src/client/index.ts';
import { startDevServer } from '../src/dev-server/dev-server.ts';
import { type BatchApi, completion, lastText, startBatchApi } from '../test/fakes/batch-api.ts';
import { atOnce } from '../test/processes/at-once.ts';
import { bundleToFile } from '../test/processes/workflow-bundle.ts';
import { describeMachine, type Machine } from './figures/machine.ts';
import { rounded } from './figures/statistics.ts';
import type { BatchBenchOptions } from './options.ts';

/** The setting of a worker process. */
export interface BatchWorkerSetting {
  address: string;
  namespace: string;
  taskQueue: string;
  bundlePath: string;
  apiURL: string;
}

/** The request to a worker process: for the model calls that hold one of its slots now. */
export type BatchWorkerRequest = { type: 'slots' } & Message;

export type BatchWorkerReply = { type: 'ready' } | { type: 'slots'; held: number };

/** The name of the agent of the bench. */
export const AGENT = 'reader';

/** The task queue of the bench. */
const TASK_QUEUE = 'bench-batch';

/** The figures of `batch`. */
interface BatchFigures {
  /** US dollars of a run in batches, as a share of the same run at once. */
  priceRatio: number;
  /** Events of a run in batches, as a share of the same run at once; medians. */
  eventsRatio: number;
  /** Model calls that hold a slot of a worker while the batches are at the provider, at most. */
  slotsHeld: number;
  /** Runs with another result, usage or number of calls than they must have. */
  wrong: number;
  /** Requests that the provider was paid for more than once. */
  paidTwice: number;
  /** Bytes of the histories of the collectors, per call. */
  collectorBytesPerCall: number;
  runs: number;
  kills: number;
  batches: number;
  seconds: number;
  machine: Machine;
}

/** Calls of a run: one with the tool call, and the answer. */
const CALLS = 2;

/** Runs of the other tier, which all are equal. */
const INTERACTIVE_RUNS = 20;

const WORKERS = 2;
const STARTS_AT_ONCE = 50;

/** Milliseconds that a batch is at the provider. */
const AT_PROVIDER_MS = 10_000;

/** Milliseconds between two kills: the minimum, and the maximum to add. */
const KILL_MS = { from: 1_500, more: 4_000 };

const WORKER = fileURLToPath(new URL('./processes/batch.ts', import.meta.url));

type WorkerProcess = ProgramProcess<BatchWorkerRequest, BatchWorkerReply>;

/** Measures runs of the tier `batch` whose workers are killed, next to some of the other tier whose workers are not. */
export async function measureBatch({ runs, kills }: BatchBenchOptions, say: (line: string) => void): Promise<BatchFigures> {
  const dev = await startDevServer({ say, env: { ...process.env, TEMPORAL_ADDRESS: '' } });
  const { address, namespace } = dev;
  const client = await connect({ address, namespace });
  const bundle = await bundleToFile();
  const api = await startBatchApi({
    delayMs: AT_PROVIDER_MS,
    answer: lookAndTell,
    atOnce: lookAndTell,
  });
  const setting: BatchWorkerSetting = { address, namespace, taskQueue: TASK_QUEUE, bundlePath: bundle.path, apiURL: api.url };
  const workers = Array.from({ length: WORKERS }, (): WorkerProcess => new ProgramProcess(WORKER, setting));
  const begun = performance.now();
  try {
    await Promise.all(workers.map((worker) => worker.start()));
    const plain = await endedRuns(client, INTERACTIVE_RUNS, 'interactive');
    say(`${plain.length} runs at once`);
    const batched = endedRuns(client, runs, 'batch');
    const watch = new AbortController();
    const slots = watchSlots(workers, api, watch.signal);
    const killed = await killInTurn(workers, kills, batched, say);
    const ended = await Promise.race([batched, ...workers.map(({ died }) => died)]);
    watch.abort();
    for (const [text, count] of counts(ended.flatMap(({ problem }) => problem ?? []))) say(`${count} runs: ${text}`);
    const costs = sum(ended.map(({ costUsd }) => costUsd)) / runs / (sum(plain.map(({ costUsd }) => costUsd)) / INTERACTIVE_RUNS);
    return {
      priceRatio: rounded(costs, 4),
      eventsRatio: rounded(middle(ended.map(({ events }) => events)) / middle(plain.map(({ events }) => events)), 3),
      slotsHeld: await slots,
      wrong: ended.filter(({ problem }) => problem !== undefined).length + Math.abs(api.paid.size - runs * CALLS),
      paidTwice: [...api.paid.values()].filter((times) => times > 1).length,
      collectorBytesPerCall: Math.round((await collectorBytes(client)) / (runs * CALLS)),
      runs,
      kills: killed,
      batches: api.batches.length,
      seconds: Math.round((performance.now() - begun) / 1_000),
      machine: await describeMachine(client.temporal),
    };
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()));
    await api.close();
    await bundle.remove();
    await client.close();
    await dev.stop();
  }
}

/** Calls the tool, and then reports its result. */
function lookAndTell(line: Parameters<typeof lastText>[0]): Record<string, unknown> {
  const text = lastText(line);
  return text.startsWith('Q') ? completion('', [{ name: 'look', arguments: { at: text } }]) : completion(`found ${text}`);
}

interface EndedRun {
  /** Its problem. */
  problem?: string;
  costUsd: number;
  events: number;
}

async function endedRuns(client: LonghaulClient, count: number, tier: 'batch' | 'interactive'): Promise<EndedRun[]> {
  const started = await atOnce(
    Array.from({ length: count }, (_, index) => index),
    STARTS_AT_ONCE,
    (index) => client.start(AGENT, { input: `Q${index}`, tier, taskQueue: TASK_QUEUE, runId: `${tier}-${index}` }),
  );
  return Promise.all(started.map((run, index) => endedRun(client, run, index)));
}

async function endedRun(client: LonghaulClient, run: RunHandle<unknown>, index: number): Promise<EndedRun> {
  const { status, output, usage, error } = await run.result();
  const { historyLength } = await client.temporal.workflow.getHandle(run.runId).describe();
  const isRight =
    status === 'completed' && output === `found seen Q${index}` && usage.llmCalls === CALLS && usage.totalTokens === 1_100 * CALLS;
  const ended = { costUsd: usage.costUsd ?? 0, events: historyLength };
  return isRight ? ended : { ...ended, problem: error ?? `${status} after ${usage.llmCalls} calls` };
}

/** Counts equal texts, the most frequent first. */
function counts(texts: readonly string[]): [text: string, count: number][] {
  const all = [...Map.groupBy(texts, (text) => text)].map(([text, same]): [string, number] => [text, same.length]);
  return all.toSorted(([, one], [, other]) => other - one);
}

/** Kills the workers in turn, so often or until all runs have ended. Returns the number of kills. */
async function killInTurn(
  workers: readonly WorkerProcess[],
  kills: number,
  ended: Promise<unknown>,
  say: (line: string) => void,
): Promise<number> {
  const state = { isOver: false };
  ended.then(
    () => (state.isOver = true),
    () => (state.isOver = true),
  );
  let killed = 0;
  // The same in each measurement.
  let chance = 1;
  while (killed < kills && !state.isOver) {
    chance = (chance * 48_271) % 2_147_483_647;
    await sleep(KILL_MS.from + (chance % KILL_MS.more));
    await workers[killed % workers.length]?.killAndStart();
    killed += 1;
    if (killed % 5 === 0) say(`${killed} kills`);
  }
  return killed;
}

/** Returns the most model calls that held a slot while batches were at the provider. */
async function watchSlots(workers: readonly WorkerProcess[], { batches }: BatchApi, signal: AbortSignal): Promise<number> {
  let most = 0;
  while (!signal.aborted) {
    await sleep(500, undefined, { signal }).catch(() => undefined);
    const isWaiting = batches.some(({ postedAt }) => Date.now() - postedAt < AT_PROVIDER_MS);
    if (!isWaiting) continue;
    for (const worker of workers) {
      const { held } = await worker.ask({ type: 'slots' }, 'slots').catch(() => ({ held: 0 }));
      most = Math.max(most, held);
    }
  }
  return most;
}

/** Returns the bytes of the histories of all collectors, including their earlier executions. */
async function collectorBytes({ temporal }: LonghaulClient): Promise<number> {
  let bytes = 0;
  for await (const { workflowId, runId } of temporal.workflow.list({ query: `WorkflowType = 'batchCollector'` })) {
    const { historySize = 0 } = await temporal.workflow.getHandle(workflowId, runId).describe();
    bytes += historySize;
  }
  return bytes;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}

function middle(numbers: readonly number[]): number {
  return numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length / 2)] ?? 0;
}
