import type { Client } from '@temporalio/client';
import { setTimeout as pause } from 'node:timers/promises';
import type { LonghaulClient } from '../../src/client/index.ts';
import { queryRun } from '../../src/client/executions.ts';
import { errorMessage } from '../../src/core/domain/errors.ts';
import {
  type ContextPage,
  QUERIES,
  type ApprovalsPage,
  type ApproveInput,
  scopedName,
  type SendInput,
  UPDATES,
} from '../../src/core/protocol.ts';
import { seeded } from '../crash/runs/random-kills.ts';
import { atOnce } from '../processes/at-once.ts';
import { readEffects } from './processes/ledger.ts';
import type { Outcome, StormTestbed } from './processes/storm-testbed.ts';
import { queriesChecks, type QueriedRun, readChain, keptHistory } from './replayed.ts';
import { agentOf, type ClerkInput } from './processes/storm-agents.ts';
import { secondsSince, timings } from '../processes/timings.ts';
import { isRetryableQueryError } from '../../src/temporal/server-calls.ts';

/** The number of runs at the same time: more than the workers cache. */
const AT_ONCE = 8;
/**
 * Milliseconds after which a run that has not ended is stuck. A run is loaded for nearly every task, which takes long on a busy
 * machine.
 */
const PATIENCE_MS = 300_000;
/** One in this many runs is in the history of a user's workflow, and one is its child. */
const HOSTED = 4;
/** Milliseconds between two kills. */
const KILL_EVERY_MS = { least: 1_500, most: 5_000 };

/** The options of this part. */
interface QueriesOptions {
  runs: number;
  /** Rounds of tool calls of each run. */
  rounds: number;
  /** Number of workers. All but one are killed at random, and restarted. */
  workers: number;
  seed: number;
}

/**
 * Many runs on workers that cache hardly any of them, with queries and Updates all the time, from Longhaul's client and from
 * clients like the Temporal UI. At the end every history must replay: a run that does not replay gets stuck at its next deploy.
 */
export async function queriesStorm(testbed: StormTestbed, { runs, rounds, workers, seed }: QueriesOptions): Promise<Outcome> {
  const start = performance.now();
  const client = await testbed.connect();
  const others = await Promise.all(Array.from({ length: workers - 1 }, () => testbed.addWorker()));
  const ended = new AbortController();
  const killing = workers > 1 ? killAtRandom([testbed.worker, ...others], seeded(seed), ended.signal) : Promise.resolve(0);
  let done = 0;
  const endedRuns = await atOnce(
    Array.from({ length: runs }, (_, number) => number),
    AT_ONCE,
    async (number): Promise<EndedRun> => {
      const run = await runToEnd(client.temporal, testbed.taskQueue, startOf(number, rounds), seeded(seed + 1 + number));
      done += 1;
      if (done % 10 === 0) testbed.say(`${done} of ${runs} runs have ended after ${secondsSince(start)} s`);
      return run;
    },
  );
  ended.abort();
  const kills = await killing;
  const secondsToEnd = secondsSince(start);
  const queriedRuns: QueriedRun[] = [];
  // The replays run sequentially, because each takes a whole processor.
  for (const { workflowIds, status, sent } of endedRuns) {
    for (const runId of workflowIds) {
      const chain = await readChain(client.temporal, runId);
      const executions = await testbed.replay(runId, chain);
      const last = chain.at(-1);
      if (status !== 'COMPLETED' && last !== undefined) testbed.say(await keptHistory(runId, last));
      const { messages, approvals } = runId === workflowIds.at(-1) ? sent : NOTHING_SENT;
      queriedRuns.push({ runId, status, messages, approvals, executions, eventIds: await eventIdsOf(client, runId) });
    }
  }
  const allSent = endedRuns.map(({ sent }) => sent);
  const sum = (of: (sent: SentRequests) => number): number => allSent.reduce((total, sent) => total + of(sent), 0);
  const figures = {
    runs,
    hosted: endedRuns.filter(({ hosted }) => hosted).length,
    workers,
    kills,
    executions: queriedRuns.reduce((total, { executions }) => total + executions.length, 0),
    queries: sum((sent) => sent.queries),
    refusedQueries: sum((sent) => sent.refused),
    messages: sum((sent) => sent.messages.length),
    decisions: sum((sent) => sent.approvals.length),
    secondsToEnd,
    seconds: secondsSince(start),
    msQuery: timings(allSent.flatMap(({ msQuery }) => msQuery)),
  };
  return { checks: queriesChecks(queriedRuns, readEffects(testbed.ledger)), figures };
}

/** Queries the remaining worker, which has to replay the run for it; a user's workflow has no separate events. */
async function eventIdsOf(client: LonghaulClient, runId: string): Promise<Map<number, string>> {
  const ids = new Map<number, string>();
  if (!runId.startsWith('clerk')) return ids;
  const page = await queryRun<ContextPage>(client.temporal, runId, QUERIES.context, { from: 0 });
  for (const [index, { id }] of (page?.events ?? []).entries()) ids.set((page?.from ?? 0) + index, id);
  return ids;
}

const NOTHING_SENT = { messages: [], approvals: [] };

/** How a run is started, and the address of its requests. */
interface Start {
  workflowType: string;
  /** The started workflow, and its child, if it has one. */
  workflowIds: string[];
  args: unknown[];
  target: RunAddress;
}

function startOf(number: number, rounds: number): Start {
  const text = JSON.stringify({ rounds } satisfies ClerkInput);
  const runId = `clerk-${number}`;
  const clerk = agentOf('clerk', number);
  const host = `host-${number}`;
  if (number % HOSTED === 1)
    return { workflowType: 'parentClerk', workflowIds: [host, runId], args: [clerk, text, runId], target: { runId } };
  if (number % HOSTED === 3)
    return { workflowType: 'inlineClerk', workflowIds: [host], args: [clerk, text], target: { runId: host, key: 'clerk' } };
  return { workflowType: 'agentRun', workflowIds: [runId], args: [{ agent: clerk, input: text }], target: { runId } };
}

/** A run after its end. */
interface EndedRun {
  workflowIds: string[];
  hosted: boolean;
  /** The status according to Temporal, or the reason why there is no status. */
  status: string;
  sent: SentRequests;
}

async function runToEnd(temporal: Client, taskQueue: string, start: Start, random: () => number): Promise<EndedRun> {
  const { workflowType, workflowIds, args, target } = start;
  const handle = await temporal.workflow.start(workflowType, { workflowId: workflowIds[0] ?? '', taskQueue, args });
  const ended = new AbortController();
  const sending = sendRequests(temporal, target, random, ended.signal);
  const result = handle.result().then(
    () => 'COMPLETED',
    (error: unknown) => messagesOf(error).join(': '),
  );
  const late = pause(PATIENCE_MS, undefined, { signal: ended.signal }).catch(() => undefined);
  const status = (await Promise.race([result, late])) ?? (await endStuck(temporal, workflowIds, result));
  ended.abort();
  return { workflowIds, hosted: workflowType !== 'agentRun', status, sent: await sending };
}

/** The messages of an error and of what caused it: Temporal's own says only that a workflow has failed. */
function messagesOf(error: unknown): string[] {
  if (!(error instanceof Error)) return [errorMessage(error)];
  return [error.message, ...(error.cause === undefined ? [] : messagesOf(error.cause))];
}

/** Describes the progress of the run, and ends it, so that nothing waits for it any longer. */
async function endStuck(temporal: Client, workflowIds: readonly string[], result: Promise<string>): Promise<string> {
  const where: string[] = [];
  for (const id of workflowIds) where.push(`"${id}": ${await describeProgress(temporal, id)}`);
  for (const id of workflowIds)
    await temporal.workflow
      .getHandle(id)
      .terminate('the storm is over')
      .catch(() => undefined);
  await result;
  return `it has not ended; ${where.join('; ')}`;
}

async function killAtRandom(workers: readonly StormTestbed['worker'][], random: () => number, ended: AbortSignal): Promise<number> {
  let kills = 0;
  for (;;) {
    const ms = KILL_EVERY_MS.least + random() * (KILL_EVERY_MS.most - KILL_EVERY_MS.least);
    await pause(ms, undefined, { signal: ended }).catch(() => undefined);
    if (ended.aborted) return kills;
    await workers[Math.floor(random() * workers.length)]?.killAndStart();
    kills += 1;
  }
}

/** A run, or a run inside a user's workflow with its key. */
interface RunAddress {
  runId: string;
  key?: string;
}

/** The requests that were sent. */
interface SentRequests {
  queries: number;
  /** The number of queries that were refused with the request to ask again. */
  refused: number;
  msQuery: number[];
  /** Messages that the run has accepted, by their text. */
  messages: string[];
  /** Calls that were approved, by their id. */
  approvals: string[];
}

/** Queries of the Temporal UI. */
const UI_QUERIES = ['__temporal_workflow_metadata', '__stack_trace'];
const LONGEST_PAUSE_MS = 150;
const DEADLINE_MS = 5_000;

/** Sends queries and Updates to the run until it has ended. A failed request is repeated or dropped. Never rejects. */
async function sendRequests(client: Client, { runId, key }: RunAddress, random: () => number, ended: AbortSignal): Promise<SentRequests> {
  const sent: SentRequests = { queries: 0, refused: 0, msQuery: [], messages: [], approvals: [] };
  const handle = client.workflow.getHandle(runId);
  const within = <Answer>(call: () => Promise<Answer>): Promise<Answer> => client.withDeadline(Date.now() + DEADLINE_MS, call);

  const ask = async <Answer>(name: string, ...args: unknown[]): Promise<Answer | undefined> => {
    const start = performance.now();
    sent.queries += 1;
    try {
      return await within(() => handle.query<Answer, unknown[]>(name, ...args));
    } catch (error) {
      if (isRetryableQueryError(error)) sent.refused += 1;
      return undefined;
    } finally {
      sent.msQuery.push(performance.now() - start);
    }
  };
  const update = async (name: string, input: SendInput | ApproveInput | { id?: never }): Promise<boolean> => {
    const args: [unknown] = [input];
    return within(() =>
      handle.executeUpdate<unknown, [unknown]>(scopedName(name, key), { args, ...(input.id === undefined ? {} : { updateId: input.id }) }),
    ).then(
      () => true,
      () => false,
    );
  };
  const approveAll = async (): Promise<void> => {
    const page = await ask<ApprovalsPage>(scopedName(QUERIES.approvals, key), { from: 0 });
    for (const { callId, digest } of page?.pending ?? []) {
      const approve: ApproveInput = { callId, digest, id: `${callId}-yes` };
      if (await update(UPDATES.approve, approve)) sent.approvals.push(callId);
    }
  };
  const send = async (): Promise<void> => {
    const content = `message ${sent.messages.length}`;
    if (await update(UPDATES.send, { id: `m${sent.messages.length}`, content })) sent.messages.push(content);
  };

  // A run may be paused by a request whose answer came too late: it is resumed in any case.
  const pauseAwhile = async (): Promise<void> => {
    await update(UPDATES.pause, {});
    do await rest();
    while (!(await update(UPDATES.resume, {})) && !ended.aborted);
  };
  const rest = (): Promise<unknown> => pause(random() * LONGEST_PAUSE_MS, undefined, { signal: ended }).catch(() => undefined);

  while (!ended.aborted) {
    const chance = random();
    if (chance < 0.05) await pauseAwhile();
    else if (chance < 0.4) await approveAll();
    else if (chance < 0.7) await send();
    else await ask(UI_QUERIES[Math.floor(random() * UI_QUERIES.length)] ?? '');
    await rest();
  }
  return sent;
}

/** The number of events that are shown. */
const SHOWN = 8;

/** Describes the state of a workflow that has not ended: its pending activities, its pending workflow task, its newest events. */
async function describeProgress(client: Client, workflowId: string): Promise<string> {
  const { raw } = await client.workflow.getHandle(workflowId).describe();
  const activities = (raw.pendingActivities ?? []).map(
    ({ activityType, attempt, lastFailure }) =>
      `${activityType?.name} (attempt ${attempt}${lastFailure ? `: ${lastFailure.message}` : ''})`,
  );
  const task = raw.pendingWorkflowTask ? [`a workflow task (attempt ${raw.pendingWorkflowTask.attempt})`] : [];
  const newest = (await readChain(client, workflowId)).at(-1)?.events.slice(-SHOWN) ?? [];
  const types = newest.map((event) => Object.entries(event).find(([name, value]) => name.endsWith('Attributes') && value)?.[0] ?? '');
  return `it waits for ${[...activities, ...task].join(', ') || 'nothing'}; its newest events: ${types.map((name) => name.replace('EventAttributes', '')).join(', ')}`;
}
