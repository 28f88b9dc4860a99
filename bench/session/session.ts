import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { connect, type LonghaulClient, type SessionHandle } from '../../src/client/index.ts';
import { startDevServer } from '../../src/dev-server/dev-server.ts';
import { describeMachine, now } from '../figures/machine.ts';
import { rounded, mean, median, sum } from '../figures/statistics.ts';
import type { SessionBenchOptions } from '../options.ts';
import { bundleToFile } from '../../test/processes/workflow-bundle.ts';
import { checkRecord, talker, questionText, EMPTY_ACTIVITIES, EMPTY_ON_UPDATE } from './questions.ts';
import { SessionWorker } from '../endless/measured-worker.ts';
import { answeringTurn } from '../../src/client/session-handle.ts';
import { queryRun } from '../../src/client/executions.ts';
import { QUERIES, ACTIVITIES } from '../../src/core/protocol.ts';
import type { TurnView } from '../../src/core/domain/sessions.ts';
import type { Client } from '@temporalio/client';
import { executionChain, executionHistory, type HistoryEvent } from '../../src/history/history-events.ts';
import { measureHistory } from '../figures/encoded-history.ts';
import { type StepTimes, type WorkerSample, cpuMsPerStep, ends, tenths } from '../endless/endless-clock.ts';

type Say = (line: string) => void;

/** Turns of a session that is not measured: they load and compile code, and open connections. */
const WARM_UP_TURNS = 100;

/** The number of wakes of a measurement. */
const WAKES = 200;
const EVICTED_WAKES = 40;

/** The cache size of the worker that evicts a session because of other sessions. */
const SMALL_CACHE = 2;

const MIB = 1024 ** 2;
const MINUTE_S = 60;

/**
 * Runs one session of `messages` messages, each answered by one model call, on a tuned dev server and a worker in a separate process; then
 * leaves it idle, and wakes it from the cache of a worker and from its history. Returns the object of the last line.
 */
export async function measureSession({ messages, resultChars, idleSeconds }: SessionBenchOptions, say: Say): Promise<object> {
  const server = await startDevServer({ say, env: { ...process.env, TEMPORAL_ADDRESS: '' } });
  const bundle = await bundleToFile(fileURLToPath(new URL('empty-workflow.ts', import.meta.url)));
  const { address, namespace } = server;
  const client = await connect({ address, namespace });
  const setting = { address, namespace, bundlePath: bundle.path, resultChars };
  let worker = await new SessionWorker(setting).start();
  try {
    const asked: string[] = [];
    const session = open(client);
    await runTurns({ client, worker, session: open(client), next: counting([]) }, WARM_UP_TURNS);
    await worker.watch(session.id, messages, ({ step, rss }) => {
      if (step % Math.ceil(messages / 10) === 0) say(`${step} of ${messages} turns, the worker holds ${(rss / MIB).toFixed(0)} MiB`);
    });
    const woken: Woken = { client, worker, session, next: counting(asked) };
    await runTurns(woken, messages);
    const times = await worker.times();
    const { samples } = worker;
    const histories = await weighSession(client.temporal, session.id);
    const figures = sessionFigures({ messages, histories, ...times, samples });
    say(`idle for ${idleSeconds} s`);
    const idleEvents = await eventsWhileIdle(client, session, idleSeconds);
    await worker.calls();
    say(`waking it ${WAKES} times from the cache`);
    const cached = await measureCached(woken, WAKES);
    await worker.stop();
    worker = await new SessionWorker({ ...setting, cached: SMALL_CACHE }).start();
    say(`waking it ${EVICTED_WAKES} times from its history`);
    const others = Array.from({ length: SMALL_CACHE }, () => ({ client, worker, session: open(client), next: counting([]) }));
    const { historyLength: evictedHistoryEvents } = await client.temporal.workflow.getHandle(session.id).describe();
    const wakeEvictedP50Ms = await measureEvicted({ ...woken, worker }, others, EVICTED_WAKES);
    await session.close();
    say('reading the record of the whole session');
    const { lost, doubled, misplaced, turns } = await checkRecord(session.run.export(), asked);
    return {
      ...figures,
      lost,
      doubled,
      misplaced,
      recordedTurns: turns,
      ...cached,
      wakeEvictedP50Ms,
      evictedHistoryEvents,
      wakeToEmptyActivity: rounded(cached.wakeCachedP50Ms / cached.emptyActivityP50Ms, 2),
      wakeToEmptyUpdate: rounded(cached.wakeCachedP50Ms / cached.emptyUpdateP50Ms, 2),
      idleEventsPerMinute: rounded((idleEvents * MINUTE_S) / idleSeconds, 2),
      idleSeconds,
      resultChars,
      machine: { ...(await describeMachine(client.temporal)), modelClient: 'a function' },
    };
  } finally {
    await worker.stop();
    await client.close();
    await bundle.remove();
    await server.stop();
  }
}

/** A session with the defaults, whose limits are lifted. */
function open(client: LonghaulClient): SessionHandle {
  return client.session(talker, { id: `session-${randomUUID()}`, limits: { turns: null, totalTokens: null } });
}

/** Names one question after the other, and keeps their ids. */
function counting(ids: string[]): Woken['next'] {
  const prefix = randomUUID().slice(0, 4);
  let seed = 0;
  return () => {
    const id = `${prefix}-${(seed += 1)}`;
    ids.push(id);
    return { id, seed };
  };
}

async function runTurns({ client, worker, session, next }: Woken, turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) await Promise.race([askSession(client, session, next()), worker.died]);
}

/** Returns the number of events that an idle session gains within `seconds` seconds. */
async function eventsWhileIdle({ temporal }: LonghaulClient, { id }: SessionHandle, seconds: number): Promise<number> {
  const handle = temporal.workflow.getHandle(id);
  const before = await handle.describe();
  await pause(seconds * 1_000);
  const after = await handle.describe();
  if (after.runId !== before.runId) throw new Error('The session has continued as new while it was idle');
  return after.historyLength - before.historyLength;
}

/** Shorter than the client's pauses, so that they do not hide turns that become slower. */
const PAUSE_MS = 10;

/** A question, and the number that its text is made from. */
interface Question {
  id: string;
  seed: number;
}

/** Sends a question, and waits for the end of its turn. */
async function askSession({ temporal }: LonghaulClient, session: SessionHandle, { id, seed }: Question): Promise<void> {
  const turn = answeringTurn(session.id, await session.send(questionText(id, seed), { id }));
  for (;;) {
    const view = await queryRun<TurnView>(temporal, session.id, QUERIES.turn, { turn });
    if (view !== undefined && (view.result !== undefined || view.firstTurn > turn)) return;
    await pause(PAUSE_MS);
  }
}

/** The histories of a session. */
interface SessionHistories {
  /** Events and bytes of each execution, the oldest first. */
  executions: { events: number; bytes: number }[];
  /** Bytes of each turn: from the scheduling of its model call to the scheduling of the next one. */
  turnBytes: number[];
  /** The number of model calls that summarized the older part of the conversation. */
  summaries: number;
}

/** Measures the histories of all executions of a session. Throws if the server has removed some. */
async function weighSession(client: Client, sessionId: string): Promise<SessionHistories> {
  const { runId } = await client.workflow.getHandle(sessionId).describe();
  const { executionIds, complete } = await executionChain(client, sessionId, runId);
  if (!complete) throw new Error(`The server has removed executions of session "${sessionId}"`);
  const all: HistoryEvent[] = [];
  const executions: SessionHistories['executions'] = [];
  for (const executionId of executionIds) {
    const { events: history } = await executionHistory(client, sessionId, executionId);
    const { events, bytes } = measureHistory(history, ACTIVITIES.callModel);
    executions.push({ events, bytes });
    all.push(...history);
  }
  const { stepBytes, answerBytes } = measureHistory(all, ACTIVITIES.callModel);
  const summaries = all.filter((event) => event.activityTaskScheduledEventAttributes?.activityType?.name === ACTIVITIES.summarize);
  return { executions, turnBytes: [...stepBytes, answerBytes], summaries: summaries.length };
}

/** The measurements of one long session. */
interface MeasuredSession extends StepTimes {
  messages: number;
  histories: SessionHistories;
  samples: readonly WorkerSample[];
}

/** The figures of one long session: the main figures first, and then those that explain them. Milliseconds, bytes. */
interface SessionFigures {
  messages: number;
  executions: number;
  /** Events of all executions divided by the messages: summaries, refreshes and the beginnings of executions included. */
  eventsPerTurn: number;
  maxEventsPerExecution: number;
  maxBytesPerExecution: number;
  /** The mean over the first tenth of the turns, each from the start of its model call to the start of the next. */
  msPerTurnFirst: number;
  msPerTurnLast: number;
  bytesPerTurnFirst: number;
  bytesPerTurnLast: number;
  /** The median of the readings in the first tenth. */
  rssFirst: number;
  rssLast: number;
  /** `msPerTurnLast / msPerTurnFirst`, and so on. */
  msPerTurnGrowth: number;
  bytesPerTurnGrowth: number;
  rssGrowth: number;
  msPerTurnByTenth: number[];
  msPerTurnP50ByTenth: number[];
  bytesPerTurnByTenth: number[];
  rssByTenth: number[];
  heapByTenth: number[];
  workflowHeapByTenth: number[];
  cpuMsPerTurnByTenth: number[];
  summaries: number;
  retries: number;
}

/** Computes the figures of a session. Throws if turns are missing. */
function sessionFigures({ messages, histories, starts, samples, retries }: MeasuredSession): SessionFigures {
  if (starts.length !== messages) throw new Error(`The session made ${starts.length} model calls for ${messages} messages`);
  const { executions, turnBytes, summaries } = histories;
  const durations = starts.slice(1).map((start, index) => ({ step: index, value: start - (starts[index] ?? 0) }));
  const times = tenths(durations, messages);
  const sizes = tenths(
    turnBytes.map((value, step) => ({ step, value })),
    messages,
  );
  const readings = tenths(samples, messages);
  const means = (parts: { value: number }[][]): number[] => parts.map((part) => rounded(mean(part.map(({ value }) => value)), 2));
  const medians = (read: (sample: WorkerSample) => number): number[] => readings.map((tenth) => median(tenth.map(read)));
  const [msPerTurnByTenth, bytesPerTurnByTenth, rssByTenth] = [means(times), means(sizes), medians(({ rss }) => rss)];
  const [msPerTurnFirst, msPerTurnLast] = ends(msPerTurnByTenth);
  const [bytesPerTurnFirst, bytesPerTurnLast] = ends(bytesPerTurnByTenth);
  const [rssFirst, rssLast] = ends(rssByTenth);
  return {
    messages,
    executions: executions.length,
    eventsPerTurn: rounded(sum(executions.map(({ events }) => events)) / messages, 2),
    maxEventsPerExecution: Math.max(...executions.map(({ events }) => events)),
    maxBytesPerExecution: Math.max(...executions.map(({ bytes }) => bytes)),
    msPerTurnFirst,
    msPerTurnLast,
    bytesPerTurnFirst,
    bytesPerTurnLast,
    rssFirst,
    rssLast,
    msPerTurnGrowth: rounded(msPerTurnLast / msPerTurnFirst, 3),
    bytesPerTurnGrowth: rounded(bytesPerTurnLast / bytesPerTurnFirst, 3),
    rssGrowth: rounded(rssLast / rssFirst, 3),
    msPerTurnByTenth,
    msPerTurnP50ByTenth: times.map((tenth) => rounded(median(tenth.map(({ value }) => value)), 2)),
    bytesPerTurnByTenth,
    rssByTenth,
    heapByTenth: medians(({ heap }) => heap),
    workflowHeapByTenth: medians(({ workflowHeap }) => workflowHeap),
    cpuMsPerTurnByTenth: readings.map(cpuMsPerStep),
    summaries,
    retries,
  };
}

/** The workflows of the comparison are on the task queue of the worker. */
const TASK_QUEUE = 'longhaul';

/** The time after which an idle session is woken. */
const IDLE_MS = 20;

/** The sessions that are woken, and the worker that wakes them. */
interface Woken {
  client: LonghaulClient;
  worker: SessionWorker;
  session: SessionHandle;
  /** Names the next question of the session. */
  next: () => { id: string; seed: number };
}

/** The figures of waking a session in the worker's cache, next to the figures of empty activities of the SDK. Milliseconds. */
interface WakeFigures {
  /** From the request of the client to the call of the provider. */
  wakeCachedP50Ms: number;
  /** One empty activity: from its start to the start of the next one in a workflow that does nothing else. */
  emptyActivityP50Ms: number;
  /** From an Update of a client, to a workflow that does nothing else, to the start of an empty activity. */
  emptyUpdateP50Ms: number;
}

/** Wakes a session `wakes` times, in turns with a workflow that starts an empty activity. */
async function measureCached({ client, worker, session, next }: Woken, wakes: number): Promise<WakeFigures> {
  const workflowId = `empty-${randomUUID()}`;
  const chain = await client.temporal.workflow.start(EMPTY_ACTIVITIES, {
    workflowId: `chain-${randomUUID()}`,
    taskQueue: TASK_QUEUE,
    args: [wakes],
  });
  await chain.result();
  const chained = [...(await worker.calls()).values()];
  const handle = await client.temporal.workflow.start(EMPTY_ON_UPDATE, { workflowId, taskQueue: TASK_QUEUE, args: [wakes] });
  const sentAt = { session: new Map<string, number>(), update: new Map<string, number>() };
  for (let wake = 0; wake < wakes; wake += 1) {
    const question = next();
    await pause(IDLE_MS);
    sentAt.session.set(question.id, now());
    await askSession(client, session, question);
    const id = `update-${wake}`;
    await pause(IDLE_MS);
    sentAt.update.set(id, now());
    await handle.executeUpdate<void, [string]>('ask', { args: [id] });
  }
  await handle.result();
  const calls = await worker.calls();
  return {
    wakeCachedP50Ms: p50(delays(sentAt.session, calls)),
    emptyActivityP50Ms: p50(chained.slice(1).map((at, index) => at - (chained[index] ?? 0))),
    emptyUpdateP50Ms: p50(delays(sentAt.update, calls)),
  };
}

/** Wakes a session `wakes` times, each time after other sessions have taken its place in the cache of the worker. */
async function measureEvicted({ client, worker, session, next }: Woken, others: readonly Woken[], wakes: number): Promise<number> {
  const sentAt = new Map<string, number>();
  for (let wake = 0; wake < wakes; wake += 1) {
    for (const other of others) await askSession(client, other.session, other.next());
    const question = next();
    await pause(IDLE_MS);
    sentAt.set(question.id, now());
    await askSession(client, session, question);
  }
  return p50(delays(sentAt, await worker.calls()));
}

function delays(sentAt: ReadonlyMap<string, number>, calls: ReadonlyMap<string, number>): number[] {
  return [...sentAt].map(([id, at]) => (calls.get(id) ?? Number.NaN) - at);
}

function p50(values: readonly number[]): number {
  return rounded(median(values), 2);
}
