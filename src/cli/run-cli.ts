import { createRequire } from 'node:module';
import { Command } from 'commander';
import { COMMAND_GROUPS, PARENTS } from './all-commands.ts';
import { addCommand, addOptions, helpOf, SERVER_OPTIONS } from './define-command.ts';
import { exitCodesText, reportError } from './exit-codes.ts';
import { Output, showsColor } from './output.ts';
import type { OutputStream, Terminal } from './terminal.ts';

/** Runs one command line (without the program's name) and returns its exit code. Never throws. */
export async function runCli(args: readonly string[], terminal: Terminal): Promise<number> {
  let exitCode = 0;
  const program = createProgram(terminal, (code) => (exitCode = code));
  try {
    await program.parseAsync([...args], { from: 'user' });
    return exitCode;
  } catch (error) {
    return reportError(error, terminal);
  }
}

const DESCRIPTION = `Durable AI agents on Temporal: serve agents, start runs, inspect and steer them.

A first session, in two terminals:
  longhaul dev --agents ./agents.ts
  longhaul start clerk "Where is order 42?" --wait`;

/** Returns the columns of a help text: longer lines are hard to read. */
function helpWidth({ columns = 80 }: OutputStream): number {
  return Math.min(columns, 120);
}

/** Returns an error of the parser in the form of all errors: names in "quotes". */
function usageError(text: string): string {
  return text
    .replace(/^error: option '([^']+)' argument '([^]*)' is invalid\./, 'error: "$2" is not valid for $1.')
    .replace(/^error: ([^'"]*)'([^']*)'/, 'error: $1"$2"')
    .replace(/^error: /, 'longhaul: ');
}

/** Returns the parser of command lines: every command with its options and help. The code of a command is loaded when it is called. */
export function createProgram(terminal: Terminal, exit: (code: number) => void): Command {
  const program = new Command('longhaul');
  program
    .description(DESCRIPTION)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void terminal.stdout.write(text),
      writeErr: (text) => void terminal.stderr.write(text),
      outputError: (text, write) => write(usageError(text)),
      getOutHelpWidth: () => helpWidth(terminal.stdout),
      getErrHelpWidth: () => helpWidth(terminal.stderr),
      getOutHasColors: () => showsColor(terminal),
      getErrHasColors: () => false,
    })
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError('Add --help to see how to use the command.')
    .version(packageVersion(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .addHelpText('after', () => `\n${exitCodesText(helpOf(program))}`);
  addOptions(program, SERVER_OPTIONS);
  for (const { heading, commands } of COMMAND_GROUPS) {
    program.commandsGroup(`${heading}:`);
    for (const command of commands) {
      addCommand(parentOf(program, command.declaration.name), command, async (load, flags) => {
        const action = (await load()) as (...call: unknown[]) => Promise<number>;
        const json = flags.json === true;
        const kept = json && terminal.keepStdout !== undefined ? { ...terminal, stdout: terminal.keepStdout() } : terminal;
        exit(await action({ terminal: kept, output: new Output(kept, json), parser: program }, flags));
      });
    }
  }
  return program;
}

/** Returns the parent parser of a command: the program's, or that of the first of two words. */
function parentOf(program: Command, name: string): Command {
  const [first = '', second] = name.split(' ');
  if (second === undefined) return program;
  const { summary = '', description = '' } = PARENTS[first] ?? {};
  const known = program.commands.find((one) => one.name() === first);
  return known ?? program.command(first).summary(summary).description(description);
}

/** Returns the version. It is read through the package's name, because the path to `package.json` differs between source and build. */
function packageVersion(): string {
  const manifest: unknown = createRequire(import.meta.url)('longhaul/package.json');
  const isVersioned = typeof manifest === 'object' && manifest !== null && 'version' in manifest;
  return isVersioned ? String(manifest.version) : '';
}
