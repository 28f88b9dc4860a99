import { context } from '@opentelemetry/api';
import { BasicTracerProvider } from '@opentelemetry/sdk-trace-base';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { connect, type LonghaulClient } from '../src/client/index.ts';
import { startDevServer } from '../src/dev-server/dev-server.ts';
import { executionHistory } from '../src/history/history-events.ts';
import { defineAgent, defineTool } from '../src/index.ts';
import { attemptSpanId, spanIdOf, traceOfStart } from '../src/telemetry/ids.ts';
import { type Telemetry, telemetry } from '../src/telemetry/telemetry.ts';
import { createWorker, LonghaulPlugin, type LonghaulWorker, prometheusMetrics } from '../worker/index.ts';
import { bundleWorkflows, RUNS_MODULE } from '../worker/bundle-workflows.ts';
import { describeMachine, type Machine } from './figures/machine.ts';
import { median, rounded, sum } from './figures/statistics.ts';
import type { TelemetryBenchOptions } from './options.ts';
import { crowdModel } from './script/scripted-models.ts';
import { pageText, promptFor, TOOL_NAME } from './script/scripted-run.ts';
import { AS_PUBLISHED } from '../test/processes/workflow-bundle.ts';
import { fileURLToPath } from 'node:url';
import { ProgramProcess } from '../test/processes/program-process.ts';

const SPANS_MEASURED = 20_000;
const RESULT_CHARS = 200;

/** Rounds of runs and of replays. An odd number: the median is the one in the middle. */
const ROUNDS = { runs: 5, replays: 3 };

/** The queues of the workers without telemetry and with it, with names of one length. */
const QUEUES = { plain: 'bench-plain-', traced: 'bench-traced' } as const;

/** Runs of each worker that are not measured: connections are made, and code is compiled, telemetry code only after some hundred calls. */
const WARM_UP = 20;

/** Replays of a few histories that are not measured. */
const REPLAYED_FIRST = 15;

/** The longest wait for the spans of runs that have ended. */
const SPANS_WITHIN_MS = 30_000;

/** How often the collector is queried. */
const ASKED_EVERY_MS = 20;

/** The figures of `telemetry`. */
interface TelemetryFigures {
  /** The time of a step with spans and metrics, until the spans are sent, over that without. */
  stepRatio: number;
  /** Microseconds of a span of an SDK, from its start to its end. */
  usPerSpan: number;
  /** The additional content of the history of a run with telemetry, compared with a run without it. */
  bytesAdded: number;
  eventsAdded: number;
  orphans: number;
  duplicates: number;
  /** Of replaying histories. */
  replayRatio: number;
  replayExported: number;
  spans: number;
  dropped: number;
  histories: number;
  steps: number;
  runs: number;
  machine: Machine;
}

const agent = defineAgent({
  name: 'reader',
  model: 'pages/model',
  instructions: 'You read pages.',
  tools: [
    defineTool({
      name: TOOL_NAME,
      description: 'Reads a page',
      parameters: z.object({ page: z.int() }),
      execute: ({ page }) => pageText(page, RESULT_CHARS),
    }),
  ],
});

/** A worker without telemetry or with it. */
type Side = keyof typeof QUEUES;

/** Measures runs of a worker with telemetry and of one without, by turns. */
export async function measureTelemetry(
  { steps, runs: asked, histories }: TelemetryBenchOptions,
  say: (line: string) => void,
): Promise<TelemetryFigures> {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  await using collector = await CollectorProcess.start();
  process.env['OTEL_EXPORTER_OTLP_ENDPOINT'] = collector.url;
  const reported = await telemetry({ meterProvider: prometheusMetrics() });
  const dev = await startDevServer({ say, env: { ...process.env, TEMPORAL_ADDRESS: '' } });
  const { address, namespace } = dev;
  const client = await connect({ address, namespace });
  const connection = await NativeConnection.connect({ address });
  const workers: { worker: LonghaulWorker; running: Promise<void> }[] = [];
  const work = async (taskQueue: string, given: { telemetry?: Telemetry }): Promise<void> => {
    const worker = await createWorker({
      agents: [agent],
      providers: { pages: crowdModel() },
      ...given,
      connection,
      namespace,
      taskQueue,
      shutdownGrace: 1_000,
      worker: { bundlerOptions: AS_PUBLISHED },
    });
    workers.push({ worker, running: worker.run() });
  };
  try {
    await work(QUEUES.plain, {});
    await work(QUEUES.traced, { telemetry: reported });
    const measured = new MeasuredRuns({ client, steps, reported, collector });
    await ratioOf(1, WARM_UP / 2, (side, runs) => measured.block(side, runs));
    measured.runIds.plain.length = 0;
    measured.runIds.traced.length = 0;
    // Half of the plain runs of a round are before those with telemetry.
    const half = Math.max(1, Math.ceil(asked / ROUNDS.runs / 2));
    const stepRatio = await ratioOf(ROUNDS.runs, half, (side, runs) => measured.block(side, runs));
    const { runIds } = measured;
    const runs = runIds.traced.length;
    say(`${runs} runs of ${steps} steps on each side`);
    const plain = await sizeOfRuns(client, runIds.plain);
    const traced = await sizeOfRuns(client, runIds.traced);
    const collected = await collector.collected();
    const replayed = await measureReplay(client, runIds.traced, { count: histories, reported, collector, say });
    return {
      stepRatio,
      usPerSpan: await microsecondsOfSpan(),
      bytesAdded: traced.bytes - plain.bytes,
      eventsAdded: traced.events - plain.events,
      ...collected,
      ...replayed,
      dropped: reported.dropped,
      histories,
      steps,
      runs,
      machine: await describeMachine(client.temporal),
    };
  } finally {
    for (const { worker } of workers) worker.shutdown();
    await Promise.all(workers.map(({ running }) => running));
    await connection.close();
    await client.close();
    await dev.stop();
    context.disable();
  }
}

/**
 * Returns the median of what the side with telemetry takes over that without, in rounds: half of the side without, the side with telemetry, and
 * the other half. What makes everything slower or faster from then on concerns both sides alike.
 */
async function ratioOf(rounds: number, half: number, measure: (side: Side, count: number) => Promise<number>): Promise<number> {
  const ratios: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const before = await measure('plain', half);
    const traced = await measure('traced', 2 * half);
    ratios.push(traced / (before + (await measure('plain', half))));
  }
  return rounded(median(ratios), 3);
}

interface MeasuredRunsOptions {
  client: LonghaulClient;
  steps: number;
  reported: Telemetry;
  collector: CollectorProcess;
}

/** Runs of both sides, sequentially. */
class MeasuredRuns {
  readonly runIds: Record<Side, string[]> = { plain: [], traced: [] };
  readonly #options: MeasuredRunsOptions;
  /** The spans of all runs so far. */
  #spans = 0;

  constructor(options: MeasuredRunsOptions) {
    this.#options = options;
  }

  /**
   * Makes runs of one side. Returns their seconds, until what waits to be sent then has arrived. The end of the last run is reported a little
   * later, once the server says that it has ended: for that, the seconds of the processor count, because nobody waits for it. Nothing is left
   * for what is measured next.
   */
  async block(side: Side, runs: number): Promise<number> {
    const { reported, steps } = this.#options;
    const begun = performance.now();
    for (let run = 0; run < runs; run += 1) this.runIds[side].push(await this.#run(side));
    await reported.flush();
    const seconds = (performance.now() - begun) / 1_000;
    const rest = process.cpuUsage();
    // The span of the run, its tool calls, and its model calls: the last one is the answer.
    if (side === 'traced') this.#spans += runs * (1 + steps + (steps + 1));
    await this.#untilSent();
    const { user, system } = process.cpuUsage(rest);
    return seconds + (user + system) / 1_000_000;
  }

  async #run(side: Side): Promise<string> {
    const { client, steps } = this.#options;
    const runId = `telemetry-${randomUUID()}`;
    const asked = { input: promptFor(steps), runId, taskQueue: QUEUES[side], limits: { steps: steps + 1 } };
    const { status, stepsUsed } = await client.run(agent, asked);
    // The last step is the answer.
    if (status !== 'completed' || stepsUsed !== steps + 1) throw new Error(`A run has ended as ${status} after ${stepsUsed} steps`);
    return runId;
  }

  async #untilSent(): Promise<void> {
    const { reported, collector } = this.#options;
    const latest = performance.now() + SPANS_WITHIN_MS;
    for (;;) {
      await reported.flush();
      const { spans } = await collector.collected();
      if (spans + reported.dropped >= this.#spans) return;
      if (performance.now() > latest) throw new Error(`${this.#spans} spans were expected, and ${spans} have come`);
      await sleep(ASKED_EVERY_MS);
    }
  }
}

/** Returns the size of the history of a run, in the median. */
async function sizeOfRuns(client: LonghaulClient, runIds: readonly string[]): Promise<{ bytes: number; events: number }> {
  const sizes = await Promise.all(runIds.map((runId) => sizeOf(client, runId)));
  return { bytes: median(sizes.map(({ bytes }) => bytes)), events: median(sizes.map(({ events }) => events)) };
}

/**
 * Returns the size of a history. Numbers count as one byte, because times and ids of events have more digits in one run than in another. All
 * other ids, and the names of the queues, are equally long in every run, so the sizes of equal histories are equal.
 */
async function sizeOf(client: LonghaulClient, runId: string): Promise<{ bytes: number; events: number }> {
  const { runId: executionId } = await client.temporal.workflow.getHandle(runId).describe();
  const { events } = await executionHistory(client.temporal, runId, executionId);
  return { bytes: sizeIn(events), events: events.length };
}

function sizeIn(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value);
  if (value instanceof Uint8Array) return sizeOfBytes(value);
  if (Array.isArray(value)) return sum(value.map(sizeIn));
  // The numbers of the protocol are objects, too.
  if (typeof value !== 'object' || value === null || 'low' in value) return 1;
  return sum(Object.entries(value).map(([name, one]) => name.length + sizeIn(one)));
}

/** Returns the size of a payload: of JSON as of any other value. */
function sizeOfBytes(bytes: Uint8Array): number {
  try {
    return sizeIn(JSON.parse(Buffer.from(bytes).toString()));
  } catch {
    return bytes.length;
  }
}

/** Measures spans of an SDK, whose ids follow from a run. */
async function microsecondsOfSpan(): Promise<number> {
  const spanProcessors = [
    { onStart: () => undefined, onEnd: () => undefined, forceFlush: async () => undefined, shutdown: async () => undefined },
  ];
  const own = await telemetry({
    tracerProvider: (idGenerator) => new BasicTracerProvider({ idGenerator, spanProcessors }),
    meterProvider: prometheusMetrics(),
  });
  const run = { namespace: 'default', runId: 'reader-1', firstExecutionId: randomUUID() };
  const place = traceOfStart(run, undefined);
  const parentSpanId = spanIdOf(run, 'run');
  const attributes = { 'gen_ai.agent.name': 'reader', 'gen_ai.operation.name': 'execute_tool', 'longhaul.step': 3, 'longhaul.attempt': 1 };
  const measure = (from: number): number => {
    const begun = performance.now();
    for (let call = 0; call < SPANS_MEASURED; call += 1) {
      const spanId = attemptSpanId(run, 'tool', { call: `c${from + call}`, activity: '7', attempt: 1 });
      own.start(place, { name: 'execute_tool read_page', spanId, parentSpanId, attributes })?.end();
    }
    return ((performance.now() - begun) * 1_000) / SPANS_MEASURED;
  };
  measure(0);
  return rounded(median([1, 2, 3].map((round) => measure(round * SPANS_MEASURED))), 1);
}

/** Replays histories with telemetry and without. */
async function measureReplay(
  client: LonghaulClient,
  runIds: readonly string[],
  { count, reported, collector, say }: { count: number; reported: Telemetry; collector: CollectorProcess; say: (line: string) => void },
): Promise<{ replayRatio: number; replayExported: number }> {
  const histories = await Promise.all(
    runIds.map(async (runId) => {
      const { runId: executionId } = await client.temporal.workflow.getHandle(runId).describe();
      return { workflowId: runId, history: await executionHistory(client.temporal, runId, executionId) };
    }),
  );
  const workflowBundle = await bundleWorkflows({
    ...AS_PUBLISHED,
    workflowsPath: RUNS_MODULE,
    plugins: [new LonghaulPlugin({ agents: [], providers: {} })],
  });
  const { spans: before } = await collector.collected();
  // The time of the processors: what else the machine does is not measured.
  const replay = async (given: { telemetry?: Telemetry }, many = count): Promise<number> => {
    const plugins = [new LonghaulPlugin({ agents: [], providers: {}, ...given })];
    const all = Array.from({ length: many }, (_, index) => histories[index % histories.length]).flatMap((one) => one ?? []);
    const begun = process.cpuUsage();
    for await (const { error } of Worker.runReplayHistories({ workflowBundle, plugins }, all)) if (error !== undefined) throw error;
    const { user, system } = process.cpuUsage(begun);
    return user + system;
  };
  // Code is compiled.
  await replay({}, REPLAYED_FIRST);
  await replay({ telemetry: reported }, REPLAYED_FIRST);
  const replayRatio = await ratioOf(ROUNDS.replays, 1, async (side, times) => {
    let all = 0;
    for (let time = 0; time < times; time += 1) all += await replay(side === 'plain' ? {} : { telemetry: reported });
    return all;
  });
  await reported.flush();
  say(`${count} histories were replayed ${2 * ROUNDS.replays} times on each side`);
  return {
    replayRatio,
    replayExported: (await collector.collected()).spans - before,
  };
}

/** The requests to a collector: for its URL, and for what it has received so far. */
export type CollectorRequest = { type: 'where' } | { type: 'check' };

/** What a collector has got. */
interface CollectedSpans {
  spans: number;
  /** Spans whose parents are missing. */
  orphans: number;
  /** Spans that have come more than once. */
  duplicates: number;
}

export type CollectorReply = { type: 'ready' } | { type: 'where'; url: string } | ({ type: 'checked' } & CollectedSpans);

const PROGRAM = fileURLToPath(new URL('./processes/collector.ts', import.meta.url));

/** A collector in a separate process. */
class CollectorProcess implements AsyncDisposable {
  readonly url: string;
  readonly #process: ProgramProcess<CollectorRequest, CollectorReply>;

  private constructor(process: ProgramProcess<CollectorRequest, CollectorReply>, url: string) {
    this.#process = process;
    this.url = url;
  }

  static async start(): Promise<CollectorProcess> {
    const process = new ProgramProcess<CollectorRequest, CollectorReply>(PROGRAM, {});
    await process.start();
    const { url } = await process.ask({ type: 'where' }, 'where');
    return new CollectorProcess(process, url);
  }

  /** Returns what it has received so far. */
  async collected(): Promise<CollectedSpans> {
    const { type: _, ...collected } = await this.#process.ask({ type: 'check' }, 'checked');
    return collected;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process.stop();
  }
}
