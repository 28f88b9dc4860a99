import { logLine } from './log-line.ts';
import type { Output } from './output.ts';

/**
 * Makes Temporal's SDK say on stderr only what needs attention, in one line each, and leaves signals to the command:
 * the SDK would shut workers down by itself. Must come before anything of the SDK's worker is used.
 */
export async function installQuietRuntime(output: Pick<Output, 'note'>): Promise<void> {
  const { DefaultLogger, Runtime } = await import('@temporalio/worker');
  Runtime.install({
    logger: new DefaultLogger('WARN', (entry) => output.note(logLine(entry))),
    telemetryOptions: { logging: { filter: { core: 'WARN', other: 'ERROR' }, forward: {} } },
    shutdownSignals: [],
  });
}
