import { createRequire } from 'node:module';
import { Command } from 'commander';
import type { RunCommand } from './command.ts';
import { addDecisionCommands } from './decision-commands.ts';
import { exitCodesText } from '../exit-codes.ts';
import { Output, showsColour } from '../output.ts';
import { addKeyCommands } from './key-commands.ts';
import { addMemoryCommands } from './memory-commands.ts';
import { addProgramCommands } from './program-commands.ts';
import { addRecordCommands } from './record-commands.ts';
import { addRunCommands } from './run-commands.ts';
import { addServeCommands } from './serve-commands.ts';
import { addSessionCommands } from './session-commands.ts';
import { addTalkCommands } from './talk-commands.ts';
import type { Terminal } from '../terminal.ts';

const DESCRIPTION = `Durable AI agents on Temporal: run agents, start runs, inspect them.

A first session, in two terminals:
  longhaul dev --agents ./agents.ts
  longhaul start clerk "Where is order 42?" --wait`;

/** Returns the command line: every command with its options and help. The code of a command is loaded when it is called. */
export function createProgram(terminal: Terminal, exit: (code: number) => void): Command {
  const run: RunCommand = async (load, flags) => {
    const action = await load();
    exit(await action({ terminal, output: new Output(terminal, flags.json === true) }, flags));
  };
  const program = new Command('longhaul');
  program
    .description(DESCRIPTION)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void terminal.stdout.write(text),
      writeErr: (text) => void terminal.stderr.write(text),
      outputError: (text, write) => write(text.replace(/^error: /, 'longhaul: ')),
      getOutHasColors: () => showsColour(terminal),
      getErrHasColors: () => false,
    })
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError('Add --help to see how the command is used.')
    .version(packageVersion(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .option('--address <host:port>', 'the Temporal server; else TEMPORAL_ADDRESS, the profile of the Temporal CLI, localhost:7233')
    .option('--namespace <name>', 'its namespace; else TEMPORAL_NAMESPACE, the profile, "default"')
    .option('--task-queue <name>', 'the task queue of runs and workers (default: "longhaul")')
    .option('--tenant <name>', 'act for this tenant: only its runs are reached; else LONGHAUL_TENANT')
    .option('--user <name>', 'act for this user, in the same way; else LONGHAUL_USER')
    .option('--codec <parts>', 'the codec: compression, compression=<bytes>, encryption, separated by commas; else LONGHAUL_CODEC')
    .option('--json', 'one JSON value on stdout, for machines; one per line for lists')
    .addHelpText('after', `\n${exitCodesText()}`);
  addServeCommands(program, run);
  addRunCommands(program, run);
  addSessionCommands(program, run);
  addProgramCommands(program, run);
  addDecisionCommands(program, run);
  addTalkCommands(program, run);
  addRecordCommands(program, run);
  addMemoryCommands(program, run);
  addKeyCommands(program, run);
  return program;
}

/** Returns the version. It is read through the package's name, because the path to `package.json` differs between source and build. */
function packageVersion(): string {
  const manifest: unknown = createRequire(import.meta.url)('longhaul/package.json');
  const isVersioned = typeof manifest === 'object' && manifest !== null && 'version' in manifest;
  return isVersioned ? String(manifest.version) : '';
}
