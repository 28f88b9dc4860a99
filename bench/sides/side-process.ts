import type { ProgramProcess } from '../../test/processes/program-process.ts';
import type { SideSurroundings, Runner } from './side.ts';
import { collectHeaps } from './measured-memory.ts';
import { CallClock } from './call-clock.ts';
import { answerRequests, endAfter, readSetting } from '../../test/processes/program.ts';

/** The settings of a side's process, passed as the JSON of its first argument. */
export interface SideSetting extends SideSurroundings {
  /** The activity types that are model or tool calls. */
  calls: string[];
}

/** A message to such a process. */
type SideRequest = { type: 'run'; runId: string; steps: number } | { type: 'cpu' } | { type: 'heap' } | { type: 'stop' };

/**
 * A message from such a process. It sends `ready` once its worker polls. `bytes` are the sizes of both heaps after a collection: a process
 * that was started with `MEASURED_MEMORY` knows them.
 */
type SideReply = { type: 'ready' } | SideRun | { type: 'cpu'; ms: number } | { type: 'heap'; bytes: number };

/** The measurements of one run in its process. */
export interface SideRun {
  type: 'ran';
  runId: string;
  /** Milliseconds from the client's start to its result. */
  ms: number;
  /** The start of each call, in milliseconds of the process's clock. */
  starts: number[];
  /** Attempts of activities beyond the first, of all runs of the process so far. */
  retries: number;
  /** The reason why the run has no final answer. */
  error?: string;
}

/** The process of a side. */
export type SideProcess = ProgramProcess<SideRequest, SideReply>;

/**
 * Serves one side from this process: its worker and the client that starts its runs, alone with an event loop, a heap and a CPU
 * clock. The same for all sides that are compared.
 */
export async function serveSide(make: (setting: SideSetting, clock: CallClock) => Promise<Runner>): Promise<void> {
  const setting = readSetting<SideSetting>();
  const clock = new CallClock(setting.calls);
  const runner = await make(setting, clock);
  answerRequests<SideRequest, SideReply>({
    run: (request) => runOne(request, runner, clock),
    cpu: () => ({ type: 'cpu', ms: cpuMs() }),
    heap: async () => ({ type: 'heap', bytes: await heapBytes() }),
    stop: endAfter(() => runner.stop()),
  });
}

async function runOne({ runId, steps }: { runId: string; steps: number }, runner: Runner, clock: CallClock): Promise<SideRun> {
  const start = performance.now();
  let failure = {};
  try {
    await runner.run(runId, steps);
  } catch (error) {
    failure = { error: described(error) };
  }
  const ms = performance.now() - start;
  return { type: 'ran', runId, ms, starts: clock.take(runId), retries: clock.retries, ...failure };
}

function described(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}: ${described(error.cause)}`;
}

async function heapBytes(): Promise<number> {
  const { main, workflows } = await collectHeaps();
  return main + workflows;
}

/** User and system time of this process since it began. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
