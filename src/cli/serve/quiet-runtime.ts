import type { LogChoice } from '../../log/log-choice.ts';
import type { Output } from '../output.ts';

/**
 * Makes Temporal's SDK log on stderr what was chosen, by default what tools log and of its own what needs attention, and
 * leaves signals to the command: the SDK would shut workers down by itself. Must come before anything of the SDK's worker
 * is used.
 */
export async function installQuietRuntime(
  output: Pick<Output, 'note'>,
  choice: LogChoice = { level: 'INFO', format: 'text' },
): Promise<void> {
  const { Runtime } = await import('@temporalio/worker');
  const { runtimeOptions } = await import('../../../worker/runtime-options.ts');
  Runtime.install({ ...runtimeOptions(choice, (text) => output.note(text)), shutdownSignals: [] });
}
