import type { LogChoice } from '../../log/log-writer.ts';
import type { Output } from '../output.ts';

/**
 * Makes Temporal's SDK log on stderr at the chosen level: by default what tools log, and only warnings and errors of
 * the SDK itself. Leaves signals to the command, because the SDK would shut workers down by itself. Must be called
 * before anything else of the SDK's worker is used.
 */
export async function installQuietRuntime(
  output: Pick<Output, 'note'>,
  choice: LogChoice = { level: 'INFO', format: 'text' },
): Promise<void> {
  const { Runtime } = await import('@temporalio/worker');
  const { runtimeOptions } = await import('../../../worker/install-log.ts');
  Runtime.install({ ...runtimeOptions(choice, (text) => output.note(text)), shutdownSignals: [] });
}
