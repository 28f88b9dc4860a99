import { quietRuntime } from '../../test/processes/quiet-runtime.ts';
import type { ServeBenchOptions, ServedSink } from './stream-options.ts';
import type { WorkersSetting } from './stream-workers.ts';
import { fileURLToPath } from 'node:url';
import { connect, type LonghaulClient, type RunHandle } from '../../src/client/index.ts';
import { startDevServer } from '../../src/dev-server/dev-server.ts';
import { describeMachine, type Machine } from '../figures/machine.ts';
import { BOUNDED_YOUNG_GENERATION } from '../sides/measured-memory.ts';
import { startRedis } from '../sides/redis-process.ts';
import { ProgramProcess } from '../../test/processes/program-process.ts';
import { bundleToFile } from '../../test/processes/workflow-bundle.ts';
import { startTokenProvider, type TokenScript } from './token.ts';
import { setTimeout as pause } from 'node:timers/promises';
import { Pool } from 'undici';
import { median, rounded, percentile } from '../figures/statistics.ts';
import { reporter } from './reporter.ts';

/**
 * Measures a service over HTTP: its starts, the readers of one run, and the readers of waiting runs. Returns the object of the last line.
 *
 * `readP95Ms` is from the moment when the model sent the last token of an answer, or the tool returned its result, to the moment when the
 * process of a reader got the bytes of that event: the completion of the call, the server, the workflow task, the announcement, the query
 * and the response of the service are all in it. `queriesPerEvent` counts all queries of the service's client, from the decision to the end
 * of the run, and divides them by the events that a reader got in this time.
 */
export async function measureServe(options: ServeBenchOptions, say: (line: string) => void): Promise<object> {
  quietRuntime();
  return withService(options.sink, say, async (surroundings) => {
    const { startRatio, ...startTimes } = await timeStarts(surroundings, options.starts);
    say(`a start takes ${startTimes.startHttpMs} ms over HTTP, and ${startTimes.startClientMs} ms by the client`);
    const { readers, readP95Ms, queriesPerEvent, ...busy } = await measureBusy(surroundings, options);
    say(`${readers} readers: p95 ${readP95Ms} ms, ${queriesPerEvent} queries for each of ${busy.events} events`);
    const idle = await measureIdle(surroundings, options);
    say(`${idle.idleReaders} idle readers: ${idle.idleQueriesPerRunMinute} queries for a run in a minute, ${idle.rssMb} MB`);
    const { command: _, quiet: __, readers: ___, idleReaders: ____, ...setting } = options;
    return { startRatio, readers, readP95Ms, queriesPerEvent, ...idle, ...startTimes, ...busy, ...setting, machine: surroundings.machine };
  });
}

/** The settings of the service's process, passed as the JSON of its first argument. */
export interface ServiceSetting extends WorkersSetting {
  sink: ServedSink;
  /** The address of Redis, for that sink. */
  redisUrl: string;
}

/** A message to the process of the service. `count` begins a new count. */
export type ServiceRequest = { type: 'where' } | { type: 'count' } | { type: 'stop' };

/** A message from the process of the service. */
export type ServiceReply = { type: 'ready' } | { type: 'where'; url: string } | ServiceCount;

/** The counts of the service since the last request for them. */
interface ServiceCount {
  type: 'count';
  /** Queries that the service sent to workflows. */
  queries: number;
  /** The largest resident size of its process, in bytes, at any second. */
  rss: number;
}

/** The settings of the process of readers. */
export interface ReadersSetting {
  url: string;
}

/** A message to the process of readers. */
export type ReadersRequest =
  | { type: 'open'; runIds: string[]; readers: number }
  | { type: 'ends' }
  | { type: 'open_ones' }
  | { type: 'stop' };

/** A message from the process of readers: `opened` once each reader has heard that its run waits, `ended` once each has the end of its run. */
export type ReadersReply = { type: 'ready' } | { type: 'opened' } | ReadersEnded | { type: 'open_ones'; readers: number };

/** The measurements of readers, from `opened` to their ends. */
interface ReadersEnded {
  type: 'ended';
  /** Milliseconds from the answer of a model or a tool to the receipt of its event, of all readers. */
  eventDelays: number[];
  /** Milliseconds from the sending of a token to the receipt of its delta, of all readers. */
  deltaDelays: number[];
  /** The events that each reader got. */
  events: number[];
}

/** The environment of a measurement of a service. */
interface ServeSurroundings {
  /** The address of the service. */
  url: string;
  service: ProgramProcess<ServiceRequest, ServiceReply>;
  readers: ProgramProcess<ReadersRequest, ReadersReply>;
  /** Starts runs and decides, next to the service. */
  client: LonghaulClient;
  machine: Machine;
}

const SERVICE = fileURLToPath(new URL('../processes/serving.ts', import.meta.url));
const WORKER = fileURLToPath(new URL('../processes/reporting.ts', import.meta.url));
const READERS = fileURLToPath(new URL('../processes/stream-readers.ts', import.meta.url));

/**
 * Starts a dev server, the service, its worker and the readers, each in a separate process; with memory as the sink, the worker is in the
 * service's process. Ends everything afterwards.
 */
async function withService<Result>(
  sink: ServedSink,
  say: (line: string) => void,
  measure: (surroundings: ServeSurroundings) => Promise<Result>,
): Promise<Result> {
  await using all = new AsyncDisposableStack();
  const server = await startDevServer({ say, env: { ...process.env, TEMPORAL_ADDRESS: '' } });
  all.defer(() => server.stop());
  const { address, namespace } = server;
  const bundle = await bundleToFile();
  all.defer(() => bundle.remove());
  const provider = await startTokenProvider();
  all.defer(() => provider.stop());
  const redis = sink === 'redis' ? await startRedis() : undefined;
  all.defer(() => redis?.stop());
  const client = await connect({ address, namespace });
  all.defer(() => client.close());
  const setting: ServiceSetting = {
    address,
    namespace,
    bundlePath: bundle.path,
    providerURL: provider.baseURL,
    sink,
    redisUrl: redis?.url ?? '',
  };
  if (sink !== 'memory') {
    const worker = new ProgramProcess<{ type: 'stop' }, { type: 'ready' }>(WORKER, setting);
    await worker.start();
    all.defer(() => worker.stop({ type: 'stop' }));
  }
  const service = new ProgramProcess<ServiceRequest, ServiceReply>(SERVICE, setting, { execArgv: [BOUNDED_YOUNG_GENERATION] });
  await service.start();
  all.defer(() => service.stop({ type: 'stop' }));
  const { url } = await service.ask({ type: 'where' }, 'where');
  const given: ReadersSetting = { url };
  const readers = new ProgramProcess<ReadersRequest, ReadersReply>(READERS, given);
  await readers.start();
  all.defer(() => readers.stop({ type: 'stop' }));
  return await measure({ url, service, readers, client, machine: await describeMachine(client.temporal) });
}

/** The times of starts, in milliseconds, and the times over HTTP divided by the client's. */
interface StartTimes {
  startRatio: number;
  startHttpMs: number;
  startClientMs: number;
  /** The same for runs that a worker on the same cores begins at once, while the response to their start is sent. */
  startRatioWithWorker: number;
}

/** Starts of each way before the first one that counts: a service that has just begun runs code that is not compiled yet. */
const WARM_UP = 2_000;

/** The number of them that are made at the same time. */
const AT_ONCE = 10;

/** The pause before each start, which lets the server finish its work on the previous one. */
const PAUSE_MS = 20;
const INPUT = JSON.stringify({ steps: 0, tokens: 1, rate: 0, phaseMs: 0 });

/** A run that begins takes several times as long as its start, so proportionally fewer are timed. */
const FEWER_WITH_WORKER = 5;

/** A task queue that no worker polls. */
const NO_WORKER = 'no-worker';

/** Starts a run of the reporter with that id, in the default task queue or in another one. */
type Start = (runId: string, taskQueue?: string) => Promise<unknown>;

/** The ways of a start. */
type Way = 'http' | 'client';

/**
 * Times starts by turns, from this process: `POST /v1/runs` on a connection that is kept alive, and `client.start`, both warmed up. The
 * runs of `startRatio` are taken by no worker: the caller, the service and the server have the cores to themselves. Of the others, each has
 * ended before the next one starts.
 */
async function timeStarts({ url, client }: ServeSurroundings, starts: number): Promise<StartTimes> {
  const connections = new Pool(url, { connections: AT_ONCE });
  const ways: Record<Way, Start> = {
    http: (runId, taskQueue) => post(connections, '/v1/runs', { agent: reporter.name, runId, input: INPUT, taskQueue }),
    client: (runId, taskQueue) => client.start(reporter, { runId, input: INPUT, ...(taskQueue === undefined ? {} : { taskQueue }) }),
  };
  const ended = (runId: string): Promise<unknown> => client.handle(runId).result({ steps: false });
  for (let first = 0; first < WARM_UP; first += AT_ONCE) {
    const numbers = Array.from({ length: AT_ONCE }, (_, index) => first + index);
    await Promise.all(numbers.flatMap((number) => [ways.http(`warm-http-${number}`), ways.client(`warm-client-${number}`)]));
    await Promise.all(numbers.flatMap((number) => [ended(`warm-http-${number}`), ended(`warm-client-${number}`)]));
  }
  const alone = await timeByTurns(starts, (way, pair) => timed(() => ways[way](`start-${way}-${pair}`, NO_WORKER)));
  const withWorker = await timeByTurns(Math.ceil(starts / FEWER_WITH_WORKER), async (way, pair) => {
    const runId = `begun-${way}-${pair}`;
    const time = await timed(() => ways[way](runId));
    await ended(runId);
    return time;
  });
  await connections.close();
  return {
    startRatio: rounded(alone.http / alone.client, 3),
    startHttpMs: rounded(alone.http, 2),
    startClientMs: rounded(alone.client, 2),
    startRatioWithWorker: rounded(withWorker.http / withWorker.client, 3),
  };
}

/** Times pairs of starts, each way first in turn. Returns the median of each. */
async function timeByTurns(pairs: number, time: (way: Way, pair: number) => Promise<number>): Promise<Record<Way, number>> {
  const times: Record<Way, number[]> = { http: [], client: [] };
  for (let pair = 0; pair < pairs; pair += 1) {
    const order: Way[] = pair % 2 === 0 ? ['http', 'client'] : ['client', 'http'];
    for (const way of order) {
      await pause(PAUSE_MS);
      times[way].push(await time(way, pair));
    }
  }
  return { http: median(times.http), client: median(times.client) };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

/** Sends JSON, and resolves with the end of the response. Rejects for any status but 201. */
async function post(connections: Pool, path: string, body: object): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const response = await connections.request({ path, method: 'POST', headers, body: JSON.stringify(body) });
  const text = await response.body.text();
  if (response.statusCode !== 201) throw new Error(`A start was answered by ${response.statusCode}: ${text}`);
}

const AGAIN_MS = 20;
const WAITS_WITHIN_MS = 60_000;

/** Starts a run of the script that waits for a decision first, and returns once it waits. */
async function startWaiting(client: LonghaulClient, runId: string, script: TokenScript): Promise<RunHandle<unknown>> {
  const run = await client.start(reporter, { runId, input: JSON.stringify({ ...script, asks: true }) });
  const deadline = Date.now() + WAITS_WITHIN_MS;
  while ((await run.approvals()).pending.length === 0) {
    if (Date.now() > deadline) throw new Error(`Run "${runId}" asks for no decision`);
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
  return run;
}

/** Lets the run that waits continue. */
async function approve(run: RunHandle<unknown>): Promise<void> {
  for (const waiting of (await run.approvals()).pending) await run.approve(waiting, { by: 'bench' });
}

/** The figures of the readers of one run. */
interface BusyFigures {
  readers: number;
  readP50Ms: number;
  readP95Ms: number;
  deltaP95Ms: number;
  queriesPerEvent: number;
  events: number;
}

const TOKENS = 5;

/** Lets readers follow one run from a decision to its end. */
async function measureBusy(
  { client, service, readers }: ServeSurroundings,
  { readers: number, steps, rate }: ServeBenchOptions,
): Promise<BusyFigures> {
  const run = await startWaiting(client, 'read', { steps, tokens: TOKENS, rate, phaseMs: 0 });
  await readers.ask({ type: 'open', runIds: [run.runId], readers: number }, 'opened');
  await service.ask({ type: 'count' }, 'count');
  const ends = readers.ask({ type: 'ends' }, 'ended');
  await approve(run);
  const { eventDelays, deltaDelays, events } = await ends;
  const { queries } = await service.ask({ type: 'count' }, 'count');
  const [each = 0] = events;
  if (events.some((one) => one !== each)) throw new Error('Not all readers have got the same events');
  return {
    readers: number,
    readP50Ms: rounded(percentile(eventDelays, 50), 1),
    readP95Ms: rounded(percentile(eventDelays, 95), 1),
    deltaP95Ms: deltaDelays.length === 0 ? 0 : rounded(percentile(deltaDelays, 95), 1),
    queriesPerEvent: rounded(queries / each, 3),
    events: each,
  };
}

/** The figures of readers of runs that wait. */
interface IdleFigures {
  idleReaders: number;
  idleQueriesPerRunMinute: number;
  rssMb: number;
}

/** The time after which what the opening of the streams has begun is over. */
const SETTLED_MS = 5_000;
const MIB = 1024 ** 2;

/** Lets readers follow runs that wait for a decision, and counts what they cost. */
async function measureIdle(
  { client, service, readers }: ServeSurroundings,
  { idleRuns, idleReaders, idleSeconds }: ServeBenchOptions,
): Promise<IdleFigures> {
  const runIds: string[] = [];
  for (let index = 0; index < idleRuns; index += 1) {
    const { runId } = await startWaiting(client, `idle-${index}`, { steps: 1, tokens: 5, rate: 0, phaseMs: 0 });
    runIds.push(runId);
  }
  await readers.ask({ type: 'open', runIds, readers: idleReaders }, 'opened');
  await pause(SETTLED_MS);
  await service.ask({ type: 'count' }, 'count');
  await pause(idleSeconds * 1_000);
  const { queries, rss } = await service.ask({ type: 'count' }, 'count');
  const { readers: open } = await readers.ask({ type: 'open_ones' }, 'open_ones');
  if (open < idleReaders) throw new Error(`${idleReaders - open} of ${idleReaders} streams were cut`);
  return {
    idleReaders,
    idleQueriesPerRunMinute: rounded((queries / idleRuns / idleSeconds) * 60, 3),
    rssMb: rounded(rss / MIB, 1),
  };
}
