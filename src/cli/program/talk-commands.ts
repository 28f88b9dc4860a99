import { type Command, Option } from 'commander';
import { wholeNumber } from './argument-parsers.ts';
import type { CancelFlags } from '../commands/cancel.ts';
import type { RunCommand } from './command.ts';
import { addLimitOptions } from './limit-flags.ts';
import type { PauseFlags } from '../commands/pause.ts';
import type { SetPermissionsFlags } from '../commands/bounds/set-permissions.ts';
import type { RaiseFlags } from '../commands/bounds/raise.ts';
import type { RetryFlags } from '../commands/retry.ts';
import type { SendFlags } from '../commands/send.ts';

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
      await run(async () => (await import('../commands/cancel.ts')).cancel, { ...command.optsWithGlobals<CancelFlags>(), runId });
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
      await run(async () => (await import('../commands/send.ts')).send, { ...command.optsWithGlobals<SendFlags>(), runId, text });
    });
}

function addPausing(program: Command, run: RunCommand): void {
  program
    .command('pause')
    .argument('<run>', 'the id of the run')
    .summary('pause a run')
    .description('Lets the current step finish; then nothing more begins until the run is resumed. Waiting costs nothing.')
    .action(async (runId: string, _options: unknown, command: Command) => {
      await run(async () => (await import('../commands/pause.ts')).pause, { ...command.optsWithGlobals<PauseFlags>(), runId });
    });
  program
    .command('resume')
    .argument('<run>', 'the id of the run')
    .summary('resume a paused run')
    .description('Resumes a paused run. A run that is not paused is not affected.')
    .action(async (runId: string, _options: unknown, command: Command) => {
      await run(async () => (await import('../commands/pause.ts')).resume, { ...command.optsWithGlobals<PauseFlags>(), runId });
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
      await run(async () => (await import('../commands/bounds/raise.ts')).raise, { ...command.optsWithGlobals<RaiseFlags>(), runId });
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
      await run(async () => (await import('../commands/bounds/set-permissions.ts')).setPermissions, flags);
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
      await run(async () => (await import('../commands/retry.ts')).retry, { ...command.optsWithGlobals<RetryFlags>(), runId });
    });
}
