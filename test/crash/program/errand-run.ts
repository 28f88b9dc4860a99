import type { Event } from '../../../src/core/domain/record.ts';
import type { ProgramResultJson, RunResultJson, ProgramResult } from '../../../src/core/domain/result.ts';
import type { ExecutionTraceJson } from '../../../src/core/domain/trace.ts';
import { type FoundEntry, memoryNamespace } from '../../../src/memory/memory-store.ts';
import type { Ask, Effect } from '../processes/ledger.ts';
import { PROGRAM_RUN, type ProgramInput } from '../../../src/core/protocol.ts';
import { fileMemory } from '../../../src/memory/file-memory.ts';
import { ofTopRun } from '../points/points.ts';
import type { CrashTestbed, Waiting } from '../processes/crash-testbed.ts';
import { retryWhileDown, within, startOnce, attemptsGivenUp, untilRun } from '../runs/run-on-server.ts';
import { armFor, type Disturbance, disturbUntilEnded, killsOf, killIdle } from '../subject.ts';
import { PROGRAM } from './errand.ts';

/** The result and the events of a run, a child's for instance. */
export interface ChildRecord {
  result: RunResultJson<unknown>;
  events: Event[];
}

/** The data about a run of the program after its end. */
export interface ErrandRecord {
  runId: string;
  result: ProgramResultJson<unknown>;
  events: Event[];
  trace: ExecutionTraceJson;
  /** By the steps that have started them. */
  children: Record<string, ChildRecord>;
  /** The status of the run while it waited for the answer to its question. */
  waiting: { status: string; waitingFor: string[] };
  /** The number of its executions. */
  executions: number;
  effects: Effect[];
  asks: Ask[];
  /** The number of attempts that the server has given up because their heartbeats stopped, by the points of `asks`. */
  givenUp: ReadonlyMap<string, number>;
  /** The entries that it has stored in the memory. */
  memory: FoundEntry[];
  /** The number of times that worker or server were killed meanwhile. */
  kills: number;
}

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

/** The question that the run waits for when nothing else is in progress. */
const QUESTION = 'work.Who';

/** The run whose requests are decided. */
interface DecidedRun {
  runId: string;
  disturbance: Disturbance;
  deadline: number;
}

/** The decisions of people in one run of the program, also those about its children. */
class ErrandDecisions {
  /** The status of the run while it waited for the answer to its question. */
  waiting: { status: string; waitingFor: string[] } | undefined;
  /** Rejects if a decision cannot be made. */
  readonly failed: Promise<never>;
  readonly #testbed: CrashTestbed;
  readonly #run: DecidedRun;
  readonly #begun = new Set<string>();

  /** Decides from now on, each call once. */
  constructor(testbed: CrashTestbed, run: DecidedRun) {
    this.#testbed = testbed;
    this.#run = run;
    const { promise, reject } = Promise.withResolvers<never>();
    this.failed = promise;
    this.failed.catch(() => undefined);
    testbed.worker.listen('waiting', (waiting) => {
      const key = `${waiting.runId} ${waiting.callId}`;
      if (ofTopRun(waiting.runId, '').runId !== run.runId || this.#begun.has(key)) return;
      this.#begun.add(key);
      this.#decide(waiting).catch(reject);
    });
  }

  async #decide({ runId, callId, digest }: Waiting): Promise<void> {
    const handle = this.#testbed.client.handle(runId);
    const about = { callId, digest };
    const sent = { id: callId, by: 'boss' };
    await retryWhileDown(`The decision on ${callId}`, this.#run.deadline, async () => {
      switch (callId) {
        case 'd2':
          // The program continues as new while its child waits: the next execution takes the result of the child.
          await this.#until(({ hasContinued }) => hasContinued);
          return handle.approve(about, sent);
        case QUESTION:
          await this.#atRest();
          return handle.respond(about, 'Ann', sent);
        case 'close.Send':
          return handle.approve(about, { ...sent, arguments: { prompt: 'Send it by post' } });
        case 'close.Send.review':
          return handle.reject(about, { ...sent, reason: 'Name the price' });
        case 'close.Send.review#2':
          return handle.approve(about, sent);
        default:
          throw new Error(`The run waits for a decision on "${callId}", which no other run of the program does`);
      }
    });
  }

  /** Waits until nothing is in progress, disturbs the run there, and records its status. */
  async #atRest(): Promise<void> {
    const { runId, disturbance, deadline } = this.#run;
    if (this.waiting !== undefined) return;
    await this.#until(({ isIdle }) => isIdle);
    await killIdle(this.#testbed, runId, disturbance);
    const { status, waitingFor } = await retryWhileDown('The status', deadline, () => this.#testbed.client.handle(runId).status());
    this.waiting = { status, waitingFor };
  }

  #until(isMet: Parameters<typeof untilRun>[1]['isMet']): Promise<void> {
    const { runId, deadline } = this.#run;
    return untilRun(this.#testbed, { runId, deadline, isMet });
  }
}
