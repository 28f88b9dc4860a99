import type { RunHandle } from '../../client/run-handle.ts';
import { type ApprovalView, decider, decisionHints, type RememberedDecision, updateForm } from '../../core/domain/approvals.ts';
import { ANYWHERE, printableLine, shellCommand } from '../../core/domain/text.ts';
import { sleep } from '../../temporal/waiting.ts';
import { serverOptions } from '../command.ts';
import type { CommandIo, ServerFlags } from '../define-command.ts';
import { type Fact, factLines, type Output, pointInTime, visibleJson, visibleText } from '../output.ts';
import { limitsText } from './event-lines.ts';
import { subjectFacts } from './run-view.ts';
import { indented } from './timeline-lines.ts';

/** Arguments of up to this many characters are shown on one line. */
const ONE_LINE = 100;

/** How pending decisions are shown. */
interface ApprovalDisplay {
  output: Pick<Output, 'look'> & Partial<Pick<Output, 'program'>>;
  runId: string;
  /** The server flags, which the commands to copy repeat. */
  flags: ServerFlags;
  /** True to ask in place: without the commands that decide, the time, and the run that the person talks to. */
  inPlace?: boolean;
  /** True to also show what to enter in the form of the Temporal UI. */
  form?: boolean;
}

/**
 * Returns the lines for a pending decision: the call with its arguments, the principal and subject of its run if the approval has them,
 * the reason, the deadline, and the commands that decide.
 */
export function approvalLines(
  waiting: ApprovalView,
  { output, runId: listedBy, flags, inPlace = false, form = false }: ApprovalDisplay,
): string[] {
  // A call of a descendant is decided in the run that waits.
  const { runId = listedBy } = waiting;
  const { kind, toolName, callId, at, step, about, requestedAt, reason, deadlineAt, onDeadline, notified } = waiting;
  const facts: Fact[] = [
    ...(about === undefined || inPlace ? [] : subjectFacts(about)),
    ['why', reason === undefined ? undefined : printableLine(reason)],
    ['since', inPlace ? undefined : pointInTime(requestedAt)],
    ['until', deadlineAt && `${pointInTime(deadlineAt)}, then ${onDeadline === 'approve' ? 'approved' : 'rejected'}`],
    ['notice', notified === false ? 'not sent: "notify" failed' : undefined],
  ];
  const place =
    inPlace && runId === listedBy ? '' : ` · step ${at === undefined ? step : printableLine(at)} of run ${printableLine(runId)}`;
  const [what, call] = kind === 'limit' ? ['wants to continue: a limit is reached', 'decision'] : [printableLine(toolName), 'call'];
  return [
    `${output.look('yellow', what)} ${output.look('dim', `· ${call} ${printableLine(callId)}${place}`)}`,
    ...indented(kind === 'limit' ? limitText(waiting) : argumentsText(waiting)),
    ...factLines(facts, output, 6).map((line) => `  ${line}`),
    ...(inPlace ? [] : decisionHints(runId, waiting, { options: serverOptions(flags), program: output.program })).map(
      (hint) => `  ${output.look('cyan', printableLine(hint))}`,
    ),
    ...(form ? [`  ${formLine(waiting)}`] : []),
  ];
}

function formLine(waiting: ApprovalView): string {
  const { names, input } = updateForm(waiting);
  return `Temporal UI, Send an Update, ${names.join(' or ')}: ${visibleJson(input)}`;
}

/** Returns the lines for a remembered decision, with the command that revokes it. */
export function rememberedLines(remembered: RememberedDecision, { output, runId, flags }: ApprovalDisplay): string[] {
  const { id, type, toolName, digest, at, reason } = remembered;
  const calls = digest === undefined ? 'every call' : `calls with arguments of digest ${digest}`;
  const decided = type === 'approve' ? 'approved' : 'rejected';
  const what = `${decided} by ${decider({ ...remembered, source: 'remembered' })} at ${pointInTime(at)}${reason === undefined ? '' : `: ${reason}`}`;
  const hint = shellCommand('revoke', { operands: [runId, id], options: serverOptions(flags), program: output.program });
  return [
    `${output.look('bold', printableLine(toolName))} ${printableLine(`· ${calls} · ${what}`)}`,
    `  ${output.look('cyan', printableLine(hint))}`,
  ];
}

/** Returns what becomes of a run that has reached a limit. The proposal is in the arguments. */
function limitText({ arguments: proposal }: Pick<ApprovalView, 'arguments'>): string {
  return `approve: it continues with ${limitsText(proposal)}; reject: it ends at the limit`;
}

function argumentsText({ arguments: args, argumentsCut }: Pick<ApprovalView, 'arguments' | 'argumentsCut'>): string {
  const { text } = args;
  if (argumentsCut && typeof text === 'string') return `${visibleText(text)}…\nThis is the beginning: "${ANYWHERE} events" has all of it`;
  const line = visibleJson(args);
  return line.length <= ONE_LINE ? line : visibleJson(args, 2);
}

/** Milliseconds between two queries of a run's pending approvals. Most runs have ended before the first. */
const EVERY_MS = 1_000;

/** Reports on stderr each approval that becomes pending, with the commands that decide it, until the signal is aborted. Never rejects. */
export async function noteWaitingApprovals(
  { output }: CommandIo,
  run: Pick<RunHandle<unknown>, 'runId' | 'approvals'>,
  { flags, ended, everyMs = EVERY_MS }: { flags: ServerFlags; ended: AbortSignal; everyMs?: number },
): Promise<void> {
  const { runId } = run;
  const reported = new Set<string>();
  let wasPaused = false;
  for (;;) {
    try {
      await sleep(everyMs, ended);
    } catch {
      return;
    }
    // Errors of the run are reported by the call that waits for the result.
    const approvals = await run.approvals().catch(() => undefined);
    if (ended.aborted || approvals === undefined) continue;
    for (const waiting of approvals.pending.filter(({ key }) => !reported.has(key))) {
      reported.add(waiting.key);
      output.note('The run waits for a decision:');
      for (const line of approvalLines(waiting, { output, runId, flags })) output.note(`  ${line}`);
    }
    const isPaused = approvals.status === 'paused';
    if (isPaused && !wasPaused) {
      const resume = shellCommand('resume', { operands: [runId], options: serverOptions(flags), program: output.program });
      output.note(`The run is paused. It continues after:\n  ${resume}`);
    }
    wasPaused = isPaused;
  }
}
