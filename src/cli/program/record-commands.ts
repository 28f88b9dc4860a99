import type { Command } from 'commander';
import { wholeNumber } from './argument-parsers.ts';
import type { RunCommand } from './command.ts';
import type { DeleteFlags } from '../commands/records/delete.ts';
import type { ExportFlags } from '../commands/records/export.ts';
import type { ForgetFlags } from '../commands/records/forget.ts';
import type { SaveFlags } from '../commands/records/save.ts';
import type { ReplayFlags } from '../replay/replay.ts';

/** Adds the commands that export, save, delete and replay whole runs. */
export function addRecordCommands(program: Command, run: RunCommand): void {
  program
    .command('export')
    .argument('<run>', 'the id of the run')
    .summary('write a whole run as JSON Lines')
    .description(
      'Writes all records of a run, across all its executions, as JSON Lines; the last line lists what is missing. ' +
        'Works while the run goes on and after it has ended, with and without a worker.',
    )
    .option('-o, --output <file>', 'write to this file instead of stdout')
    .option('--archive <folder>', 'the folder of a file archive, for what the server has removed')
    .action(async (runId: string, _options: unknown, command: Command) => {
      await run(async () => (await import('../commands/records/export.ts')).exportRun, {
        ...command.optsWithGlobals<ExportFlags>(),
        runId,
      });
    });
  program
    .command('save')
    .argument('<run>', 'the id of the run')
    .summary('write the conversation of a run as a document')
    .description(
      'Writes the context of a run as one JSON document: the conversation that the model sees, deps and counters. "start --load"\n' +
        'begins a run from it. Works while the run goes on and after it has ended, with and without a worker.',
    )
    .option('-o, --output <file>', 'write to this file instead of stdout')
    .action(async (runId: string, _options: unknown, command: Command) => {
      await run(async () => (await import('../commands/records/save.ts')).saveRun, { ...command.optsWithGlobals<SaveFlags>(), runId });
    });
  program
    .command('delete')
    .argument('<run>', 'the id of the run')
    .summary('delete a run and the runs below it')
    .description('Removes all executions of a run and of the runs below it from the server, and their data from the folders that you name.')
    .option('--end', 'cancel the run and the runs below it first if they go on; otherwise they are refused')
    .option('--archive <folder>', 'the folder of a file archive, to remove the run from it as well')
    .option('--payload-store <folder>', 'the folder of a file store, to remove the spilled results of the run as well')
    .action(async (runId: string, _options: unknown, command: Command) => {
      await run(async () => (await import('../commands/records/delete.ts')).deleteRun, {
        ...command.optsWithGlobals<DeleteFlags>(),
        runId,
      });
    });
  addForget(program, run);
  addReplay(program, run);
}

/** Adds the command that removes everything of a user. */
function addForget(program: Command, run: RunCommand): void {
  program
    .command('forget')
    .summary('remove everything of the user that --user and --tenant name')
    .description(
      'Ends the runs and sessions of a user, and removes them with the runs below them: from the server, from the folders that you name,\n' +
        'and the entries of the user from the memory. May be repeated, and finishes what an interrupted call has left.\n' +
        'Name all stores of your workers: once the runs are removed, nothing leads to what is in there.',
    )
    .option('--archive <folder>', 'the folder of a file archive')
    .option('--payload-store <folder>', 'the folder of a file store')
    .option('--memory <file>', 'the file of a SQLite memory, or of a file memory (.json)')
    .option('--streams <url>', 'the address of the Redis that carries live output, redis://…')
    .option('--without <stores>', 'the stores that no worker has: archive, payload-store, memory, streams, with commas between them')
    .option('--yes', 'remove; otherwise the runs are counted, and nothing is changed')
    .action(async (_options: unknown, command: Command) => {
      await run(async () => (await import('../commands/records/forget.ts')).forget, command.optsWithGlobals<ForgetFlags>());
    });
}

/** Adds the command that checks new code against recorded runs before a deploy. */
function addReplay(program: Command, run: RunCommand): void {
  program
    .command('replay')
    .argument('[histories...]', 'files and folders of histories; without them, runs of the server')
    .summary('replay recorded runs with your current code')
    .description(
      'Replays the histories of runs with your current workflow code, and reports the first difference of each run\n' +
        'that would get stuck with it. Nothing is executed or changed: no worker, no agents and no model are needed.',
    )
    .option('-w, --workflows <module>', 'the module of your own workflows, if your worker has one')
    .option('--agent <name>', 'only runs of this agent')
    .option('--type <workflow>', 'workflows of this type, instead of runs of agents')
    .option('--query <query>', "a further condition in Temporal's list filter language")
    .option('--limit <number>', 'at most this many runs, the newest first', wholeNumber(1), 20)
    .option('--save <folder>', 'keep the histories as files, to replay them without a server')
    .action(async (paths: string[], _options: unknown, command: Command) => {
      await run(async () => (await import('../replay/replay.ts')).replay, { ...command.optsWithGlobals<ReplayFlags>(), paths });
    });
}
