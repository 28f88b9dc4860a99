import type { ApprovalView } from '../../src/core/domain/approvals/approval.ts';
import { isToolCall } from '../../src/core/domain/content/content.ts';
import { decisionHints } from '../../src/core/hints/decision-hints.ts';
import { dollars } from '../../src/core/domain/model/dollars.ts';
import { missingText } from '../../src/core/domain/errors/missing.ts';
import { eventsText } from '../../src/core/domain/record/not-archived.ts';
import { shellCommand } from '../../src/core/hints/shell-command.ts';
import { oneLine } from '../../src/core/domain/content/text.ts';
import { verifiedText } from '../../src/core/domain/content/tool-text.ts';
import { updateForm } from '../../src/core/hints/update-form.ts';
import { approvalViews } from '../../src/core/loop/approvals/approval-view.ts';
import { used } from '../../src/core/loop/limits/limits.ts';
import type { RunState } from '../../src/core/loop/state/run-state.ts';
import { thoughtOf } from '../../src/core/loop/state/thought.ts';
import type { LiveRun } from '../run/live-run.ts';

/** The details travel in a URL in the Temporal UI, so they are kept short. Bytes. */
const THOUGHT_BYTES = 600;
const ERROR_BYTES = 300;
const ARGUMENTS_BYTES = 400;

/** What waits for a decision is shown as far as it helps: the CLI lists all of it. */
const SHOWN_APPROVALS = 5;

/** Calls whose outcome was looked up, the newest. */
const SHOWN_VERIFIED = 3;

/** The newest ranges of events that are not in the archive. */
const SHOWN_RANGES = 3;

/** The panel of the UI is as high as its content less two lines: what it cuts off should be blank (a no-break space). */
const BLANK_LINE = '\u00a0';

/** What the Temporal UI shows of a run under "Current Details", in Markdown. Without a state the agent is not known yet. */
export function currentDetails(state: RunState | undefined, run: Pick<LiveRun, 'agentName' | 'missing'>): string {
  const lacking = missingLines(run);
  if (state === undefined) return [`### ${shown(run.agentName, ERROR_BYTES)}: running`, '', ...lacking, '', BLANK_LINE].join('\n');
  const { snapshot, status, lastError } = state;
  const thought = lastThought(state);
  const lines = [
    `### ${snapshot.name}: ${status}`,
    '',
    ...usageLines(state),
    ...lacking,
    ...verifiedLines(state),
    ...archiveLines(state),
    ...approvalLines(state),
  ];
  if (thought !== '') lines.push('', '**Last thought**', '', shown(thought, THOUGHT_BYTES));
  if (lastError !== undefined) lines.push('', '**Last error**', '', shown(lastError, ERROR_BYTES));
  return [...lines, '', BLANK_LINE].join('\n');
}

/** Of the step at hand, whose calls may wait for days; else of the last one that is complete. */
function lastThought({ phase, window, thought }: RunState): string {
  const asking = phase === 'tools' ? window.events.findLast(({ content }) => content.some(isToolCall)) : undefined;
  return (asking === undefined ? null : thoughtOf(asking.content)) ?? thought;
}

/** What was used, against what may be used. */
function usageLines(state: RunState): string[] {
  const { limits, usage, toolCallsTotal, startedAt } = state;
  const { steps, toolCalls, inputTokens, outputTokens, totalTokens, costUsd } = used(state);
  const estimated = usage.estimated === undefined ? '' : `, ${usage.estimated.totalTokens} of them estimated`;
  const of = (limit: number | undefined): string => (limit === undefined ? '' : ` of ${limit}`);
  const lines = [
    `- **Step** ${steps} of ${limits.maxIterations}`,
    `- **Tool calls** ${limits.toolCalls === undefined ? toolCallsTotal : `${toolCalls} of ${limits.toolCalls}`}`,
    `- **Tokens** ${totalTokens}${of(limits.totalTokens)} (${inputTokens}${of(limits.inputTokens)} prompt, ${outputTokens}${of(limits.outputTokens)} completion${estimated})`,
  ];
  if (usage.costUsd !== undefined || limits.costUsd !== undefined) {
    const amounts = [costUsd, ...(limits.costUsd === undefined ? [] : [limits.costUsd])].map(dollars);
    lines.push(`- **Cost** ${amounts.join(' of ').replaceAll('$', '&#36;')}`);
  }
  if (limits.deadlineMs !== undefined) lines.push(`- **Deadline** ${new Date(startedAt + limits.deadlineMs).toISOString()}`);
  return lines;
}

/** The newest calls whose tool was asked what became of them. */
function verifiedLines({ steps }: RunState): string[] {
  const lines: string[] = [];
  // Loops, because a record is rendered with every step: a new array for each step of the run would cost more than all else here.
  for (const { step, toolCalls } of steps) {
    for (const { toolName, verified } of toolCalls) {
      if (verified !== undefined) lines.push(`- **${toolName}** of step ${step} ${shown(verifiedText(verified), ERROR_BYTES)}`);
    }
  }
  return lines.slice(-SHOWN_VERIFIED);
}

/** Says what the run waits for because workers lack it: which one, since when. */
function missingLines({ missing }: Pick<LiveRun, 'missing'>): string[] {
  return missing.slice(-SHOWN_RANGES).map((one) => `- **Waits for another worker** ${shown(missingText(one), ERROR_BYTES * 2)}`);
}

/** Says what the archive is being given, and what it does not have. */
function archiveLines({ archiving, notArchived = [] }: RunState): string[] {
  return [
    ...(archiving === undefined ? [] : [`- **Archiving** ${eventsText(archiving)} since ${archiving.since}`]),
    ...notArchived
      .slice(-SHOWN_RANGES)
      .map((range) => `- **Not in the archive** ${eventsText(range)}: ${shown(range.message, ERROR_BYTES)}`),
  ];
}

/** What waits, with the command that decides it. */
function approvalLines(state: RunState): string[] {
  const { runId, approvals } = state;
  const { pending } = approvals;
  if (pending.length === 0) return [];
  const views = approvalViews({ ...state, approvals: { ...approvals, pending: pending.slice(0, SHOWN_APPROVALS) } });
  const lines = views.flatMap((waiting) => ['', ...approvalText(runId, waiting)]);
  const more = pending.length - views.length;
  if (more > 0) lines.push('', `and ${more} more: \`${shellCommand('approvals', { operands: [runId] })}\``);
  return lines;
}

function approvalText(runId: string, waiting: ApprovalView): string[] {
  const { callId, toolName, arguments: args, digest, reason, deadlineAt, onDeadline, notified } = waiting;
  const lines = [`**Waits for a decision: ${toolName}**`, '', `- **Call** \`${callId}\`, digest \`${digest}\``];
  if (reason !== undefined) lines.push(`- **Why** ${shown(reason, ERROR_BYTES)}`);
  if (deadlineAt !== undefined) lines.push(`- **Deadline** ${new Date(deadlineAt).toISOString()}, then ${onDeadline}`);
  if (notified === false) lines.push('- **Nobody was told**: `notify` has failed');
  lines.push('', '```json', oneLine(JSON.stringify(args), ARGUMENTS_BYTES), '```', '', '```sh');
  const { names, input } = updateForm(waiting);
  const form = [`*Send an Update*, ${names.map((name) => `\`${name}\``).join(' or ')}:`, '', '```json', JSON.stringify(input), '```'];
  return [...lines, ...decisionHints(runId, waiting), '```', '', ...form];
}

/** Free text on one line. The UI takes what is between two dollar signs for a formula. */
function shown(text: string, bytes: number): string {
  return oneLine(text, bytes).replaceAll('$', '&#36;');
}
