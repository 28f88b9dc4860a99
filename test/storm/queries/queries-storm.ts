import type { Client } from '@temporalio/client';
import { setTimeout as pause } from 'node:timers/promises';
import type { LonghaulClient } from '../../../src/client/index.ts';
import { queryRun } from '../../../src/client/read/query-run.ts';
import { errorMessage } from '../../../src/core/domain/errors/error.ts';
import { type ContextPage, QUERIES } from '../../../src/core/protocol.ts';
import { seeded } from '../../crash/runs/random-kills.ts';
import { atOnce } from '../at-once.ts';
import { readEffects } from '../processes/ledger.ts';
import type { Outcome } from '../outcome.ts';
import { queriesChecks, type QueriedRun } from './queries-checks.ts';
import { readChain } from './read-chain.ts';
import { type AskedRun, askAndTell, type Talk } from './ask-and-tell.ts';
import type { Stage } from '../processes/stage.ts';
import type { ClerkInput } from '../processes/storm-model.ts';
import { secondsSince, timings } from '../timings.ts';
import { whereItStands } from './where-it-stands.ts';

/** The number of runs at the same time: more than the workers cache. */
const AT_ONCE = 8;
/**
 * Milliseconds after which a run that has not ended is stuck. A run is loaded for nearly every task, which takes long on a busy
 * machine.
 */
const PATIENCE_MS = 300_000;
/** One of so many runs is in the history of a user's workflow, and one is its child. */
const HOSTED = 4;
/** Milliseconds between two kills. */
const KILL_EVERY_MS = { least: 1_500, most: 5_000 };

/** The options of this part. */
export interface QueriesOptions {
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
export async function queriesStorm(stage: Stage, { runs, rounds, workers, seed }: QueriesOptions): Promise<Outcome> {
  const start = performance.now();
  const client = await stage.connect();
  const others = await Promise.all(Array.from({ length: workers - 1 }, () => stage.addWorker()));
  const ended = new AbortController();
  const killing = workers > 1 ? killAtRandom([stage.worker, ...others], seeded(seed), ended.signal) : Promise.resolve(0);
  let done = 0;
  const played = await atOnce(
    Array.from({ length: runs }, (_, number) => number),
    AT_ONCE,
    async (number): Promise<PlayedRun> => {
      const run = await play(client.temporal, stage.taskQueue, startOf(number, rounds), seeded(seed + 1 + number));
      done += 1;
      if (done % 10 === 0) stage.say(`${done} of ${runs} runs have ended after ${secondsSince(start)} s`);
      return run;
    },
  );
  ended.abort();
  const kills = await killing;
  const secondsToEnd = secondsSince(start);
  const judged: QueriedRun[] = [];
  // The replays run one after the other, because each takes a whole processor.
  for (const { workflowIds, status, talk } of played) {
    for (const runId of workflowIds) {
      const executions = await stage.replay(runId, await readChain(client.temporal, runId));
      const { messages, approvals } = runId === workflowIds.at(-1) ? talk : NOTHING_TOLD;
      judged.push({ runId, status, messages, approvals, executions, eventIds: await eventIdsOf(client, runId) });
    }
  }
  const talks = played.map(({ talk }) => talk);
  const sum = (of: (talk: Talk) => number): number => talks.reduce((total, talk) => total + of(talk), 0);
  const figures = {
    runs,
    hosted: played.filter(({ hosted }) => hosted).length,
    workers,
    kills,
    executions: judged.reduce((total, { executions }) => total + executions.length, 0),
    queries: sum((talk) => talk.queries),
    refusedQueries: sum((talk) => talk.refused),
    messages: sum((talk) => talk.messages.length),
    decisions: sum((talk) => talk.approvals.length),
    secondsToEnd,
    seconds: secondsSince(start),
    msQuery: timings(talks.flatMap(({ msQuery }) => msQuery)),
  };
  return { checks: queriesChecks(judged, readEffects(stage.ledger)), figures };
}

/** Queries the remaining worker, which has to replay the run for it; a user's workflow has no events of its own. */
async function eventIdsOf(client: LonghaulClient, runId: string): Promise<Map<number, string>> {
  const ids = new Map<number, string>();
  if (!runId.startsWith('clerk')) return ids;
  const page = await queryRun<ContextPage>(client.temporal, runId, QUERIES.context, { from: 0 });
  for (const [index, { id }] of (page?.events ?? []).entries()) ids.set((page?.from ?? 0) + index, id);
  return ids;
}

const NOTHING_TOLD = { messages: [], approvals: [] };

/** The way in which a run is started, and the address of its requests. */
interface Start {
  workflowType: string;
  /** The started workflow, and its child, if it has one. */
  workflowIds: string[];
  args: unknown[];
  asked: AskedRun;
}

function startOf(number: number, rounds: number): Start {
  const text = JSON.stringify({ rounds } satisfies ClerkInput);
  const runId = `clerk-${number}`;
  const host = `host-${number}`;
  if (number % HOSTED === 1) return { workflowType: 'parentClerk', workflowIds: [host, runId], args: [text, runId], asked: { runId } };
  if (number % HOSTED === 3)
    return { workflowType: 'inlineClerk', workflowIds: [host], args: [text], asked: { runId: host, key: 'clerk' } };
  return { workflowType: 'agentRun', workflowIds: [runId], args: [{ agent: 'clerk', input: text }], asked: { runId } };
}

/** A run after its end. */
interface PlayedRun {
  workflowIds: string[];
  hosted: boolean;
  /** The status according to Temporal, or the reason why there is none. */
  status: string;
  talk: Talk;
}

async function play(temporal: Client, taskQueue: string, start: Start, random: () => number): Promise<PlayedRun> {
  const { workflowType, workflowIds, args, asked } = start;
  const handle = await temporal.workflow.start(workflowType, { workflowId: workflowIds[0] ?? '', taskQueue, args });
  const ended = new AbortController();
  const talking = askAndTell(temporal, asked, random, ended.signal);
  const result = handle.result().then(
    () => 'COMPLETED',
    (error: unknown) => errorMessage(error),
  );
  const late = pause(PATIENCE_MS, undefined, { signal: ended.signal }).catch(() => undefined);
  const status = (await Promise.race([result, late])) ?? (await endStuck(temporal, workflowIds, result));
  ended.abort();
  return { workflowIds, hosted: workflowType !== 'agentRun', status, talk: await talking };
}

/** Describes the progress of the run, and ends it, so that nothing waits for it any longer. */
async function endStuck(temporal: Client, workflowIds: readonly string[], result: Promise<string>): Promise<string> {
  const where: string[] = [];
  for (const id of workflowIds) where.push(`"${id}": ${await whereItStands(temporal, id)}`);
  for (const id of workflowIds)
    await temporal.workflow
      .getHandle(id)
      .terminate('the storm is over')
      .catch(() => undefined);
  await result;
  return `it has not ended; ${where.join('; ')}`;
}

async function killAtRandom(workers: readonly Stage['worker'][], random: () => number, ended: AbortSignal): Promise<number> {
  let kills = 0;
  for (;;) {
    const ms = KILL_EVERY_MS.least + random() * (KILL_EVERY_MS.most - KILL_EVERY_MS.least);
    await pause(ms, undefined, { signal: ended }).catch(() => undefined);
    if (ended.aborted) return kills;
    await workers[Math.floor(random() * workers.length)]?.killAndStart();
    kills += 1;
  }
}
