import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { openai } from '../../activities/models/openai/openai.ts';
import { connect, type LonghaulClient, memoryStreams } from '../../src/client/index.ts';
import { startDevServer } from '../../src/dev-server/dev-server.ts';
import { defineAgent, defineTool } from '../../src/index.ts';
import { chatStream, says } from '../../test/fakes/openai-answers.ts';
import { type FakeOpenAI, startFakeOpenAI } from '../../test/fakes/openai-server.ts';
import { createWorker } from '../../worker/index.ts';
import { describeMachine, type Machine } from '../figures/machine.ts';
import { median, percentile, rounded } from '../figures/statistics.ts';
import { AS_PUBLISHED } from '../../test/processes/workflow-bundle.ts';
import { type LoadFigures, measureLoad } from './load.ts';
import { measureOnScreen, measurePage, measureSize } from './page.ts';
import type { StudioBenchOptions } from './studio-options.ts';

const TASK_QUEUE = 'bench-studio';

/** The number of rounds for the median. */
const ROUNDS = 3;

/** Requests that are compared with those on the wire. */
const COMPARED = 50;

/** For how many milliseconds queries to the server are counted. */
const COUNTED_MS = 20_000;

/** Runs whose way to a reader is measured. */
const TIMED_RUNS = 20;

const page = defineTool({
  name: 'read_page',
  description: 'Reads a page',
  parameters: z.object({ page: z.int() }),
  execute: ({ page: number }) => `page ${number}`,
});
const pay = defineTool({ name: 'pay', description: 'Pays', parameters: z.object({}), approval: 'always', execute: () => 'paid' });

/** The figures of `--part request`. */
interface RequestFigures {
  eventsMs: number;
  requestMs: number;
  ratio: number;
  equalPct: number;
  compared: number;
}

/** The figures of `--part feed`. */
interface FeedFigures {
  /** Questions to the server within the same time, of one reader and of all. */
  questionsOfOne: number;
  questionsOfAll: number;
  ratio: number;
  /** From the record of the wait to the reader of the feed, and to the inbox of a page in a browser, painted. */
  waitingMsP95: number;
  waitingOnScreenMsP95: number;
}

/** Measures the cost of readers of runs, with the requests of a page. */
export async function measureStudio(options: StudioBenchOptions, say: (line: string) => void): Promise<object> {
  const { part, steps } = options;
  if (part === 'size') return judged({ ...measureSize(), part }, { initialKb: { most: 60 }, allKb: { most: 95 } });
  if (part === 'page') return judged({ ...(await measurePage(steps)), part, steps }, PAGE_BOUNDS);
  return measureServed({ ...options, part }, say);
}

const PAGE_BOUNDS = {
  firstPaintMs: { most: 1_000 },
  scrollFrameMsP95: { most: 50 },
  heapMb: { most: 100 },
  eventToScreenMsP95: { most: 300 },
  graphMs: { most: 500 },
};

type ServedPart = Exclude<StudioBenchOptions['part'], 'size' | 'page'>;

/** Milliseconds within which a call that waits reaches a reader if the sink announces it. */
const ANNOUNCED_WITHIN_MS = 2_000;

async function measureServed(
  options: StudioBenchOptions & { part: ServedPart },
  say: (line: string) => void,
): Promise<(RequestFigures | FeedFigures | LoadFigures) & Omit<StudioBenchOptions, 'command' | 'quiet'> & { machine: Machine }> {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const { part, steps, readers, runs } = options;
  const dev = await startDevServer({ say, env: { ...process.env, TEMPORAL_ADDRESS: '' } });
  const { address, namespace } = dev;
  const streams = memoryStreams();
  const client = await connect({ address, namespace, streams });
  const connection = await NativeConnection.connect({ address });
  const fake = await startFakeOpenAI((reply, request) => {
    const messages = request.body['messages'] as unknown[];
    const done = (messages.length - 1) / 2;
    if (part !== 'feed' && done >= steps) return says('done')(reply, request);
    const call = part === 'feed' ? { name: 'pay', arguments: '{}' } : { name: 'read_page', arguments: `{"page":${done}}` };
    return chatStream([{ tool_calls: [{ index: 0, id: `c${done}`, function: call }] }], 'tool_calls')(reply, request);
  });
  const model = 'openai/m';
  const limits = { steps: steps + 10, toolCalls: steps + 10, totalTokens: 1_000_000_000 };
  const window = { maxTokens: 10_000_000 };
  const reader = defineAgent({ name: 'reader', model, tools: [page], limits, window });
  const payer = defineAgent({ name: 'payer', model, tools: [pay] });
  const providers = { openai: openai({ baseURL: fake.url, api: 'chat' }) };
  const worker = await createWorker({
    agents: [reader, payer],
    providers,
    connection,
    namespace,
    taskQueue: TASK_QUEUE,
    streams,
    shutdownGrace: 1_000,
    worker: { bundlerOptions: AS_PUBLISHED },
  });
  const running = worker.run();
  try {
    const startReader = (): ReturnType<typeof client.start> => client.start(reader, { input: 'Q', taskQueue: TASK_QUEUE });
    const startPayer = (user?: string): ReturnType<typeof client.start> =>
      client.start(payer, { input: 'Q', taskQueue: TASK_QUEUE, ...(user === undefined ? {} : { principal: { user } }) });
    const forget = (): void => void fake.requests.splice(0);
    const figures =
      part === 'request'
        ? judged(await measureRequests({ client, fake, start: startReader, providers }, steps), {
            ratio: { most: 2 },
            equalPct: { least: 100 },
          })
        : part === 'load'
          ? judged(
              await measureLoad({
                client,
                address,
                handlerOptions: { agents: [reader] },
                start: startReader,
                calls: 2 * steps + 1,
                forget,
              }),
              {
                ratio: { most: 1.05 },
                eventsAdded: { most: 0 },
                receivedPct: { least: 100 },
              },
            )
          : judged(await measureFeed(client, { readers, runs }, startPayer), {
              ratio: { most: 1.1 },
              waitingMsP95: { most: ANNOUNCED_WITHIN_MS },
              waitingOnScreenMsP95: { most: ANNOUNCED_WITHIN_MS },
            });
    return { ...figures, part, steps, readers, runs, machine: await describeMachine(client.temporal) };
  } finally {
    worker.shutdown();
    await running;
    await fake.close();
    await connection.close();
    await client.close();
    await dev.stop();
  }
}

interface AskedRun {
  client: LonghaulClient;
  fake: FakeOpenAI;
  start: () => Promise<{ runId: string; result(): Promise<unknown> }>;
  providers: { openai: ReturnType<typeof openai> };
}

async function measureRequests({ client, fake, start, providers }: AskedRun, steps: number): Promise<RequestFigures> {
  const run = await start();
  await run.result();
  const handle = client.handle(run.runId);
  const sent = fake.requests.map(({ text }) => text);
  const last = sent.length;
  const eventsMs: number[] = [];
  const requestMs: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    eventsMs.push(await msOf(() => Array.fromAsync(handle.events())));
    requestMs.push(await msOf(() => handle.request(last, { providers })));
  }
  const every = Math.max(1, Math.floor(last / COMPARED));
  let [compared, equal] = [0, 0];
  for (let step = last; step >= 1; step -= every) {
    const { wire } = await handle.request(step, { providers });
    compared += 1;
    if (JSON.stringify(wire?.body) === sent[step - 1]) equal += 1;
  }
  if (last !== steps + 1) throw new Error(`The run has ${last} steps, not ${steps + 1}`);
  const [ofEvents, ofRequest] = [median(eventsMs), median(requestMs)];
  return {
    eventsMs: rounded(ofEvents, 1),
    requestMs: rounded(ofRequest, 1),
    ratio: rounded(ofRequest / ofEvents, 2),
    equalPct: rounded((100 * equal) / compared, 1),
    compared,
  };
}

async function msOf(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

/** Runs that are started at once. */
const AT_ONCE = 20;

async function measureFeed(
  client: LonghaulClient,
  { readers, runs }: { readers: number; runs: number },
  start: (user?: string) => Promise<{ runId: string }>,
): Promise<FeedFigures> {
  for (let begun = 0; begun < runs; begun += AT_ONCE)
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, runs - begun) }, () => start()));
  const service: unknown = client.temporal.workflowService;
  const counted = service as { listWorkflowExecutions: (...given: unknown[]) => unknown };
  const list = counted.listWorkflowExecutions.bind(service);
  let questions = 0;
  counted.listWorkflowExecutions = (...given) => {
    questions += 1;
    return list(...given);
  };
  const questionsOf = async (count: number): Promise<number> => {
    const stop = new AbortController();
    const own = client.as({ tenant: randomUUID() });
    const all = Array.from({ length: count }, () => drained(own, stop.signal));
    questions = 0;
    await new Promise((resolve) => setTimeout(resolve, COUNTED_MS));
    const asked = questions;
    stop.abort();
    await Promise.all(all);
    return asked;
  };
  const [questionsOfOne, questionsOfAll] = [await questionsOf(1), await questionsOf(readers)];
  const waits = await measureWaits(client, start);
  const onScreen = await measureOnScreen({
    client,
    startWaiting: async (user) => recordOf(client, (await start(user)).runId),
    runs: TIMED_RUNS,
  });
  return {
    questionsOfOne,
    questionsOfAll,
    ratio: rounded(questionsOfAll / questionsOfOne, 2),
    waitingMsP95: rounded(percentile(waits, 95), 0),
    waitingOnScreenMsP95: rounded(percentile(onScreen, 95), 0),
  };
}

/** Milliseconds within which everything that is waited for has to happen: a figure that does not come is an error, and no wait without an end. */
const WITHIN_MS = 60_000;

/** Returns the milliseconds from the record of each wait to a reader of the feed. */
async function measureWaits(client: LonghaulClient, start: () => Promise<{ runId: string }>): Promise<number[]> {
  const stop = new AbortController();
  const seen = new Map<string, number>();
  const recorded = new Map<string, number>();
  const listening = (async (): Promise<void> => {
    for await (const item of client.feed({ waiting: true, signal: stop.signal }))
      // Runs that already wait are reported at once.
      if (item.type === 'waiting' && !seen.has(item.run.runId)) seen.set(item.run.runId, Date.now());
  })().catch((error: unknown) => {
    if (!stop.signal.aborted) throw error;
  });
  for (let begun = 0; begun < TIMED_RUNS; begun += 1) {
    const { runId } = await start();
    recorded.set(runId, await recordOf(client, runId));
  }
  await until('the feed has said what waits', async () => [...recorded.keys()].every((runId) => seen.has(runId)));
  stop.abort();
  await listening;
  return [...recorded].map(([runId, at]) => Math.max(0, (seen.get(runId) ?? 0) - at));
}

/** Resolves with the recorded time when a call of a run began to wait, however late the query is answered. */
async function recordOf(client: LonghaulClient, runId: string): Promise<number> {
  let at: string | undefined;
  await until(`a call of run "${runId}" waits`, async () => {
    const [waiting] = (await client.handle(runId).approvals()).pending;
    at = waiting?.requestedAt;
    return at !== undefined;
  });
  return Date.parse(at ?? '');
}

/** Waits for something. Throws if it has not happened within a minute. */
async function until(what: string, hasHappened: () => Promise<boolean>): Promise<void> {
  const began = performance.now();
  while (!(await hasHappened())) {
    if (performance.now() - began > WITHIN_MS) throw new Error(`It takes more than ${WITHIN_MS} ms until ${what}`);
    await sleep(20);
  }
}

async function drained(client: LonghaulClient, signal: AbortSignal): Promise<void> {
  try {
    for await (const _ of client.feed({ signal }));
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** The bound of a figure: its maximum, or its minimum. */
type Bound = { most: number } | { least: number };

/** A bound with the measured value. */
type Judged = Bound & { measured: number; met: boolean };

/** Returns figures with their bounds, each with whether it is met. A figure without a bound explains the others. */
function judged<Figures extends object>(
  figures: Figures,
  bounds: Partial<Record<keyof Figures & string, Bound>>,
): { bounds: Record<string, Judged> } & Figures {
  const all = Object.entries(bounds as Record<string, Bound>).map(([name, bound]): [string, Judged] => {
    const measured = Number(figures[name as keyof Figures]);
    const met = 'most' in bound ? measured <= bound.most : measured >= bound.least;
    return [name, { ...bound, measured, met }];
  });
  return { ...figures, bounds: Object.fromEntries(all) };
}
