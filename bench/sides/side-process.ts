import { CallClock } from './call-clock.ts';
import type { Runner } from './side.ts';
import type { SideReply, SideRequest, SideSetting } from './side-messages.ts';

/**
 * Serves one side from this process: its worker and the client that starts its runs, alone with an event loop, a heap and a CPU
 * clock. The same for all sides that are compared. Ends with the process that started it.
 */
export async function serveSide(make: (setting: SideSetting, clock: CallClock) => Promise<Runner>): Promise<void> {
  const setting = JSON.parse(process.argv[2] ?? '') as SideSetting;
  const clock = new CallClock(setting.calls);
  process.once('disconnect', () => process.exit());
  // Ctrl-C in a terminal reaches this process too; the parent ends it.
  process.on('SIGINT', () => undefined);
  const runner = await make(setting, clock);
  process.on('message', (request: SideRequest) => void serve(request, runner, clock));
  reply({ type: 'ready' });
}

async function serve(request: SideRequest, runner: Runner, clock: CallClock): Promise<void> {
  switch (request.type) {
    case 'run':
      return runOne(request, runner, clock);
    case 'cpu':
      return reply({ type: 'cpu', ms: cpuMs() });
    case 'stop':
      await runner.stop();
      process.exit();
  }
}

async function runOne({ runId, steps }: { runId: string; steps: number }, runner: Runner, clock: CallClock): Promise<void> {
  const start = performance.now();
  let failure = {};
  try {
    await runner.run(runId, steps);
  } catch (error) {
    failure = { error: described(error) };
  }
  const ms = performance.now() - start;
  reply({ type: 'ran', runId, ms, starts: clock.take(runId), retries: clock.retries, ...failure });
}

function described(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}: ${described(error.cause)}`;
}

/** User and system time of this process since it began. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

function reply(message: SideReply): void {
  process.send?.(message);
}
