import type { Command } from 'commander';
import type { CheckFlags } from '../commands/programs/check.ts';
import type { RunFlags } from '../commands/programs/run.ts';
import type { TraceFlags } from '../commands/programs/trace.ts';
import { jsonObject } from './argument-parsers.ts';
import type { RunCommand } from './command.ts';
import { addStartOptions } from './start-flags.ts';

/** Adds the commands that check programs and run them. */
export function addProgramCommands(program: Command, run: RunCommand): void {
  program
    .command('check')
    .argument('<file>', 'a program as a JSON document, "-" for one on stdin, or a module that exports programs')
    .summary('check a program')
    .description(
      'Prints all problems of a program at once, each with its path in the document, and the warnings. Nothing is run, and no server\n' +
        'is needed.',
    )
    .option('-a, --agents <module>', 'also check the names of tools, agents, programs, anchors, models and memory against this module')
    .action(async (file: string, _options: unknown, command: Command) => {
      const flags = { ...command.optsWithGlobals<CheckFlags>(), file };
      await run(async () => (await import('../commands/programs/check.ts')).check, flags);
    });
  addRun(program, run);
  program
    .command('trace')
    .argument('<run>', 'the id of the run')
    .summary('print the trace of a run')
    .description(
      'Prints what a run has done as a tree: of a program its units and blocks with their steps, model calls, checks and further\n' +
        'attempts; of an agent its steps with their model calls, tool calls and waits for decisions. Works while the run continues and\n' +
        'after it has ended, with and without a worker.',
    )
    .action(async (runId: string, _options: unknown, command: Command) => {
      await run(async () => (await import('../commands/programs/trace.ts')).trace, { ...command.optsWithGlobals<TraceFlags>(), runId });
    });
}

function addRun(program: Command, run: RunCommand): void {
  const start = program
    .command('run')
    .argument('<program>', 'the name of a program of the worker, or a file as for check, whose document is sent')
    .summary('run a program')
    .description('Starts the run of a program, waits for its end and prints its output. With --no-wait, prints the id of the run.')
    .option('--input-json <json>', 'the input: a JSON object', jsonObject)
    .option('--input-file <file>', 'the input, from a JSON file; "-" reads it from stdin')
    .option('--program <name>', 'the program to run of a module that exports several')
    .option('--resume <run>', 'take over the results of an earlier run, at no cost, wherever definition and inputs are the same')
    .option('--from <unit.step>', 'with --resume: take over only what comes before this step');
  addStartOptions(start, { idOf: 'program', depsFor: 'tools' })
    .option('--no-wait', 'print the id of the run, and do not wait for its end')
    .addHelpText('after', '\nIf no worker takes the run, that is reported within 5 seconds.')
    .action(async (target: string, _options: unknown, command: Command) => {
      const flags = { ...command.optsWithGlobals<RunFlags>(), target };
      await run(async () => (await import('../commands/programs/run.ts')).runProgram, flags);
    });
}
