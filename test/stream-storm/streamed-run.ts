import { setTimeout as pause } from 'node:timers/promises';
import { errorMessage } from '../../src/core/domain/errors.ts';
import { historyJson } from '../../src/history/history-events.ts';
import type { Random } from '../crash/runs/random-kills.ts';
import { type RecordedRun, readingProblems, recordOf } from './reading-problems.ts';
import { AGENT, drafts, type TellerInput } from './processes/streaming-agents.ts';
import type { StormTestbed } from './processes/storm-testbed.ts';
import { readChain } from '../storm/replayed.ts';
import { goOn, moveOn, type Reading, stay } from './reading.ts';

/** Rounds of calls of a run of the agent. */
const ROUNDS = 6;

/** One in this many runs is a program, and one gets a message that interrupts an answer. */
const KINDS_OF_RUNS = 4;

/** The maximum number of milliseconds between the start and the interruption of a run. */
const INTERRUPT_MS = 4_000;

/** The number of items of each run that another reader continues after, once the run has ended. */
const CHECKED_CURSORS = 3;

/** A run that has ended, with what its readers have got. */
export interface StreamedRun {
  runId: string;
  readings: readonly Reading[];
  /** The number of readers that continued at the cursor of another one. */
  moves: number;
  problems: string[];
  /** The history of each execution, if there are problems. */
  histories?: unknown[];
}

/** Does a run, and follows it to its end with two readers. Then others continue from random items of these two. */
export async function streamedRun(testbed: StormTestbed, number: number, random: Random, signal: AbortSignal): Promise<StreamedRun> {
  const runId = `${testbed.taskQueue}-${number}`;
  const run = testbed.client.handle(runId);
  const followed = { url: testbed.proxy.url, runId, signal };
  let readings: Reading[] = [];
  try {
    await start(testbed, runId, number);
    if (number % KINDS_OF_RUNS === 2) void interrupt(testbed, runId, random);
    const [stayed, moved] = await Promise.all([stay(followed), moveOn(followed, testbed.urls, random)]);
    readings = [stayed, moved];
    if (signal.aborted) throw new Error(await describe(testbed, runId, readings));
    const recorded = await recordOf(run);
    const others = readings.flatMap(({ items }) =>
      Array.from({ length: CHECKED_CURSORS }, () => ({ items, index: Math.floor(random() * items.length) })),
    );
    const further = await Promise.all(others.map(({ items, index }) => goOn(followed, { ...stayed, items }, index)));
    const problems = [...readings, ...further].flatMap((reading) => problemsOf(reading, recorded));
    return {
      runId,
      readings,
      moves: moved.moves,
      problems,
      ...(problems.length === 0 ? {} : { histories: await historiesOf(testbed, runId) }),
    };
  } catch (error) {
    return { runId, readings, moves: 0, problems: [`it was not followed to its end: ${errorMessage(error)}`] };
  }
}

async function historiesOf({ client: { temporal } }: StormTestbed, runId: string): Promise<unknown[]> {
  const chain = await readChain(temporal, runId);
  return chain.map((history) => JSON.parse(historyJson(history)) as unknown);
}

function problemsOf({ reader, items, problem }: Reading, recorded: RecordedRun): string[] {
  const problems = problem === undefined ? readingProblems(items, recorded) : [problem];
  return problems.map((one) => `${reader}: ${one}`);
}

async function start({ client, taskQueue }: StormTestbed, runId: string, number: number): Promise<void> {
  if (number % KINDS_OF_RUNS === 3) {
    await client.startProgram(drafts, { runId, taskQueue, input: { number } });
    return;
  }
  const input = JSON.stringify({ number, rounds: ROUNDS } satisfies TellerInput);
  await client.start(AGENT, { runId, taskQueue, input });
}

/** Sends a message that cuts off the answer that is being written, if one is. */
async function interrupt({ client }: StormTestbed, runId: string, random: Random): Promise<void> {
  await pause(random() * INTERRUPT_MS);
  // A run that has no worker just now, or has ended, is not interrupted.
  await client
    .handle(runId)
    .send('Go on, please', { mode: 'interrupt', id: 'interruption' })
    .catch(() => undefined);
}

async function describe({ client }: StormTestbed, runId: string, readings: readonly Reading[]): Promise<string> {
  const status = await client
    .handle(runId)
    .status()
    .catch((error: unknown) => errorMessage(error));
  const last = readings.map(({ reader, items }) => `${reader} has ${items.length} items, the last of them ${JSON.stringify(items.at(-1))}`);
  return [`its status is ${JSON.stringify(status)}`, ...last].join('; ');
}
