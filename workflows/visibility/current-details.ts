import type { ApprovalView } from '../../src/core/domain/approvals/approval.ts';
import { isToolCall } from '../../src/core/domain/content/content.ts';
import { decisionHints } from '../../src/core/hints/decision-hints.ts';
import { dollars } from '../../src/core/domain/model/dollars.ts';
import { DEFAULT_MODEL_CALLS } from '../../src/core/domain/program/document.ts';
import { missingText } from '../../src/core/domain/errors/missing.ts';
import { notRunTexts } from '../../src/core/domain/record/calls-not-run.ts';
import { eventsText } from '../../src/core/domain/record/not-archived.ts';
import { shellCommand } from '../../src/core/hints/shell-command.ts';
import { counted, oneLine } from '../../src/core/domain/content/text.ts';
import { verifiedText } from '../../src/core/domain/content/tool-text.ts';
import { updateForm } from '../../src/core/hints/update-form.ts';
import { approvalViews } from '../../src/core/loop/approvals/approval-view.ts';
import { firstAgent, hasSeveralAgents } from '../../src/core/loop/handoffs/transfer-calls.ts';
import { used } from '../../src/core/loop/limits/limits.ts';
import { isSession } from '../../src/core/sessions/open-session.ts';
import type { RunState } from '../../src/core/loop/state/run-state.ts';
import { thoughtOf } from '../../src/core/loop/state/thought.ts';
import type { LiveRun } from '../run/live-run.ts';
import { agentLines } from './agent-lines.ts';
import { unitLines } from './program-lines.ts';
import { sessionLines } from './session-lines.ts';
import { isoTime } from '../../src/core/domain/record/time.ts';

/** Byte limits: the Temporal UI sends the details in a URL, so they are kept short. */
const THOUGHT_BYTES = 600;
const ERROR_BYTES = 300;
const ARGUMENTS_BYTES = 400;
const NOT_RUN_BYTES = 120;

/** The number of pending approvals that are shown: the CLI lists all of them. */
const SHOWN_APPROVALS = 5;

/** The number of newest verified calls that are shown. */
const SHOWN_VERIFIED = 3;

/** The number of newest ranges of events that are shown as not archived. */
const SHOWN_RANGES = 3;

/** The panel of the UI is two lines shorter than its content, so the last lines are blank (a no-break space). */
const BLANK_LINE = '\u00a0';

/** The parts of a run that the details show besides its state. */
type DetailedRun = Pick<LiveRun, 'agentName' | 'missing'> & { inbox?: Pick<LiveRun['inbox'], 'waitingChildren'> };

/** Returns the Markdown that the Temporal UI shows under "Current Details". Without a state the agent is not known yet. */
export function currentDetails(state: RunState | undefined, run: DetailedRun): string {
  const lacking = missingLines(run);
  if (state === undefined) return [`### ${shown(run.agentName, ERROR_BYTES)}: running`, '', ...lacking, '', BLANK_LINE].join('\n');
  const { status, lastError, program } = state;
  // The answers of a program are those of its steps: one of them alone says nothing about the run.
  const thought = program === undefined ? lastThought(state) : '';
  const lines = [
    `### ${firstAgent(state)}: ${status}`,
    '',
    ...actingAgentLines(state),
    ...(isSession(state) ? sessionLines(state) : []),
    // Between two turns there is nothing that the limits of a turn count.
    ...(status === 'idle' ? [] : usageLines(state)),
    ...lacking,
    ...verifiedLines(state),
    ...archiveLines(state),
    ...(program === undefined ? [] : unitLines(program, run.inbox?.waitingChildren ?? [])),
    ...agentLines(state, run.inbox?.waitingChildren ?? []),
    ...approvalLines(state),
  ];
  if (thought !== '') lines.push('', '**Last thought**', '', shown(thought, THOUGHT_BYTES));
  if (lastError !== undefined) lines.push('', '**Last error**', '', shown(lastError, ERROR_BYTES));
  return [...lines, '', BLANK_LINE].join('\n');
}

/** Returns the thought of the current step, whose calls may wait for days; otherwise of the last complete step. */
function lastThought({ phase, window, thought }: RunState): string {
  const asking = phase === 'tools' ? window.events.findLast(({ content }) => content.some(isToolCall)) : undefined;
  return (asking === undefined ? null : thoughtOf(asking.content)) ?? thought;
}

/** Returns the agent that acts, if the run was handed over. */
function actingAgentLines(state: RunState): string[] {
  const { handoffs, snapshot } = state;
  if (handoffs === undefined || !hasSeveralAgents(state)) return [];
  const { count, flow } = handoffs;
  const round = flow?.kind === 'loop' ? [`round ${flow.iteration} of ${flow.maxIterations}`] : [];
  const after = count === 0 ? [] : [`after ${counted(count, 'handoff')}`];
  return [`- **Agent** ${[snapshot.name, ...round, ...after].join(', ')}`];
}

/** Returns the usage against its limits. */
function usageLines(state: RunState): string[] {
  const { limits, usage, toolCallsTotal, toolCallsNotRun, startedAt } = state;
  const { steps, toolCalls, inputTokens, outputTokens, totalTokens, costUsd } = used(state);
  const estimated = usage.estimated === undefined ? '' : `, ${usage.estimated.totalTokens} of them estimated`;
  const of = (limit: number | undefined): string => (limit === undefined ? '' : ` of ${limit}`);
  const notRun = notRunTexts(toolCallsNotRun, { times: ' ×' }).map((text) => shown(text, NOT_RUN_BYTES));
  const lines = [
    stepsLine(state, steps),
    `- **Tool calls** ${[limits.toolCalls === undefined ? toolCallsTotal : `${toolCalls} of ${limits.toolCalls}`, ...notRun].join(', ')}`,
    `- **Tokens** ${totalTokens}${of(limits.totalTokens)} (${inputTokens}${of(limits.inputTokens)} prompt, ${outputTokens}${of(limits.outputTokens)} completion${estimated})`,
  ];
  if (usage.costUsd !== undefined || limits.costUsd !== undefined) {
    const amounts = [costUsd, ...(limits.costUsd === undefined ? [] : [limits.costUsd])].map(dollars);
    lines.push(`- **Cost** ${amounts.join(' of ').replaceAll('$', '&#36;')}`);
  }
  if (limits.deadlineMs !== undefined) lines.push(`- **Deadline** ${isoTime(startedAt + limits.deadlineMs)}`);
  return lines;
}

/** Returns the steps of an agent, or the model calls of a program with those of its children, whose default limit no author has chosen. */
function stepsLine({ program, limits, usage }: RunState, steps: number): string {
  if (program === undefined) return `- **Step** ${steps} of ${limits.steps}`;
  return `- **Model calls** ${limits.steps === DEFAULT_MODEL_CALLS ? usage.llmCalls : `${steps} of ${limits.steps}`}`;
}

/** Returns the newest calls whose tool was asked for the outcome. */
function verifiedLines({ steps }: RunState): string[] {
  const lines: string[] = [];
  // Loops are used because a record is rendered with every step: a new array for each step of the run would dominate
  // the cost.
  for (const { step, toolCalls } of steps) {
    for (const { toolName, verified } of toolCalls) {
      if (verified !== undefined) lines.push(`- **${toolName}** of step ${step} ${shown(verifiedText(verified), ERROR_BYTES)}`);
    }
  }
  return lines.slice(-SHOWN_VERIFIED);
}

/** Returns the things that the run waits for because workers lack them, and since when. */
function missingLines({ missing }: Pick<LiveRun, 'missing'>): string[] {
  return missing.slice(-SHOWN_RANGES).map((one) => `- **Waits for another worker** ${shown(missingText(one), ERROR_BYTES * 2)}`);
}

/** Returns the events that are being archived, and those that are not archived. */
function archiveLines({ archiving, notArchived = [] }: RunState): string[] {
  return [
    ...(archiving === undefined ? [] : [`- **Archiving** ${eventsText(archiving)} since ${archiving.since}`]),
    ...notArchived
      .slice(-SHOWN_RANGES)
      .map((range) => `- **Not in the archive** ${eventsText(range)}: ${shown(range.message, ERROR_BYTES)}`),
  ];
}

/** Returns the pending approvals, with the commands that decide them. */
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
  if (deadlineAt !== undefined) lines.push(`- **Deadline** ${deadlineAt}, then ${onDeadline}`);
  if (notified === false) lines.push('- **No notice was sent**: `notify` has failed');
  lines.push('', '```json', oneLine(JSON.stringify(args), ARGUMENTS_BYTES), '```', '', '```sh');
  const { names, input } = updateForm(waiting);
  const form = [`*Send an Update*, ${names.map((name) => `\`${name}\``).join(' or ')}:`, '', '```json', JSON.stringify(input), '```'];
  return [...lines, ...decisionHints(runId, waiting), '```', '', ...form];
}

/** Returns free text on one line. The UI renders text between two dollar signs as a formula. */
function shown(text: string, bytes: number): string {
  return oneLine(text, bytes).replaceAll('$', '&#36;');
}
