import type { Command } from 'commander';
import type { RunCommand } from './command.ts';
import type { DeleteFlags } from '../commands/delete.ts';
import type { ExportFlags } from '../commands/export.ts';

/** The commands that take a whole run out of the server, or away from it. */
export function addRecordCommands(program: Command, run: RunCommand): void {
  program
    .command('export')
    .argument('<run>', 'the id of the run')
    .summary('write a whole run as JSON Lines')
    .description(
      'Writes all that a run has recorded, across all its executions, as JSON Lines; the last line says what is missing. ' +
        'Works while the run goes on and after it has ended, with and without a worker.',
    )
    .option('-o, --output <file>', 'write to this file instead of stdout')
    .option('--archive <folder>', 'the folder of a file archive, for what the server has removed')
    .action(async (runId: string, _options: unknown, command: Command) => {
      await run(async () => (await import('../commands/export.ts')).exportRun, { ...command.optsWithGlobals<ExportFlags>(), runId });
    });
  program
    .command('delete')
    .argument('<run>', 'the id of the run')
    .summary('delete a run that has ended')
    .description('Removes all executions of a run from the server, and what is stored of it in the folders that you name.')
    .option('--archive <folder>', 'the folder of a file archive, to forget the run as well')
    .option('--payload-store <folder>', 'the folder of a file store, to forget what was spilled for the run as well')
    .action(async (runId: string, _options: unknown, command: Command) => {
      await run(async () => (await import('../commands/delete.ts')).deleteRun, { ...command.optsWithGlobals<DeleteFlags>(), runId });
    });
}
