import { context } from '@opentelemetry/api';
import { BasicTracerProvider } from '@opentelemetry/sdk-trace-base';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { connect, type LonghaulClient } from '../../src/client/index.ts';
import { startDevServer } from '../../src/dev-server/dev-server.ts';
import { executionHistory } from '../../src/history/history-events.ts';
import { defineAgent, defineTool } from '../../src/index.ts';
import { spanIdOf, traceOfStart } from '../../src/telemetry/ids.ts';
import { type Telemetry, telemetry } from '../../src/telemetry/telemetry.ts';
import { traceProblems } from '../../test/crash/checks/trace-check.ts';
import { OtlpReceiver } from '../../test/telemetry/otlp-receiver.ts';
import { createWorker, LonghaulPlugin, type LonghaulWorker, prometheusMetrics } from '../../worker/index.ts';
import { bundleWorkflows, INTERCEPTOR_MODULES, RUNS_MODULE } from '../../worker/bundle-workflows.ts';
import { describeMachine, type Machine } from '../figures/machine.ts';
import { median, rounded } from '../figures/statistics.ts';
import type { TelemetryBenchOptions } from '../options/options.ts';
import { crowdModel } from '../script/crowd-model.ts';
import { pageText, promptFor, TOOL_NAME } from '../script/scripted-run.ts';
import { AS_PUBLISHED } from '../sides/as-published.ts';

const SPANS_MEASURED = 20_000;
const RESULT_CHARS = 200;

/** Runs of each worker that are not measured: code is compiled, and connections are made. */
const WARM_UP = 3;

/** The figures of `telemetry`. */
export interface TelemetryFigures {
  /** The time of a step with spans and metrics over that without. */
  stepRatio: number;
  /** Microseconds of a span of an SDK, from its start to its end. */
  usPerSpan: number;
  /** What the history of a run with telemetry has more than that of a run without. */
  bytesAdded: number;
  eventsAdded: number;
  orphans: number;
  duplicates: number;
  /** Of replaying histories. */
  replayRatio: number;
  exportedByReplay: number;
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

/** A run that has ended. */
interface EndedRun {
  runId: string;
  seconds: number;
}

/** Measures runs of a worker with telemetry and of one without, by turns. */
export async function measureTelemetry(
  { steps, runs, histories }: TelemetryBenchOptions,
  say: (line: string) => void,
): Promise<TelemetryFigures> {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  await using receiver = await OtlpReceiver.listen();
  process.env['OTEL_EXPORTER_OTLP_ENDPOINT'] = receiver.url;
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
    await work('bench-plain', {});
    await work('bench-traced', { telemetry: reported });
    const sides: Record<'plain' | 'traced', EndedRun[]> = { plain: [], traced: [] };
    for (let round = -WARM_UP; round < runs; round += 1) {
      for (const side of round % 2 === 0 ? (['plain', 'traced'] as const) : (['traced', 'plain'] as const)) {
        const ended = await runOne(client, `bench-${side}`, steps);
        if (round >= 0) sides[side].push(ended);
      }
    }
    await reported.flush();
    const secondsOf = (side: 'plain' | 'traced'): number => median(sides[side].map(({ seconds }) => seconds));
    say(`${runs} runs of ${steps} steps on each side`);
    const plain = await sizeOfRuns(client, sides.plain);
    const traced = await sizeOfRuns(client, sides.traced);
    const problems = traceProblems(receiver.spans);
    const spans = receiver.spans.length;
    const replayed = await measureReplay(client, sides.traced, { count: histories, reported, receiver, say });
    return {
      stepRatio: rounded(secondsOf('traced') / secondsOf('plain'), 3),
      usPerSpan: await microsecondsOfSpan(),
      bytesAdded: traced.bytes - plain.bytes,
      eventsAdded: traced.events - plain.events,
      orphans: problems.filter((line) => line.includes('has no parent')).length,
      duplicates: spans - new Set(receiver.spans.slice(0, spans).map(({ traceId, spanId }) => `${traceId}/${spanId}`)).size,
      ...replayed,
      spans,
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

async function runOne(client: LonghaulClient, taskQueue: string, steps: number): Promise<EndedRun> {
  const runId = `telemetry-${randomUUID()}`;
  const begun = performance.now();
  await client.run(agent, { input: promptFor(steps), runId, taskQueue });
  return { runId, seconds: (performance.now() - begun) / 1_000 };
}

/** Returns the size of the history of a run, in the median. */
async function sizeOfRuns(client: LonghaulClient, runs: readonly EndedRun[]): Promise<{ bytes: number; events: number }> {
  const sizes = await Promise.all(runs.map(({ runId }) => sizeOf(client, runId)));
  return { bytes: median(sizes.map(({ bytes }) => bytes)), events: median(sizes.map(({ events }) => events)) };
}

/** Returns the size of a history without what differs from run to run: numbers, and the ids of runs and events. */
async function sizeOf(client: LonghaulClient, runId: string): Promise<{ bytes: number; events: number }> {
  const { runId: executionId } = await client.temporal.workflow.getHandle(runId).describe();
  const { events } = await executionHistory(client.temporal, runId, executionId);
  const text = JSON.stringify(events, (_, value: unknown) =>
    value instanceof Uint8Array || isBuffer(value) ? Buffer.from(bytesOf(value)).toString() : value,
  );
  const plain = text
    .replaceAll(/[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/g, '')
    .replaceAll(/bench-(?:plain|traced)/g, '')
    .replaceAll(/[\d.:TZ-]+/g, '0');
  return { bytes: plain.length, events: events.length };
}

function isBuffer(value: unknown): value is { type: 'Buffer'; data: number[] } {
  return typeof value === 'object' && value !== null && 'type' in value && value.type === 'Buffer';
}

function bytesOf(value: Uint8Array | { data: number[] }): Uint8Array {
  return value instanceof Uint8Array ? value : Uint8Array.from(value.data);
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
      const spanId = spanIdOf(run, 'tool', `c${from + call}`, 1);
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
  runs: readonly EndedRun[],
  { count, reported, receiver, say }: { count: number; reported: Telemetry; receiver: OtlpReceiver; say: (line: string) => void },
): Promise<{ replayRatio: number; exportedByReplay: number }> {
  const histories = await Promise.all(
    runs.map(async ({ runId }) => {
      const { runId: executionId } = await client.temporal.workflow.getHandle(runId).describe();
      return { workflowId: runId, history: await executionHistory(client.temporal, runId, executionId) };
    }),
  );
  const workflowBundle = await bundleWorkflows({
    ...AS_PUBLISHED,
    workflowsPath: RUNS_MODULE,
    workflowInterceptorModules: [...INTERCEPTOR_MODULES],
  });
  const before = receiver.spans.length;
  const replay = async (given: { telemetry?: Telemetry }): Promise<number> => {
    const plugins = [new LonghaulPlugin({ agents: [], providers: {}, ...given })];
    const all = Array.from({ length: count }, (_, index) => histories[index % histories.length]).flatMap((one) => one ?? []);
    const begun = performance.now();
    for await (const { error } of Worker.runReplayHistories({ workflowBundle, plugins }, all)) if (error !== undefined) throw error;
    return performance.now() - begun;
  };
  await replay({});
  const times: Record<'plain' | 'traced', number[]> = { plain: [], traced: [] };
  for (let round = 0; round < 2; round += 1) {
    for (const side of round % 2 === 0 ? (['plain', 'traced'] as const) : (['traced', 'plain'] as const))
      times[side].push(await replay(side === 'plain' ? {} : { telemetry: reported }));
  }
  await reported.flush();
  say(`${count} histories were replayed twice on each side`);
  return {
    replayRatio: rounded(Math.min(...times.traced) / Math.min(...times.plain), 3),
    exportedByReplay: receiver.spans.length - before,
  };
}
