import { createRequire } from 'node:module';
import { Command, InvalidArgumentError, Option } from 'commander';
import { isScope, type Scope, SCOPES } from '../server/auth/caller.ts';
import type { ApprovalsFlags, ApproveFlags, DecisionFlags, RejectFlags, RespondFlags, RevokeFlags } from './commands/decisions.ts';
import type { CreateKeyFlags, KeysFlags, RevokeKeyFlags } from './commands/keys.ts';
import type { ForgetMemoryFlags, MemoryFlags } from './commands/memory.ts';
import type { CheckFlags, RunFlags, TraceFlags } from './commands/programs.ts';
import type { DeleteFlags, ForgetFlags, SaveFlags } from './commands/records.ts';
import type { ExportFlags } from './commands/export.ts';
import { exitCodesText, reportError } from './exit-codes.ts';
import { Output, showsColour } from './output.ts';
import { addStartOptions, duration, jsonObject, jsonValue, repeatable, wholeNumber } from './options.ts';
import type { RunCommand } from './command.ts';
import { addRunCommands, addTalkCommands } from './run-commands.ts';
import { addServeCommands } from './serve-commands.ts';
import { addSessionCommands } from './session-commands.ts';
import type { ReplayFlags } from './commands/replay.ts';
import type { Terminal } from './terminal.ts';

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

/** Adds the commands about memories, which need no server. */
export function addMemoryCommands(program: Command, run: RunCommand): void {
  const memory = program
    .command('memory')
    .summary('list or forget entries of a memory')
    .description('Commands about a memory in a file. --user and --tenant say whose entries are meant.');
  ofMemory(memory.command('list'))
    .summary('list entries')
    .description('Lists the entries of a memory by their keys. Without --user and --tenant: those of runs without a principal.')
    .action(async (_options: unknown, command: Command) => {
      await run(async () => (await import('./commands/memory.ts')).listMemory, command.optsWithGlobals<MemoryFlags>());
    });
  ofMemory(memory.command('forget'))
    .summary('forget entries')
    .description(
      'Removes one entry, those of an agent or a scope, or, without either, all of the user. "longhaul forget" also removes runs.',
    )
    .option('--key <key>', 'only the entry with this key')
    .action(async (_options: unknown, command: Command) => {
      const flags = command.optsWithGlobals<ForgetMemoryFlags>();
      await run(async () => (await import('./commands/memory.ts')).forgetMemory, flags);
    });
}

function ofMemory(command: Command): Command {
  return command
    .requiredOption('--memory <file>', 'the file of a SQLite memory, or of a file memory (.json)')
    .option('--agent <name>', 'the name of the memory: that of the agent, unless the agent has another')
    .option('--scope <name>', 'the scope of steps of programs, instead of an agent');
}

/** Adds the commands about API keys, which need no server. */
export function addKeyCommands(program: Command, run: RunCommand): void {
  const keys = program
    .command('keys')
    .summary('create, list or revoke API keys')
    .description('Commands about the API keys of "longhaul serve", which are kept in a file without their secrets.');
  inFile(keys.command('create'))
    .summary('create an API key')
    .description('Creates an API key and prints it, once. --tenant and --user say whom it acts for; without them, it reaches all runs.')
    .requiredOption('--name <name>', 'the purpose of the key, for people')
    .requiredOption('--scope <scope>', `a right of the key, may be repeated: ${SCOPES.join(', ')}`, oneMoreScope)
    .option('--agent <name>', 'an agent or program that the key may start, may be repeated (default: all)', repeatable)
    .option('--expires <time>', 'the time after which it expires, such as 12h or 30d (default: never)', duration)
    .action(async (_options: unknown, command: Command) => {
      await run(async () => (await import('./commands/keys.ts')).createKey, command.optsWithGlobals<CreateKeyFlags>());
    });
  inFile(keys.command('list'))
    .summary('list API keys')
    .description('Lists the API keys with their rights, in the order of their creation.')
    .action(async (_options: unknown, command: Command) => {
      await run(async () => (await import('./commands/keys.ts')).listKeys, command.optsWithGlobals<KeysFlags>());
    });
  inFile(keys.command('revoke'))
    .argument('<key>', 'the id of the key, as "longhaul keys list" shows it')
    .summary('revoke an API key')
    .description('Revokes an API key: servers that read the file refuse it from their next request on.')
    .action(async (keyId: string, _options: unknown, command: Command) => {
      const flags = { ...command.optsWithGlobals<RevokeKeyFlags>(), keyId };
      await run(async () => (await import('./commands/keys.ts')).revokeKey, flags);
    });
}

function inFile(command: Command): Command {
  return command.option('--file <file>', 'the file with the keys; else LONGHAUL_KEYS_FILE, ./longhaul-keys.json');
}

function oneMoreScope(text: string, before: readonly Scope[] = []): Scope[] {
  if (isScope(text)) return [...before, text];
  throw new InvalidArgumentError(`Allowed choices are ${SCOPES.join(', ')}.`);
}

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
      await run(async () => (await import('./commands/programs.ts')).check, flags);
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
      await run(async () => (await import('./commands/programs.ts')).trace, { ...command.optsWithGlobals<TraceFlags>(), runId });
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
      await run(async () => (await import('./commands/programs.ts')).runProgram, flags);
    });
}

/** Adds the commands that list pending approvals and decide them. */
export function addDecisionCommands(program: Command, run: RunCommand): void {
  addApprovals(program, run);
  remembered(decision(program, 'approve', 'approve a waiting call'))
    .description('Lets a waiting call run, with the arguments of the model or with others. A limit is approved like a call.')
    .option('--arguments <json>', "run it with these arguments instead, checked against the tool's schema: a JSON object", jsonObject)
    .action(async (runId: string, callId: string | undefined, _options: unknown, command: Command) => {
      await run(async () => (await import('./commands/decisions.ts')).approve, flagsOf<ApproveFlags>(command, runId, callId));
    });
  remembered(decision(program, 'reject', 'reject a waiting call'))
    .description('Rejects a waiting call: the model reads the reason, and the run goes on.')
    .option('--reason <text>', 'the reason, for the model to read')
    .action(async (runId: string, callId: string | undefined, _options: unknown, command: Command) => {
      await run(async () => (await import('./commands/decisions.ts')).reject, flagsOf<RejectFlags>(command, runId, callId));
    });
  decision(program, 'respond', 'answer a question, or another call instead of its tool')
    .description('Answers a waiting call instead of its tool, above all a question that the model asks a person.')
    .option('--text <text>', 'the answer, as text')
    .option('--value <json>', 'the answer, as JSON', jsonValue)
    .action(async (runId: string, callId: string | undefined, _options: unknown, command: Command) => {
      await run(async () => (await import('./commands/decisions.ts')).respond, flagsOf<RespondFlags>(command, runId, callId));
    });
  program
    .command('revoke')
    .argument('<run>', 'the id of the run')
    .argument('<decision>', 'the id of the decision, as "longhaul approvals <run>" shows it')
    .summary('end a remembered decision')
    .description('Ends a remembered decision: it holds for no further calls. Calls that it has let run are not affected.')
    .action(async (runId: string, decisionId: string, _options: unknown, command: Command) => {
      await run(async () => (await import('./commands/decisions.ts')).revoke, {
        ...command.optsWithGlobals<RevokeFlags>(),
        runId,
        decisionId,
      });
    });
}

function addApprovals(program: Command, run: RunCommand): void {
  program
    .command('approvals')
    .argument('[run]', 'the id of the run (default: all runs)')
    .summary('show pending approvals')
    .description(
      'Prints the calls, questions and limits that wait for a decision, with arguments, deadline, and the commands that decide them.\n' +
        'For one run, also its remembered decisions.',
    )
    .option('--agent <name>', 'only those of runs of this agent or program')
    .option('--tool <name>', 'only calls of this tool')
    .option('--limit <number>', 'at most this many', wholeNumber(1))
    .option('-f, --follow', 'go on with later ones as they begin to wait; with a run, until it ends')
    .action(async (runId: string | undefined, _options: unknown, command: Command) => {
      const flags = { ...command.optsWithGlobals<ApprovalsFlags>(), ...(runId === undefined ? {} : { runId }) };
      await run(async () => (await import('./commands/decisions.ts')).approvals, flags);
    });
}

/** Adds a command that decides about a call, with the arguments and options that all such commands have. */
function decision(program: Command, name: string, summary: string): Command {
  return program
    .command(name)
    .argument('<run>', 'the id of the run')
    .argument('[call]', 'the id of the call (default: the only one that waits)')
    .summary(summary)
    .option('--by <name>', 'who decides (default: the name of the OS user)')
    .option('--digest <digest>', 'the digest of the arguments that the decision is about (default: those of the waiting call)')
    .option('--in <run>', 'the run below that waits, or the run itself, if calls of several runs have that id')
    .option('--id <id>', 'the id of the decision; the same id twice is one decision (default: a UUID)');
}

function remembered(command: Command): Command {
  return command.addOption(
    new Option('--remember <calls>', 'decide further calls of the tool in the same way: all, or those with equal arguments').choices([
      'tool',
      'arguments',
    ]),
  );
}

function flagsOf<Flags extends DecisionFlags>(command: Command, runId: string, callId: string | undefined): Flags {
  return { ...command.optsWithGlobals<Flags>(), runId, ...(callId === undefined ? {} : { callId }) };
}

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
      await run(async () => (await import('./commands/export.ts')).exportRun, {
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
      await run(async () => (await import('./commands/records.ts')).saveRun, { ...command.optsWithGlobals<SaveFlags>(), runId });
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
      await run(async () => (await import('./commands/records.ts')).deleteRun, {
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
      await run(async () => (await import('./commands/records.ts')).forget, command.optsWithGlobals<ForgetFlags>());
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
      await run(async () => (await import('./commands/replay.ts')).replay, { ...command.optsWithGlobals<ReplayFlags>(), paths });
    });
}
