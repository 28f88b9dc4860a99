import type { Event } from '../../../src/core/domain/record.ts';
import type { ProgramResult } from '../../../src/core/domain/result.ts';
import { PROGRAM_RUN, type ProgramInput } from '../../../src/core/protocol.ts';
import { fileMemory } from '../../../src/memory/file-memory.ts';
import { type FoundEntry, memoryNamespace } from '../../../src/memory/memory-store.ts';
import { ofTopRun } from '../points/points.ts';
import type { CrashTestbed } from '../processes/crash-testbed.ts';
import { retryWhileDown, within } from '../processes/retry-while-down.ts';
import { armFor, type Disturbance, disturbUntilEnded, killsOf } from '../runs/disturbance.ts';
import { startOnce } from '../runs/start-once.ts';
import { ErrandDecisions } from './errand-decisions.ts';
import { attemptsGivenUp } from './given-up.ts';
import type { ChildRecord, ErrandRecord } from './errand-record.ts';
import { PROGRAM } from './errand.ts';

/** The longest waits are those for attempts without heartbeats. */
const PATIENCE_MS = 150_000;

/** Does a run of the program. Throws if it does not end. */
export async function runErrand(testbed: CrashTestbed, runId: string, disturbance: Disturbance): Promise<ErrandRecord> {
  const deadline = Date.now() + PATIENCE_MS;
  const { worker, client, ledger } = testbed;
  const kills = killsOf(testbed);
  const read = <Result>(what: string, work: () => Promise<Result>): Promise<Result> => retryWhileDown(what, deadline, work);
  await armFor(testbed, runId, disturbance);
  const decisions = new ErrandDecisions(testbed, { runId, disturbance, deadline });
  const order = orderOf(runId);
  const input: ProgramInput = { program: PROGRAM, input: { order } };
  await read('The start', () => startOnce(testbed, { runId, workflow: PROGRAM_RUN, input }));
  const run = client.handle<unknown>(runId);
  const ending = read('The end of the run', () => run.result());
  const disturbed = disturbUntilEnded(disturbance, ending);
  const result = (await within('The run', deadline, Promise.race([ending, decisions.failed]))) as ProgramResult<unknown>;
  await disturbed;
  const events = await read('Reading the events', () => Array.fromAsync(run.events()));
  const trace = await read('Reading the trace', () => run.trace());
  const children: Record<string, ChildRecord> = {};
  for (const child of childrenIn(events))
    children[ofTopRun(child, '').path] = await read('Reading a child', () => childRecord(testbed, child));
  const givenUp = await read('Reading the history', () => attemptsGivenUp(testbed, [runId, ...childrenIn(events)]));
  const { executions } = await read('The status', () => run.status());
  await worker.whenReady();
  return {
    runId,
    result: result.toJSON(),
    events,
    trace: trace.toJSON(),
    children,
    waiting: decisions.waiting ?? { status: 'never idle', waitingFor: [] },
    executions,
    effects: ledger.effects(runId),
    asks: ledger.asks(runId),
    givenUp,
    memory: await entriesOf(testbed.memory, order),
    kills: killsOf(testbed) - kills,
  };
}

/** The order that a run is about. No other one contains its name. */
function orderOf(runId: string): string {
  return `${runId}/order`;
}

function childrenIn(events: readonly Event[]): string[] {
  return [...new Set(events.flatMap(({ step }) => step?.child ?? []))];
}

async function childRecord({ client }: CrashTestbed, runId: string): Promise<ChildRecord> {
  const child = client.handle<unknown>(runId);
  return { result: (await child.result()).toJSON(), events: await Array.fromAsync(child.events()) };
}

async function entriesOf(file: string, key: string): Promise<FoundEntry[]> {
  const found = await fileMemory({ file }).recall({ namespace: memoryNamespace({ scope: PROGRAM }), text: key, topK: 1_000 });
  return found.filter((entry) => entry.key === key);
}
