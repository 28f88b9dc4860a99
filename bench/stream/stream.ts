import { type LonghaulClient, connect, memoryStreams, redisStreams, type StreamItem, type RunHandle } from '../../src/client/index.ts';
import { percentile, rounded, sum, median } from '../figures/statistics.ts';
import { quietRuntime } from '../../test/processes/quiet-runtime.ts';
import type { StreamOptions, Sink } from './stream-options.ts';
import { fileURLToPath } from 'node:url';
import { startDevServer } from '../../src/dev-server/dev-server.ts';
import { describeMachine, type Machine, now } from '../figures/machine.ts';
import { startRedis } from '../sides/redis-process.ts';
import { ProgramProcess } from '../../test/processes/program-process.ts';
import { bundleToFile } from '../../test/processes/workflow-bundle.ts';
import { startWorkers, type WorkersSetting, QUEUES, streamer } from './stream-workers.ts';
import { startTokenProvider, tokensIn, type TokenScript } from './token.ts';
import { outputText } from '../../src/core/domain/content.ts';
import type { Event } from '../../src/core/domain/record.ts';
import { ACTIVITIES } from '../../src/core/protocol.ts';
import { type HistoryEvent, runHistory } from '../../src/history/history-events.ts';
import { measureHistory } from '../figures/encoded-history.ts';

/** Answers of each run: all but the last call a tool. */
const ANSWERS = 2;

/** The figures of the way of tokens. */
interface Delivery {
  deltas: number;
  p50Ms: number;
  p95Ms: number;
  lost: number;
  duplicated: number;
}

/** Measures the way of tokens from the provider to readers, and the cost of it. Returns the object of the last line. */
export async function measureStream(options: StreamOptions, say: (line: string) => void): Promise<object> {
  const { sink, runs, rate, seconds, steps, rounds } = options;
  quietRuntime();
  return withStreams(sink, say, async ({ client, machine }) => {
    const added = await measureAdded(client);
    say(`a sink and a reader add ${added.eventsAdded} events and ${added.historyBytesAdded} bytes to a history`);
    const delivery = await measureDelivery(client, options);
    say(`${delivery.deltas} tokens: p50 ${delivery.p50Ms} ms, p95 ${delivery.p95Ms} ms`);
    const { msPerStep, ...ratios } = await measureSteps(client, { runs, steps, rounds, rate }, say);
    const unpaced = await measureSteps(client, { runs: 1, steps, rounds, rate: 0 }, say);
    return { sink, ...delivery, ...added, ...ratios, msPerStep, unpaced, runs, rate, seconds, steps, rounds, machine };
  });
}

async function measureDelivery(client: LonghaulClient, { runs, rate, seconds }: StreamOptions): Promise<Delivery> {
  const tokens = Math.ceil((rate * seconds) / ANSWERS);
  const read = await Promise.all(
    Array.from({ length: runs }, async (_, index) => {
      const phaseMs = (index * 1_000) / rate / runs;
      const run = await startScript(client, `tokens-${index}`, { steps: ANSWERS - 1, tokens, rate, phaseMs }, 'with');
      const [received] = await Promise.all([readTokens(run), completed(run)]);
      return received;
    }),
  );
  const delays = read.flatMap((one) => one.delays);
  return {
    deltas: delays.length,
    p50Ms: rounded(percentile(delays, 50), 2),
    p95Ms: rounded(percentile(delays, 95), 2),
    lost: sum(read.map(({ lost }) => lost)),
    duplicated: sum(read.map(({ duplicated }) => duplicated)),
  };
}

/** The environment of a measurement of streams. */
interface StreamSurroundings {
  /** Starts the runs, and reads them. */
  client: LonghaulClient;
  machine: Machine;
}

const PROGRAM = fileURLToPath(new URL('../processes/stream.ts', import.meta.url));

/**
 * Starts a dev server, two workers that differ in the sink alone, and a client with that sink. With Redis, the workers are in a process apart
 * from the client. Ends everything afterwards.
 */
async function withStreams<Result>(
  sink: Sink,
  say: (line: string) => void,
  measure: (surroundings: StreamSurroundings) => Promise<Result>,
): Promise<Result> {
  await using all = new AsyncDisposableStack();
  const server = await startDevServer({ say, env: { ...process.env, TEMPORAL_ADDRESS: '' } });
  all.defer(() => server.stop());
  const bundle = await bundleToFile();
  all.defer(() => bundle.remove());
  const provider = await startTokenProvider();
  all.defer(() => provider.stop());
  const { address, namespace } = server;
  const { streams, work, stop } = sink === 'memory' ? await inOneProcess() : await inTwoProcesses();
  all.defer(stop);
  const client = await connect({ address, namespace, streams });
  all.defer(() => client.close());
  all.defer(await work({ address, namespace, bundlePath: bundle.path, providerURL: provider.baseURL }));
  return await measure({ client, machine: await describeMachine(client.temporal) });
}

interface Opened {
  streams: ReturnType<typeof memoryStreams>;
  work: (setting: WorkersSetting) => Promise<() => Promise<void>>;
  stop: () => Promise<void>;
}

async function inOneProcess(): Promise<Opened> {
  const streams = memoryStreams();
  return { streams, work: (setting) => startWorkers(setting, streams), stop: async () => undefined };
}

async function inTwoProcesses(): Promise<Opened> {
  const { url, stop } = await startRedis();
  const work = async (setting: WorkersSetting): Promise<() => Promise<void>> => {
    const child = new ProgramProcess<{ type: 'stop' }, { type: 'ready' }>(PROGRAM, { ...setting, url });
    await child.start();
    return () => child.stop({ type: 'stop' });
  };
  return { streams: redisStreams({ url }), work, stop };
}

/** Counts the tokens that a reader got as deltas, compared with the record. */
class ReceivedTokens {
  /** Milliseconds from the sending of each token to its receipt. */
  readonly delays: number[] = [];
  readonly #got = new Map<number, number>();
  readonly #recorded = new Set<number>();

  /** Takes an item that was received at that time. */
  take(item: StreamItem, at: number): void {
    if (item.type === 'event') for (const { index } of tokensIn(textOf(item.event))) this.#recorded.add(index);
    if (item.type !== 'delta' || item.delta.type !== 'text') return;
    for (const { index, sentAt } of tokensIn(item.delta.text)) {
      this.delays.push(at - sentAt);
      this.#got.set(index, (this.#got.get(index) ?? 0) + 1);
    }
  }

  /** The tokens of the record that no delta brought. */
  get lost(): number {
    return [...this.#recorded].filter((index) => !this.#got.has(index)).length;
  }

  /** The tokens that came again. */
  get duplicated(): number {
    return [...this.#got.values()].reduce((total, times) => total + times - 1, 0);
  }
}

function textOf({ content, author }: Event): string {
  if (author === 'user') return '';
  return content.map((item) => (item.type === 'message' ? outputText(item.content) : '')).join('');
}

/** Starts a run of the script, by the worker with the sink or by the one without. */
function startScript(client: LonghaulClient, runId: string, script: TokenScript, sink: keyof typeof QUEUES): Promise<RunHandle<unknown>> {
  return client.start(streamer, { runId, input: JSON.stringify(script), taskQueue: QUEUES[sink] });
}

/** Waits for a run. Throws if it does not end with an answer. */
async function completed(run: RunHandle<unknown>): Promise<void> {
  const { status, error } = await run.result({ steps: false });
  if (status !== 'completed') throw new Error(`Run "${run.runId}" ended as "${status}": ${String(error)}`);
}

/** Reads the stream of a run to its end. */
async function readTokens(run: RunHandle<unknown>): Promise<ReceivedTokens> {
  const received = new ReceivedTokens();
  for await (const item of run.stream()) received.take(item, now());
  return received;
}

/** The events and bytes that a sink and a reader add to the history of a run. */
interface AddedHistory {
  eventsAdded: number;
  historyBytesAdded: number;
}

const SCRIPT = { steps: 3, tokens: 50, rate: 0, phaseMs: 0 };
const ROUNDS = 5;

/** Compares the histories of the same script with a sink and a reader, and without either. */
async function measureAdded(client: LonghaulClient): Promise<AddedHistory> {
  const added: { events: number; bytes: number }[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const plain = await startScript(client, `plain-${round}`, SCRIPT, 'without');
    await completed(plain);
    const streamed = await startScript(client, `sinks-${round}`, SCRIPT, 'with');
    await Promise.all([completed(streamed), readTokens(streamed)]);
    const [before, after] = [await weigh(client, plain.runId), await weigh(client, streamed.runId)];
    added.push({ events: after.events - before.events, bytes: after.bytes - before.bytes });
  }
  return { eventsAdded: median(added.map(({ events }) => events)), historyBytesAdded: median(added.map(({ bytes }) => bytes)) };
}

async function weigh(client: LonghaulClient, runId: string): Promise<{ events: number; bytes: number }> {
  const events: HistoryEvent[] = [];
  for await (const event of runHistory(client.temporal, runId)) events.push(comparable(event));
  return measureHistory(events, ACTIVITIES.callModel);
}

/** Returns an event without the numbers whose length differs from run to run: times, and those that the server counts. */
function comparable(event: HistoryEvent): HistoryEvent {
  const started = event.workflowTaskStartedEventAttributes;
  return {
    ...event,
    eventTime: null,
    taskId: null,
    ...(started ? { workflowTaskStartedEventAttributes: { ...started, historySizeBytes: null } } : {}),
  };
}

/** The three ways a step is timed: without a sink, with one and no readers, and with one reader of each run. */
const WAYS = ['without', 'idle', 'read'] as const;

type Way = (typeof WAYS)[number];

/** The runs whose steps are timed. */
interface TimedRuns {
  /** Number of runs at the same time. */
  runs: number;
  steps: number;
  rounds: number;
  /** Tokens in a second; 0: without a pause. */
  rate: number;
}

/** The milliseconds of a step, and those with a sink divided by those without. */
interface StepRatios {
  msPerStep: Record<Way, number>;
  stepRatioIdle: number;
  stepRatioRead: number;
}

/** Tokens of each answer. */
const TOKENS = 20;

/** Times the steps of runs in all ways, in turns. */
async function measureSteps(client: LonghaulClient, timed: TimedRuns, say: (line: string) => void): Promise<StepRatios> {
  const times: Record<Way, number[]> = { without: [], idle: [], read: [] };
  for (let round = -1; round < timed.rounds; round += 1) {
    // Each way comes first as often as the others.
    const first = (round + WAYS.length) % WAYS.length;
    for (const way of [...WAYS.slice(first), ...WAYS.slice(0, first)]) {
      const ms = await timeRuns(client, way, `steps-${timed.rate}-${way}-${round}`, timed);
      // The first round warms the workers up.
      if (round >= 0) times[way].push(...ms);
    }
  }
  const [without, idle, read] = [median(times.without), median(times.idle), median(times.read)];
  const pace = timed.rate === 0 ? 'without a pause between tokens' : `at ${timed.rate} tokens/s`;
  say(`${pace}, a step takes ${without.toFixed(1)} ms without a sink, ${idle.toFixed(1)} ms with one, ${read.toFixed(1)} ms if it is read`);
  return {
    msPerStep: { without: rounded(without, 1), idle: rounded(idle, 1), read: rounded(read, 1) },
    stepRatioIdle: rounded(idle / without, 3),
    stepRatioRead: rounded(read / without, 3),
  };
}

async function timeRuns(client: LonghaulClient, way: Way, name: string, { runs, steps, rate }: TimedRuns): Promise<number[]> {
  return Promise.all(
    Array.from({ length: runs }, async (_, index) => {
      const phaseMs = rate === 0 ? 0 : (index * 1_000) / rate / runs;
      const begun = performance.now();
      const run = await startScript(
        client,
        `${name}-${index}`,
        { steps, tokens: TOKENS, rate, phaseMs },
        way === 'without' ? 'without' : 'with',
      );
      const reading = way === 'read' ? readTokens(run) : undefined;
      await completed(run);
      const ms = (performance.now() - begun) / steps;
      await reading;
      return ms;
    }),
  );
}
