import { type Command, Option } from 'commander';
import { TERMINAL_STATUSES } from '../core/domain/run.ts';
import type { RunCommand } from './command.ts';
import type { ListFlags } from './commands/list.ts';
import type { EventsFlags, ResultFlags, ShowFlags, TreeFlags } from './commands/show.ts';
import type { StartFlags } from './commands/start.ts';
import type { CancelFlags, PauseFlags, RaiseFlags, RetryFlags, SendFlags, SetPermissionsFlags } from './commands/steer.ts';
import { addLimitOptions, addStartOptions, jsonObject, jsonValue, positiveSeconds, wholeNumber } from './options.ts';

/** The statuses that lists can be filtered by. */
export const STATUSES = [...TERMINAL_STATUSES, 'running', 'pending_confirmation', 'paused', 'idle'];

/** Adds the commands that start runs and show them. */
export function addRunCommands(program: Command, run: RunCommand): void {
  addStart(program, run);
  addReading(program, run);
  addList(program, run);
}

function addStart(program: Command, run: RunCommand): void {
  const start = program
    .command('start')
    .argument('<agent>', 'the name of the agent')
    .argument('[input]', 'the input; "-" reads it from stdin')
    .summary('start a run')
    .description('Starts a run and prints its id. With --wait, prints the answer once the run has ended.')
    .option('--input-json <json>', 'the input as JSON: a text, or parts such as [{"type":"image","url":"…"}]', jsonValue)
    .option('--messages-json <json>', 'the conversation before the input, as JSON: a list of messages, tool calls and results', jsonValue)
    .option('--load <file>', 'the conversation before the input: a document that "save" has written; "-" reads it from stdin')
    .option('--previous <run>', 'the conversation before the input: that of a run that has ended');
  addStartOptions(start, { idOf: 'agent', depsFor: 'instructions and tools' })
    .option('--model <provider/model>', "the model, instead of the agent's own")
    .option('--settings <json>', "settings of the model, each instead of the agent's own: a JSON object", jsonObject)
    .option('--wait', 'wait for the end and print the answer; the exit code says how the run ended')
    .addHelpText('after', '\nIf no worker takes the run, --wait reports that within 5 seconds.')
    .action(async (agent: string, input: string | undefined, _options: unknown, command: Command) => {
      const flags = { ...command.optsWithGlobals<StartFlags>(), agent, ...(input === undefined ? {} : { input }) };
      await run(async () => (await import('./commands/start.ts')).start, flags);
    });
}

function addReading(program: Command, run: RunCommand): void {
  program
    .command('show')
    .argument('<run>', 'the id of the run')
    .summary('show what a run has done')
    .description(
      'Prints status, usage against limits, pending approvals, the steps with their tool calls, and the decisions and messages between\n' +
        'them, output and error; for a program, its units with their steps, attempts and violations. Works while the run goes on\n' +
        'and after it has ended.',
    )
    .option('--full', 'print all of each result, argument and message; otherwise the beginning of long ones')
    .action(async (runId: string, _options: unknown, command: Command) => {
      await run(async () => (await import('./commands/show.ts')).show, { ...command.optsWithGlobals<ShowFlags>(), runId });
    });
  program
    .command('tree')
    .argument('<run>', 'the id of the run')
    .summary('show a run with the runs below it')
    .description(
      'Draws the run and all runs that it and its children have started: name, status, steps, tokens and cost of each, and the calls\n' +
        'that wait for a decision. Works while they go on and after they have ended, with and without a worker.',
    )
    .action(async (runId: string, _options: unknown, command: Command) => {
      await run(async () => (await import('./commands/show.ts')).tree, { ...command.optsWithGlobals<TreeFlags>(), runId });
    });
  program
    .command('events')
    .argument('<run>', 'the id of the run')
    .summary('print the events of a run')
    .description('Prints what happened in a run, event by event. Events are numbered by their offset, from 0.')
    .option('-f, --follow', 'go on with events as they happen, until the run ends')
    .option('--from <offset>', 'begin at this event', wholeNumber(0), 0)
    .action(async (runId: string, _options: unknown, command: Command) => {
      await run(async () => (await import('./commands/show.ts')).events, { ...command.optsWithGlobals<EventsFlags>(), runId });
    });
  program
    .command('result')
    .argument('<run>', 'the id of the run')
    .summary('wait for the result of a run')
    .description('Waits until the run has ended and prints its answer; the summary goes to stderr. The exit code says how the run ended.')
    .option('--wait-timeout <seconds>', 'wait no longer than this (default: until the run has ended)', positiveSeconds)
    .option('--with-steps', 'print the steps too')
    .action(async (runId: string, _options: unknown, command: Command) => {
      await run(async () => (await import('./commands/show.ts')).result, { ...command.optsWithGlobals<ResultFlags>(), runId });
    });
}

function addList(program: Command, run: RunCommand): void {
  program
    .command('list')
    .summary('list runs')
    .description('Lists the runs of the namespace, newest first.')
    .option('--agent <name>', 'only runs of this agent or program')
    .addOption(new Option('--status <status>', 'only runs with this status').choices(STATUSES))
    .option('--tag <tag>', 'only runs that were started with this tag')
    .option('--waiting [tool]', 'only runs that wait for a decision; with a tool, on a call of it')
    .option('--limit <number>', 'at most this many', wholeNumber(1), 20)
    .option('--query <query>', "a further condition in Temporal's list filter language")
    .action(async (_options: unknown, command: Command) => {
      await run(async () => (await import('./commands/list.ts')).list, command.optsWithGlobals<ListFlags>());
    });
}

/** Adds the commands that steer, limit and stop a run in progress, and the one that retries a run that has ended. */
export function addTalkCommands(program: Command, run: RunCommand): void {
  addSend(program, run);
  addPausing(program, run);
  addRaise(program, run);
  addSetPermissions(program, run);
  program
    .command('cancel')
    .argument('<run>', 'the id of the run')
    .summary('cancel a run')
    .description('Cancels a run: calls in flight are aborted, and what was recorded is kept. The reason is in the result.')
    .option('--reason <text>', 'the reason', 'cancelled from the command line')
    .option('--by <name>', 'who cancels (default: the name of the OS user)')
    .action(async (runId: string, _options: unknown, command: Command) => {
      await run(async () => (await import('./commands/steer.ts')).cancel, { ...command.optsWithGlobals<CancelFlags>(), runId });
    });
  addRetry(program, run);
}

function addSend(program: Command, run: RunCommand): void {
  program
    .command('send')
    .argument('<run>', 'the id of the run')
    .argument('<text>', 'the message; "-" reads it from stdin')
    .summary('send a message to a run')
    .description('Sends a message to a run that goes on, and prints which step will read it. It is accepted once, and never lost.')
    .addOption(
      new Option(
        '--mode <mode>',
        'when it is read: after the current step, before the next model call (calls that wait are given up), or at once (the model call in flight is aborted)',
      )
        .choices(['queue', 'steer', 'interrupt'])
        .default('queue'),
    )
    .option('--id <id>', 'the id of the message; the same id twice is one message (default: a UUID)')
    .action(async (runId: string, text: string, _options: unknown, command: Command) => {
      await run(async () => (await import('./commands/steer.ts')).send, { ...command.optsWithGlobals<SendFlags>(), runId, text });
    });
}

function addPausing(program: Command, run: RunCommand): void {
  program
    .command('pause')
    .argument('<run>', 'the id of the run')
    .summary('pause a run')
    .description('Lets the current step finish; then nothing more begins until the run is resumed. Waiting costs nothing.')
    .action(async (runId: string, _options: unknown, command: Command) => {
      await run(async () => (await import('./commands/steer.ts')).pause, { ...command.optsWithGlobals<PauseFlags>(), runId });
    });
  program
    .command('resume')
    .argument('<run>', 'the id of the run')
    .summary('resume a paused run')
    .description('Resumes a paused run. A run that is not paused is not affected.')
    .action(async (runId: string, _options: unknown, command: Command) => {
      await run(async () => (await import('./commands/steer.ts')).resume, { ...command.optsWithGlobals<PauseFlags>(), runId });
    });
}

function addRaise(program: Command, run: RunCommand): void {
  const raise = program
    .command('raise')
    .argument('<run>', 'the id of the run')
    .summary('raise limits of a run')
    .description('Raises limits of a run while it goes on, or waits at one of them. Each is the new limit in all, not what is added.');
  addLimitOptions(raise)
    .option('--by <name>', 'who raises them (default: the name of the OS user)')
    .option('--id <id>', 'the id of the request; the same id twice is one request (default: a UUID)')
    .action(async (runId: string, _options: unknown, command: Command) => {
      await run(async () => (await import('./commands/steer.ts')).raise, { ...command.optsWithGlobals<RaiseFlags>(), runId });
    });
}

function addSetPermissions(program: Command, run: RunCommand): void {
  program
    .command('set-permissions')
    .argument('<run>', 'the id of the run')
    .argument('<permissions>', 'the permissions as JSON, such as \'{"deny": ["web_*"]}\'')
    .summary('set the permissions of a run')
    .description('Sets the permissions of a run while it goes on or waits, in place of those of its agent. Wider ones need the worker.')
    .option('--by <name>', 'who sets them (default: the name of the OS user)')
    .option('--id <id>', 'the id of the request; the same id twice is one request (default: a UUID)')
    .action(async (runId: string, permissions: string, _options: unknown, command: Command) => {
      const flags = { ...command.optsWithGlobals<SetPermissionsFlags>(), runId, permissions };
      await run(async () => (await import('./commands/steer.ts')).setPermissions, flags);
    });
}

function addRetry(program: Command, run: RunCommand): void {
  program
    .command('retry')
    .argument('<run>', 'the id of the run')
    .summary('let a run that has ended go on from a step')
    .description(
      'Lets a run that has ended go on from a step, and prints its id. The model is called again for that step; the calls of the\n' +
        'steps before it are not made again.',
    )
    .option('--from-step <number>', 'the step (default: the last one that the run asked the model for)', wholeNumber(1))
    .action(async (runId: string, _options: unknown, command: Command) => {
      await run(async () => (await import('./commands/steer.ts')).retry, { ...command.optsWithGlobals<RetryFlags>(), runId });
    });
}
