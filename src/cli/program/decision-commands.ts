import { type Command, Option } from 'commander';
import type { ApprovalsFlags } from '../commands/decisions/approvals.ts';
import { jsonObject, jsonValue, wholeNumber } from './argument-parsers.ts';
import type { RunCommand } from './command.ts';
import type { ApproveFlags, DecisionFlags, RejectFlags, RespondFlags } from '../commands/decisions/decide.ts';
import type { RevokeFlags } from '../commands/decisions/revoke.ts';

/** Adds the commands that list pending approvals and decide them. */
export function addDecisionCommands(program: Command, run: RunCommand): void {
  addApprovals(program, run);
  remembered(decision(program, 'approve', 'approve a waiting call'))
    .description('Lets a waiting call run, with the arguments of the model or with others. A limit is approved like a call.')
    .option('--arguments <json>', "run it with these arguments instead, checked against the tool's schema: a JSON object", jsonObject)
    .action(async (runId: string, callId: string | undefined, _options: unknown, command: Command) => {
      await run(async () => (await import('../commands/decisions/decide.ts')).approve, flagsOf<ApproveFlags>(command, runId, callId));
    });
  remembered(decision(program, 'reject', 'reject a waiting call'))
    .description('Rejects a waiting call: the model reads the reason, and the run goes on.')
    .option('--reason <text>', 'the reason, for the model to read')
    .action(async (runId: string, callId: string | undefined, _options: unknown, command: Command) => {
      await run(async () => (await import('../commands/decisions/decide.ts')).reject, flagsOf<RejectFlags>(command, runId, callId));
    });
  decision(program, 'respond', 'answer a question, or another call instead of its tool')
    .description('Answers a waiting call instead of its tool, above all a question that the model asks a person.')
    .option('--text <text>', 'the answer, as text')
    .option('--value <json>', 'the answer, as JSON', jsonValue)
    .action(async (runId: string, callId: string | undefined, _options: unknown, command: Command) => {
      await run(async () => (await import('../commands/decisions/decide.ts')).respond, flagsOf<RespondFlags>(command, runId, callId));
    });
  program
    .command('revoke')
    .argument('<run>', 'the id of the run')
    .argument('<decision>', 'the id of the decision, as "longhaul approvals <run>" shows it')
    .summary('end a remembered decision')
    .description('Ends a remembered decision: it holds for no further calls. Calls that it has let run are not affected.')
    .action(async (runId: string, decisionId: string, _options: unknown, command: Command) => {
      await run(async () => (await import('../commands/decisions/revoke.ts')).revoke, {
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
      await run(async () => (await import('../commands/decisions/approvals.ts')).approvals, flags);
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
