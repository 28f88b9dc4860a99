import { type Command, Option } from 'commander';
import type { ApprovalsFlags } from '../commands/approvals.ts';
import { jsonObject, jsonValue, wholeNumber } from './argument-parsers.ts';
import type { RunCommand } from './command.ts';
import type { ApproveFlags, DecisionFlags, RejectFlags, RespondFlags } from '../commands/decide.ts';
import type { RevokeFlags } from '../commands/revoke.ts';

/** The commands that decide what a run may do, and show what waits for that. */
export function addDecisionCommands(program: Command, run: RunCommand): void {
  addApprovals(program, run);
  remembered(decision(program, 'approve', 'let a call run that waits for approval'))
    .description('Lets a call run that waits, as the model asked for it or with other arguments. A limit is approved like a call.')
    .option('--arguments <json>', "run it with these arguments instead, checked against the tool's schema: a JSON object", jsonObject)
    .action(async (runId: string, callId: string | undefined, _options: unknown, command: Command) => {
      await run(async () => (await import('../commands/decide.ts')).approve, flagsOf<ApproveFlags>(command, runId, callId));
    });
  remembered(decision(program, 'reject', 'reject a call that waits for approval'))
    .description('Rejects a call that waits: the model reads that, and the reason, and the run goes on.')
    .option('--reason <text>', 'why, for the model to read')
    .action(async (runId: string, callId: string | undefined, _options: unknown, command: Command) => {
      await run(async () => (await import('../commands/decide.ts')).reject, flagsOf<RejectFlags>(command, runId, callId));
    });
  decision(program, 'respond', "answer a question, or another call in the tool's stead")
    .description("Answers a call that waits, in the tool's stead: what a model asks a person, above all.")
    .option('--text <text>', 'the answer, as text')
    .option('--value <json>', 'the answer, as JSON', jsonValue)
    .action(async (runId: string, callId: string | undefined, _options: unknown, command: Command) => {
      await run(async () => (await import('../commands/decide.ts')).respond, flagsOf<RespondFlags>(command, runId, callId));
    });
  program
    .command('revoke')
    .argument('<run>', 'the id of the run')
    .argument('<decision>', 'the id of the decision, as "longhaul approvals <run>" shows it')
    .summary('end a remembered decision')
    .description('Lets a decision that was remembered hold for no further calls. Calls that it let run are not touched.')
    .action(async (runId: string, decisionId: string, _options: unknown, command: Command) => {
      await run(async () => (await import('../commands/revoke.ts')).revoke, {
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
    .summary('show what waits for a decision')
    .description(
      'Prints the calls, questions and limits that wait for a decision: arguments, deadline, and the commands that decide them.\n' +
        'Of one run also the decisions that it remembers.',
    )
    .option('--agent <name>', 'only of runs of this agent')
    .option('--tool <name>', 'only calls of this tool')
    .option('--limit <number>', 'at most so many', wholeNumber(1))
    .option('-f, --follow', 'go on with what begins to wait; with a run, until it ends')
    .action(async (runId: string | undefined, _options: unknown, command: Command) => {
      const flags = { ...command.optsWithGlobals<ApprovalsFlags>(), ...(runId === undefined ? {} : { runId }) };
      await run(async () => (await import('../commands/approvals.ts')).approvals, flags);
    });
}

/** A command that decides about a call, with what all of them take. */
function decision(program: Command, name: string, summary: string): Command {
  return program
    .command(name)
    .argument('<run>', 'the id of the run')
    .argument('[call]', 'the id of the call (default: the only one that waits)')
    .summary(summary)
    .option('--by <name>', 'who decides (default: the name of the OS user)')
    .option('--digest <digest>', 'the digest of the arguments that the decision is about (default: as they are)')
    .option('--id <id>', 'the id of the decision; the same id twice is one decision (default: a UUID)');
}

function remembered(command: Command): Command {
  return command.addOption(
    new Option('--remember <calls>', 'decide further calls of the tool alike: all, or those with equal arguments').choices([
      'tool',
      'arguments',
    ]),
  );
}

function flagsOf<Flags extends DecisionFlags>(command: Command, runId: string, callId: string | undefined): Flags {
  return { ...command.optsWithGlobals<Flags>(), runId, ...(callId === undefined ? {} : { callId }) };
}
