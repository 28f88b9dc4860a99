import type { Command } from 'commander';
import { wholeNumber } from './argument-parsers.ts';
import type { RunCommand } from './command.ts';
import type { ReplayFlags } from '../replay/replay.ts';

/** The command that rehearses a deploy. */
export function addReplayCommand(program: Command, run: RunCommand): void {
  program
    .command('replay')
    .argument('[histories...]', 'files and folders of histories; without them, runs of the server')
    .summary('replay recorded runs with your code as it is')
    .description(
      'Replays the histories of runs with the workflow code as it is here, and reports the first difference of each run\n' +
        'that the code would leave stuck. Nothing is run and nothing is changed: no worker, no agents, no model is needed.',
    )
    .option('-w, --workflows <module>', 'the module of your own workflows, where a worker has one')
    .option('--agent <name>', 'only runs of this agent')
    .option('--type <workflow>', 'workflows of this type, instead of runs of agents')
    .option('--query <query>', "a further condition in Temporal's list filter language")
    .option('--limit <number>', 'so many runs, the newest first', wholeNumber(1), 20)
    .option('--save <folder>', 'keep the histories as files, to replay them without a server')
    .action(async (paths: string[], _options: unknown, command: Command) => {
      await run(async () => (await import('../replay/replay.ts')).replay, { ...command.optsWithGlobals<ReplayFlags>(), paths });
    });
}
