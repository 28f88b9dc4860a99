import type { LogChoice } from '../log/log-choice.ts';
import { logWriter } from '../log/log-writer.ts';
import type { Output } from './output.ts';

/**
 * Makes Temporal's SDK log on stderr what was chosen, by default what tools log and of its own what needs attention, and
 * leaves signals to the command: the SDK would shut workers down by itself. Must come before anything of the SDK's worker
 * is used.
 */
export async function installQuietRuntime(
  output: Pick<Output, 'note'>,
  { level, format }: LogChoice = { level: 'INFO', format: 'text' },
): Promise<void> {
  const { DefaultLogger, Runtime } = await import('@temporalio/worker');
  Runtime.install({
    logger: new DefaultLogger(
      level === 'OFF' ? 'ERROR' : level,
      logWriter({ level, format }, (text) => output.note(text)),
    ),
    telemetryOptions: { logging: { filter: { core: 'WARN', other: 'ERROR' }, forward: {} } },
    shutdownSignals: [],
  });
}
