import type { ApprovalView, RememberedDecision } from '../../core/domain/approvals/approval.ts';
import type { ServerFlags } from '../program/command.ts';
import { decisionHints } from '../../core/hints/decision-hints.ts';
import { printableLine } from '../../core/domain/content/printable.ts';
import type { Output } from '../output.ts';
import { pointInTime } from './point-in-time.ts';
import { ANYWHERE, shellCommand } from '../../core/hints/shell-command.ts';
import { updateForm } from '../../core/hints/update-form.ts';
import { serverOptions } from '../program/server-options.ts';
import { indented } from '../timeline/step-lines.ts';
import { visibleJson, visibleText } from './visible-json.ts';

/** Arguments up to this many characters are one line. */
const ONE_LINE = 100;

/** Where what waits is shown. */
export interface ApprovalPlace {
  output: Pick<Output, 'look'> & Partial<Pick<Output, 'program'>>;
  runId: string;
  /** How the server is reached: the commands to copy say the same. */
  flags: ServerFlags;
  /** With what to fill into the form of the Temporal UI. */
  form?: boolean;
}

/** Something that waits for a decision, for the person who decides: what, with which arguments, why, until when, and the commands. */
export function approvalLines(waiting: ApprovalView, { output, runId, flags, form = false }: ApprovalPlace): string[] {
  const { toolName, callId, step, requestedAt, reason, deadlineAt, onDeadline, notified } = waiting;
  const facts: [string, string][] = [
    ...(reason === undefined ? [] : [['why', printableLine(reason)] satisfies [string, string]]),
    ['since', pointInTime(requestedAt)],
    ...(deadlineAt === undefined
      ? []
      : [['until', `${pointInTime(deadlineAt)}, then ${onDeadline === 'approve' ? 'approved' : 'rejected'}`] satisfies [string, string]]),
    ...(notified === false ? [['told', 'nobody: "notify" has failed'] satisfies [string, string]] : []),
  ];
  return [
    `${output.look('yellow', printableLine(toolName))} ${output.look('dim', `· call ${printableLine(callId)} · step ${step} of run ${printableLine(runId)}`)}`,
    ...indented(argumentsText(waiting)),
    ...facts.map(([name, value]) => `  ${output.look('dim', name.padEnd(6))} ${value}`),
    ...decisionHints(runId, waiting, { options: serverOptions(flags), program: output.program }).map(
      (hint) => `  ${output.look('cyan', printableLine(hint))}`,
    ),
    ...(form ? [`  ${formLine(waiting)}`] : []),
  ];
}

function formLine(waiting: ApprovalView): string {
  const { names, input } = updateForm(waiting);
  return `Temporal UI, Send an Update, ${names.join(' or ')}: ${visibleJson(input)}`;
}

/** A decision that holds for further calls, with the command that ends that. */
export function rememberedLines(
  { id, type, toolName, digest, by, verifiedBy, at, reason }: RememberedDecision,
  { output, runId, flags }: ApprovalPlace,
): string[] {
  const calls = digest === undefined ? 'every call' : `calls with arguments of digest ${digest}`;
  const who = verifiedBy ?? by ?? 'somebody who gave no name';
  const what = `${type === 'approve' ? 'approved' : 'rejected'} by ${who} at ${pointInTime(at)}${reason === undefined ? '' : `: ${reason}`}`;
  const hint = shellCommand('revoke', { operands: [runId, id], options: serverOptions(flags), program: output.program });
  return [
    `${output.look('bold', printableLine(toolName))} ${printableLine(`· ${calls} · ${what}`)}`,
    `  ${output.look('cyan', printableLine(hint))}`,
  ];
}

function argumentsText({ arguments: args, argumentsCut }: Pick<ApprovalView, 'arguments' | 'argumentsCut'>): string {
  const { text } = args;
  if (argumentsCut && typeof text === 'string') return `${visibleText(text)}…\nThis is the beginning: "${ANYWHERE} events" has all of it`;
  const line = visibleJson(args);
  return line.length <= ONE_LINE ? line : visibleJson(args, 2);
}
