import { collectHeaps } from './measured-memory.ts';
import { CallClock } from './call-clock.ts';
import type { Runner } from './side.ts';
import { answerRequests, endAfter, readSetting } from '../../test/processes/program.ts';
import type { SideReply, SideRequest, SideRun, SideSetting } from './side-messages.ts';

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
