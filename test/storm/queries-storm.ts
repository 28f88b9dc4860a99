import type { Client } from '@temporalio/client';
import { setTimeout as pause } from 'node:timers/promises';
import { errorMessage } from '../../src/domain/error.ts';
import { seeded } from '../crash/random-kills.ts';
import { atOnce } from './at-once.ts';
import { readEffects } from './ledger.ts';
import type { Outcome } from './outcome.ts';
import { queriesChecks, type QueriedRun } from './queries-checks.ts';
import { readChain } from './read-chain.ts';
import { type AskedRun, askAndTell, type Talk } from './ask-and-tell.ts';
import type { Stage } from './stage.ts';
import type { ClerkInput } from './storm-model.ts';
import { secondsSince, timings } from './timings.ts';
import { whereItStands } from './where-it-stands.ts';

/** Runs that go on at once: more than the workers keep in memory. */
const AT_ONCE = 8;
/** Milliseconds after which a run that has not ended is stuck. */
const PATIENCE_MS = 120_000;
/** One run of so many is inside a workflow of the user. */
const INLINE = 4;
/** Milliseconds between two kills. */
const KILL_EVERY_MS = { least: 1_500, most: 5_000 };

/** How the runs are disturbed. */
export interface QueriesOptions {
  runs: number;
  /** Rounds of tool calls of each run. */
  rounds: number;
  /** Workers; all but one mean that they are killed at random, and started again. */
  workers: number;
  seed: number;
}

/**
 * Many runs on workers that keep hardly any of them in memory, told things and asked things all the time, by our client
 * and as the Temporal UI does it. At the end every history must replay: one that does not is a run that any deploy sticks.
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
      const inline = number % INLINE === INLINE - 1;
      const asked: AskedRun = inline ? { runId: `host-${number}`, key: 'clerk' } : { runId: `clerk-${number}` };
      const run = await play(client.temporal, stage.taskQueue, asked, { rounds, random: seeded(seed + 1 + number) });
      done += 1;
      if (done % 10 === 0) stage.say(`${done} of ${runs} runs have ended after ${secondsSince(start)} s`);
      return run;
    },
  );
  ended.abort();
  const kills = await killing;
  const secondsToEnd = secondsSince(start);
  const judged: QueriedRun[] = [];
  // One after the other: a replay takes a processor for itself.
  for (const { asked, status, talk } of played) {
    const executions = await readChain(client.temporal, asked.runId);
    judged.push({
      runId: asked.runId,
      status,
      messages: talk.messages,
      approvals: talk.approvals,
      executions: await stage.replay(asked.runId, executions),
    });
  }
  const talks = played.map(({ talk }) => talk);
  const sum = (of: (talk: Talk) => number): number => talks.reduce((total, talk) => total + of(talk), 0);
  const figures = {
    runs,
    inline: played.filter(({ asked }) => asked.key !== undefined).length,
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

/** A run that was played. */
interface PlayedRun {
  asked: AskedRun;
  /** Temporal's word, or why there is none. */
  status: string;
  talk: Talk;
}

async function play(
  temporal: Client,
  taskQueue: string,
  asked: AskedRun,
  { rounds, random }: { rounds: number; random: () => number },
): Promise<PlayedRun> {
  const text = JSON.stringify({ rounds } satisfies ClerkInput);
  const handle =
    asked.key === undefined
      ? await temporal.workflow.start('agentRun', { workflowId: asked.runId, taskQueue, args: [{ agent: 'clerk', input: text }] })
      : await temporal.workflow.start('inlineClerk', { workflowId: asked.runId, taskQueue, args: [text] });
  const ended = new AbortController();
  const talking = askAndTell(temporal, asked, random, ended.signal);
  const result = handle.result().then(
    () => 'COMPLETED',
    (error: unknown) => errorMessage(error),
  );
  const late = pause(PATIENCE_MS, undefined, { signal: ended.signal }).catch(() => undefined);
  const status = (await Promise.race([result, late])) ?? (await endStuck(temporal, asked.runId, result));
  ended.abort();
  return { asked, status, talk: await talking };
}

/** Says where the run stands, and ends it, so that nothing waits for it any longer. */
async function endStuck(temporal: Client, runId: string, result: Promise<string>): Promise<string> {
  const where = await whereItStands(temporal, runId);
  await temporal.workflow.getHandle(runId).terminate('the storm is over');
  await result;
  return `it has not ended; ${where}`;
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
