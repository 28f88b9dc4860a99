import { randomUUID } from 'node:crypto';
import { connect, type LonghaulClient } from '../../src/client/index.ts';
import { startDevServer } from '../../src/dev-server/dev-server.ts';
import { startFakeProvider } from '../../test/processes/fake-provider.ts';
import { describeMachine } from '../figures/machine.ts';
import type { EndlessOptions } from '../options.ts';
import { promptFor, pageText, scriptedAnswer } from '../script/scripted-run.ts';
import { readerAgent } from '../sides/reader-agent.ts';
import { bundleToFile } from '../../test/processes/workflow-bundle.ts';
import { fileURLToPath } from 'node:url';
import { MeasuredWorker } from './measured-worker.ts';
import { type EndlessSetting, type WorkerSample, type StepTimes, cpuMsPerStep, ends, tenths } from './endless-clock.ts';
import type { Client } from '@temporalio/client';
import { executionChain, executionHistory } from '../../src/history/history-events.ts';
import { ACTIVITIES } from '../../src/core/protocol.ts';
import { measureHistory } from '../figures/encoded-history.ts';
import { mean, median, rounded, sum } from '../figures/statistics.ts';
import type { ExportLine } from '../../src/client/export-run.ts';

type Say = (line: string) => void;

const PROGRAM = fileURLToPath(new URL('../processes/endless.ts', import.meta.url));

/**
 * The number of tool results that fill the window: it is full long before the first tenth of a run of a thousand steps or more
 * is over.
 */
const WINDOW_RESULTS = 50;
/** The bytes of a step in addition to the text of its result. */
const BESIDE_RESULT_BYTES = 300;
const MOST_WINDOW_BYTES = 1_200_000;

/** Runs that are not measured: they load and compile code, and open connections. */
const WARM_UP_RUNS = 4;
const WARM_UP_STEPS = 50;

const MIB = 1024 ** 2;

/**
 * Does one run of `steps` steps, which continues as new by itself, on a tuned dev server, a fake provider and a worker in separate
 * processes. Returns the object of the last line.
 */
export async function measureEndless({ steps, resultChars }: EndlessOptions, say: Say): Promise<object> {
  const server = await startDevServer({ say, env: { ...process.env, TEMPORAL_ADDRESS: '' } });
  const [provider, bundle] = await Promise.all([startFakeProvider(), bundleToFile()]);
  const { address, namespace } = server;
  const client = await connect({ address, namespace });
  const window = { maxBytes: Math.min(MOST_WINDOW_BYTES, WINDOW_RESULTS * (resultChars + BESIDE_RESULT_BYTES)) };
  const setting: EndlessSetting = { address, namespace, baseURL: provider.baseURL, resultChars, window, bundlePath: bundle.path };
  const worker = await new MeasuredWorker(PROGRAM, setting).start();
  try {
    const play = { client, worker, agent: readerAgent(resultChars, { window }) };
    for (let run = 0; run < WARM_UP_RUNS; run += 1) await runSteps(play, `endless-warm-up-${randomUUID()}`, WARM_UP_STEPS);
    const runId = `endless-${randomUUID()}`;
    await worker.watch(runId, steps, ({ step, rss }) => {
      if (step % Math.ceil(steps / 10) === 0) say(`${step} of ${steps} steps, the worker holds ${(rss / MIB).toFixed(0)} MiB`);
    });
    await runSteps(play, runId, steps);
    const times = await worker.times();
    const executions = await weighExecutions(client.temporal, runId);
    say('reading the export of the whole run');
    const run = client.handle(runId);
    const { events } = await run.status();
    const { gaps, ...exported } = await checkExport(run.export(), { steps, resultChars, events });
    const figures = endlessFigures({ steps, executions, ...times, samples: worker.samples, exportGaps: gaps });
    const machine = { ...(await describeMachine(client.temporal)), modelClient: 'openai package, streamed Chat Completions' };
    return { ...figures, exported, resultChars, window, machine };
  } finally {
    await worker.stop();
    await client.close();
    await provider.stop();
    await bundle.remove();
    await server.stop();
  }
}

interface Play {
  client: LonghaulClient;
  worker: MeasuredWorker;
  agent: ReturnType<typeof readerAgent>;
}

async function runSteps({ client, worker, agent }: Play, runId: string, steps: number): Promise<void> {
  const run = client.run(agent, { runId, input: promptFor(steps), limits: { steps: steps + 1 } });
  const { status, error } = await Promise.race([run, worker.died]);
  if (status !== 'completed') throw new Error(`Run "${runId}" ended as "${status}": ${String(error)}`);
}

/** Measures the history of each execution of a run, the oldest first. Throws if the server has removed some. */
async function weighExecutions(client: Client, workflowId: string): Promise<WeighedExecution[]> {
  const { runId } = await client.workflow.getHandle(workflowId).describe();
  const { executionIds, complete } = await executionChain(client, workflowId, runId);
  if (!complete) throw new Error(`The server has removed executions of run "${workflowId}"`);
  const weighed: WeighedExecution[] = [];
  for (const executionId of executionIds) {
    const { events: history } = await executionHistory(client, workflowId, executionId);
    const { events, bytes } = measureHistory(history, ACTIVITIES.callModel);
    const summaries = history.filter((event) => event.activityTaskScheduledEventAttributes?.activityType?.name === ACTIVITIES.summarize);
    weighed.push({ events, bytes, summaries: summaries.length });
  }
  return weighed;
}

/** One execution of the run. */
interface WeighedExecution {
  events: number;
  bytes: number;
  /** Model calls that summarized the older part of the conversation. */
  summaries: number;
}

/** The measurements of an endless run. */
export interface EndlessRun extends StepTimes {
  steps: number;
  /** The oldest first. */
  executions: readonly WeighedExecution[];
  samples: readonly WorkerSample[];
  /** The gaps in its export, and the items that are out of order. */
  exportGaps: number;
}

/** The figures of an endless run: the main figures first, and then those that explain them. Milliseconds, bytes. */
interface EndlessFigures {
  steps: number;
  executions: number;
  maxEventsPerExecution: number;
  maxBytesPerExecution: number;
  /** The mean over the first tenth of the steps, compaction and continue-as-new included. */
  msPerStepFirst: number;
  msPerStepLast: number;
  /** The median of the readings in the first tenth. */
  rssFirst: number;
  rssLast: number;
  exportGaps: number;
  /** `msPerStepLast / msPerStepFirst`. */
  msPerStepGrowth: number;
  rssGrowth: number;
  msPerStepP50First: number;
  msPerStepP50Last: number;
  msPerStepByTenth: number[];
  rssByTenth: number[];
  /** The size of the main heap after a collection. */
  heapByTenth: number[];
  /** The size of the heap of the workflow thread after a collection. */
  workflowHeapByTenth: number[];
  /** CPU time of the worker's process over steps, between the first reading of a tenth and its last. */
  cpuMsPerStepByTenth: number[];
  /** Model calls that summarized the older part of the conversation. They are not steps; their time is part of the steps' time. */
  summaries: number;
  retries: number;
}

/** Computes the figures of a run. Throws if steps or readings are missing. */
export function endlessFigures(run: EndlessRun): EndlessFigures {
  const { steps, executions, starts, samples, exportGaps, retries } = run;
  if (starts.length !== steps + 1) throw new Error(`The run had ${starts.length - 1} steps, not ${steps}: a call was repeated or left out`);
  const durations = starts.slice(1).map((start, index) => start - (starts[index] ?? 0));
  const times = tenths(
    durations.map((ms, place) => ({ step: place, ms })),
    steps,
  );
  const readings = tenths(samples, steps + 1);
  const msPerStepByTenth = times.map((tenth) => rounded(mean(tenth.map(({ ms }) => ms)), 2));
  const rssByTenth = readings.map((tenth) => median(tenth.map(({ rss }) => rss)));
  const p50 = (tenth: { ms: number }[] = []): number => rounded(median(tenth.map(({ ms }) => ms)), 2);
  const [msPerStepFirst, msPerStepLast] = ends(msPerStepByTenth);
  const [rssFirst, rssLast] = ends(rssByTenth);
  return {
    steps,
    executions: executions.length,
    maxEventsPerExecution: Math.max(...executions.map(({ events }) => events)),
    maxBytesPerExecution: Math.max(...executions.map(({ bytes }) => bytes)),
    msPerStepFirst,
    msPerStepLast,
    rssFirst,
    rssLast,
    exportGaps,
    msPerStepGrowth: rounded(msPerStepLast / msPerStepFirst, 3),
    rssGrowth: rounded(rssLast / rssFirst, 3),
    msPerStepP50First: p50(times[0]),
    msPerStepP50Last: p50(times.at(-1)),
    msPerStepByTenth,
    rssByTenth,
    heapByTenth: readings.map((tenth) => median(tenth.map(({ heap }) => heap))),
    workflowHeapByTenth: readings.map((tenth) => median(tenth.map(({ workflowHeap }) => workflowHeap))),
    cpuMsPerStepByTenth: readings.map(cpuMsPerStep),
    summaries: sum(executions.map(({ summaries }) => summaries)),
    retries,
  };
}

/** The expected content of an exported run. */
interface ExpectedRun {
  steps: number;
  resultChars: number;
  /** According to the run itself. */
  events: number;
}

/** The content of an export. */
export interface CheckedExport {
  /** The offsets of events and indexes of steps that are missing, out of order, or have other content than in the run. */
  gaps: number;
  events: number;
  /** The final answer is included. */
  steps: number;
  executions: number;
  /** The number of events that evicted results from the window. */
  evictions: number;
}

/**
 * Reads an export of a scripted run and checks it against the script: every offset and every index in order, the call and the
 * page of every step, as many events as the run counted, and the same number in its last line.
 */
export async function checkExport(lines: AsyncIterable<ExportLine>, expected: ExpectedRun): Promise<CheckedExport> {
  const checked: CheckedExport = { gaps: 0, events: 0, steps: 0, executions: 0, evictions: 0 };
  const turns = { offset: 0, index: 0 };
  let summary: Extract<ExportLine, { type: 'summary' }> | undefined;
  for await (const line of lines) {
    if (line.type === 'execution') checked.executions += 1;
    if (line.type === 'summary') summary = line;
    if (line.type === 'event') {
      checked.events += 1;
      checked.gaps += outOfTurn(line.offset, turns.offset);
      turns.offset = Math.max(turns.offset, line.offset + 1);
      if (line.compaction?.evicted !== undefined) checked.evictions += 1;
    }
    if (line.type === 'step') {
      checked.steps += 1;
      checked.gaps += outOfTurn(line.index, turns.index) + (isScripted(line, expected) ? 0 : 1);
      turns.index = Math.max(turns.index, line.index + 1);
    }
  }
  checked.gaps += Math.abs(expected.events - turns.offset) + Math.abs(expected.steps + 1 - turns.index);
  if (summary?.events !== checked.events || summary.gaps.length > 0 || summary.missingSteps.length > 0) checked.gaps += 1;
  return checked;
}

/** The count of skipped numbers before this one; 1 for a number that occurred before. */
function outOfTurn(number: number, turn: number): number {
  return number < turn ? 1 : number - turn;
}

function isScripted({ index, thought, toolCalls }: Extract<ExportLine, { type: 'step' }>, { steps, resultChars }: ExpectedRun): boolean {
  const { content, tool_calls: calls } = scriptedAnswer(index, steps);
  if (calls === undefined) return thought === content && toolCalls.length === 0;
  const [{ id, function: asked }] = calls;
  const { page } = JSON.parse(asked.arguments) as { page: number };
  const [call] = toolCalls;
  return toolCalls.length === 1 && call?.callId === id && call.arguments['page'] === page && call.result === pageText(page, resultChars);
}
