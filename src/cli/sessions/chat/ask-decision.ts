import type { RunHandle } from '../../../client/run-handle.ts';
import type { ApprovalView } from '../../../core/domain/approvals/approval.ts';
import { errorCode, errorMessage } from '../../../core/domain/errors/error.ts';
import { printable } from '../../../core/domain/content/printable.ts';
import { osUser } from '../../os-user.ts';
import type { CommandIo, ServerFlags } from '../../program/command.ts';
import { approvalLines } from '../../render/approval-lines.ts';
import { readLine } from './entered-line.ts';
import type { Lines } from './lines.ts';
import { decisionPrompt, readArguments, readDecision, type EnteredDecision } from './entered-decision.ts';

/** The run that waits, and the terminal on which its decisions are asked for. */
export interface AskedOn {
  io: CommandIo;
  flags: ServerFlags;
  run: Pick<RunHandle, 'runId' | 'approve' | 'reject' | 'respond'>;
  lines: Pick<Lines, 'ask'>;
  /** Aborted when the turn is interrupted. */
  signal: AbortSignal;
}

/**
 * Shows a pending call and asks for the decision on it, until there is one. `decided`: also if another approver was first, or
 * if the turn was interrupted meanwhile. `end` and `interrupt`: the person wants to leave, or to interrupt the turn instead.
 */
export async function askDecision(on: AskedOn, waiting: ApprovalView): Promise<'decided' | 'interrupt' | 'end'> {
  const { io, flags, run, lines, signal } = on;
  for (const line of approvalLines(waiting, { output: io.output, runId: run.runId, flags, inPlace: true })) io.output.print(`  ${line}`);
  let prompt = decisionPrompt(waiting);
  let read = (line: string): EnteredDecision => readDecision(line, waiting);
  for (;;) {
    const reaction = await lines.ask(`  ${io.output.look('yellow', prompt)}`, { fresh: true });
    if (reaction.type !== 'line') return reaction.type;
    if (readLine(reaction.text).type === 'exit') return 'end';
    const decision = read(reaction.text);
    [prompt, read] = [decisionPrompt(waiting), (line) => readDecision(line, waiting)];
    if (decision.type === 'edit') [prompt, read] = ['The arguments as JSON: ', readArguments];
    else if (decision.type === 'unclear') io.output.note(`  ${decision.say}`);
    else if ((await decide(on, waiting, decision)) || signal.aborted) return 'decided';
  }
}

/** Sends a decision. False if the run refuses what was entered, and the call still waits. */
async function decide(
  { io, run }: AskedOn,
  waiting: ApprovalView,
  decision: Extract<EnteredDecision, { type: 'approve' | 'reject' | 'respond' }>,
): Promise<boolean> {
  const name = osUser();
  const by = name === undefined ? {} : { by: name };
  try {
    if (decision.type === 'approve')
      await run.approve(waiting, { ...by, ...(decision.arguments === undefined ? {} : { arguments: decision.arguments }) });
    else if (decision.type === 'reject')
      await run.reject(waiting, { ...by, ...(decision.reason === undefined ? {} : { reason: decision.reason }) });
    else await run.respond(waiting, decision.content, by);
    return true;
  } catch (error) {
    const code = errorCode(error);
    io.output.note(`  ${printable(errorMessage(error))}`);
    if (code === 'already_decided' || code === 'unknown_call') return true;
    if (code === 'invalid_arguments' || code === 'invalid_input' || code === 'not_authorized') return false;
    throw error;
  }
}
