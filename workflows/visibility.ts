import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { upsertMemo, upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import type { AgentSnapshot } from '../src/core/domain/agent.ts';
import { type ApprovalView, decisionHints, updateForm } from '../src/core/domain/approvals.ts';
import { isToolCall } from '../src/core/domain/content.ts';
import { missingText } from '../src/core/domain/missing-definitions.ts';
import { DEFAULT_MODEL_CALLS } from '../src/core/domain/program-document.ts';
import type { ProgramState, StepState, UnitState } from '../src/core/domain/program-run.ts';
import { eventsText, identityText, type RunStatus } from '../src/core/domain/run.ts';
import { sessionOf, sessionTotals } from '../src/core/domain/sessions.ts';
import { counted, oneLine, shellCommand } from '../src/core/domain/text.ts';
import { isoTime } from '../src/core/domain/time.ts';
import { notRunTexts, verifiedText } from '../src/core/domain/tool-calls.ts';
import { dollars } from '../src/core/domain/usage.ts';
import { childrenWaiting, runningAgents, waitingAgents } from '../src/core/capabilities/children/children.ts';
import { archiveProgress } from '../src/core/capabilities/archive.ts';
import { roundOf } from '../src/core/capabilities/flows.ts';
import { firstAgent, handoffCount, hasSeveralAgents } from '../src/core/capabilities/handoffs.ts';
import { usedAmounts } from '../src/core/kernel/limits.ts';
import { thoughtOf } from '../src/core/kernel/next-step.ts';
import { approvalViews, runSubject } from '../src/core/queries/run-views.ts';
import type { RunState, WithSlices } from '../src/core/kernel/run-state.ts';
import { waitingSteps } from '../src/core/program/program-index.ts';
import { SEARCH_ATTRIBUTES, TITLE_MEMO } from '../src/core/protocol.ts';
import { isSession, limitsOf, type OpenSession, sessionLimitReached, spentBySession, stateOf } from '../src/core/sessions/open-session.ts';
import type { LiveRun } from './run/live-run.ts';

export const AGENT = defineSearchAttributeKey(SEARCH_ATTRIBUTES.agent, SearchAttributeType.KEYWORD);
const STATUS = defineSearchAttributeKey(SEARCH_ATTRIBUTES.status, SearchAttributeType.KEYWORD);
const STARTED = defineSearchAttributeKey(SEARCH_ATTRIBUTES.started, SearchAttributeType.DATETIME);
const TAG = defineSearchAttributeKey(SEARCH_ATTRIBUTES.tag, SearchAttributeType.KEYWORD_LIST);
const WAITING_FOR = defineSearchAttributeKey(SEARCH_ATTRIBUTES.waitingFor, SearchAttributeType.KEYWORD_LIST);

/** Returns the status that the previous execution left in the search attributes, which the server carries over. */
export function publishedStatus(): string | undefined {
  return workflowInfo().typedSearchAttributes.get(STATUS);
}

/**
 * Publishes the start of a run that continues as new for the first time: Temporal lists the start of the newest execution, and carries the
 * search attributes over.
 */
export function publishStarted({ startedAttribute }: AgentSnapshot): void {
  const { continuedFromExecutionRunId, startTime } = workflowInfo();
  if (startedAttribute && continuedFromExecutionRunId === undefined) upsertSearchAttributes([{ key: STARTED, value: startTime }]);
}

/** Search attributes with lists: the tools that the run waits for, if they have changed, and its tags. */
type Lists = { key: typeof WAITING_FOR; value: string[] }[];

/**
 * Makes the run findable by agent, status and what it waits for. Publishes only changes, since each one is an event of
 * history, and only attributes that the namespace has: upserting a missing one fails every workflow task, and the run
 * hangs.
 */
export class SearchAttributePublisher {
  #status: RunStatus | undefined;
  #waitingFor: string | undefined;

  /** `continued`: true if the published values of the previous execution are unknown. Otherwise `status` is the published one. */
  constructor(continued: boolean, status: RunStatus = 'running') {
    this.#status = continued ? undefined : status;
    this.#waitingFor = continued ? undefined : '';
  }

  /** Publishes a run whose agent has been resolved. The server carries over its tags. */
  publishStart(snapshot: AgentSnapshot): void {
    const { tags = [], tagAttribute, searchAttributes } = snapshot;
    const tagged: Lists = tagAttribute ? [{ key: TAG, value: tags }] : [];
    if (searchAttributes) this.#publish(snapshot, { agent: firstAgent({ snapshot }), status: 'running' }, tagged);
    else if (tagAttribute) upsertSearchAttributes(tagged);
  }

  /** Publishes the status, and the agent that the run began with, even if another one acts. */
  publishStatus(snapshot: AgentSnapshot, agent: string, status: RunStatus): void {
    this.#publish(snapshot, { agent, status }, this.#waiting(snapshot, []));
  }

  /** Publishes the changes since the last call. A run also waits for the steps and tools whose children wait for a person. */
  publishChanges(state: RunState, inbox: WithSlices): void {
    const waitingChildren = childrenWaiting(inbox);
    const { snapshot, status, approvals, program } = state;
    const names = approvals.pending.map(({ toolName }) => toolName);
    const ofChildren = [...waitingSteps(program, waitingChildren), ...waitingAgents(state, waitingChildren)];
    const waiting = this.#waiting(snapshot, [...names, ...ofChildren]);
    if (waiting.length === 0 && this.#status === 'idle' && isShortTurn(state)) return;
    if (status !== this.#status || waiting.length > 0) this.#publish(snapshot, { agent: firstAgent(state), status }, waiting);
  }

  #publish({ searchAttributes }: AgentSnapshot, { agent, status }: { agent: string; status: RunStatus }, lists: Lists): void {
    this.#status = status;
    if (!searchAttributes) return;
    upsertSearchAttributes([{ key: AGENT, value: agent }, { key: STATUS, value: status }, ...lists]);
  }

  /** Returns one entry for each tool: the list in the Temporal UI shows the tools, not the number of calls. */
  #waiting({ waitingForAttribute }: AgentSnapshot, names: string[]): Lists {
    const value = [...new Set(names)].toSorted();
    const shown = value.join('\n');
    if (!waitingForAttribute || shown === this.#waitingFor) return [];
    this.#waitingFor = shown;
    return [{ key: WAITING_FOR, value }];
  }
}

/**
 * True for a turn with at most one model call and no tool call. Most turns end like this: a session would spend an event on each
 * change to `running` and back, and lists show such changes late in any case.
 */
function isShortTurn(state: RunState): boolean {
  const { status, phase, context, toolCallsTotal } = state;
  const session = sessionOf(state);
  if (session?.turn === undefined) return false;
  return status === 'running' && phase !== 'tools' && toolCallsTotal === 0 && context.currentStep <= session.turn.stepsBefore + 1;
}

/** Publishes a title made by a model call. A title given by a caller is in the memo from the start. */
export function publishTitle(state: RunState): void {
  const session = sessionOf(state);
  if (session?.titled === undefined || workflowInfo().memo?.[TITLE_MEMO] === session.title) return;
  upsertMemo({ [TITLE_MEMO]: session.title });
}

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

/** The parts of a run that the details show in addition to its state. */
type DetailedRun = Pick<LiveRun, 'agentName' | 'missing'> & { inbox?: WithSlices };

/** Returns the Markdown for "Current Details" in the Temporal UI. Without a state, the agent is not known yet. */
export function currentDetails(state: RunState | undefined, run: DetailedRun): string {
  const lacking = missingLines(run);
  if (state === undefined) return [`### ${cutForDisplay(run.agentName, ERROR_BYTES)}: running`, '', ...lacking, '', BLANK_LINE].join('\n');
  const { status, lastError, program } = state;
  // The answers of a program belong to its steps: a single one says nothing about the run.
  const thought = program === undefined ? lastThought(state) : '';
  const lines = [
    `### ${firstAgent(state)}: ${status}`,
    '',
    ...(state.approvals.pending.length === 0 ? [] : subjectLines(state)),
    ...actingAgentLines(state),
    ...(isSession(state) ? sessionLines(state) : []),
    // Between turns, the limits of a turn count nothing.
    ...(status === 'idle' ? [] : usageLines(state)),
    ...lacking,
    ...verifiedLines(state),
    ...archiveLines(state),
    ...(program === undefined ? [] : unitLines(program, childrenWaiting(run.inbox ?? {}))),
    ...agentLines(state, childrenWaiting(run.inbox ?? {})),
    ...approvalLines(state),
  ];
  if (thought !== '') lines.push('', '**Last thought**', '', cutForDisplay(thought, THOUGHT_BYTES));
  if (lastError !== undefined) lines.push('', '**Last error**', '', cutForDisplay(lastError, ERROR_BYTES));
  return [...lines, '', BLANK_LINE].join('\n');
}

/** Returns the thought of the current step, whose calls may wait for days; otherwise of the last complete step. */
function lastThought({ phase, window, thought }: RunState): string {
  const asking = phase === 'tools' ? window.events.findLast(({ content }) => content.some(isToolCall)) : undefined;
  return (asking === undefined ? null : thoughtOf(asking.content)) ?? thought;
}

/** Returns the current agent, if the run was handed over. */
function actingAgentLines(state: RunState): string[] {
  if (!hasSeveralAgents(state)) return [];
  const count = handoffCount(state);
  const loop = roundOf(state);
  const round = loop === undefined ? [] : [`round ${loop.round} of ${loop.most}`];
  const after = count === 0 ? [] : [`after ${counted(count, 'handoff')}`];
  return [`- **Agent** ${[state.snapshot.name, ...round, ...after].join(', ')}`];
}

/** Returns the usage against its limits. */
function usageLines(state: RunState): string[] {
  const { limits, usage, toolCallsTotal, toolCallsNotRun, startedAt } = state;
  const { steps, toolCalls, inputTokens, outputTokens, totalTokens, costUsd } = usedAmounts(state);
  const estimated = usage.estimated === undefined ? '' : `, ${usage.estimated.totalTokens} of them estimated`;
  const of = (limit: number | undefined): string => (limit === undefined ? '' : ` of ${limit}`);
  const notRun = notRunTexts(toolCallsNotRun, { times: ' ×' }).map((text) => cutForDisplay(text, NOT_RUN_BYTES));
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

/** Returns the steps of an agent, or the model calls of a program and its children, whose default limit no author has chosen. */
function stepsLine({ program, limits, usage }: RunState, steps: number): string {
  if (program === undefined) return `- **Step** ${steps} of ${limits.steps}`;
  return `- **Model calls** ${limits.steps === DEFAULT_MODEL_CALLS ? usage.llmCalls : `${steps} of ${limits.steps}`}`;
}

/** Returns the newest calls whose outcome was verified with the tool. */
function verifiedLines({ steps }: RunState): string[] {
  const lines: string[] = [];
  // Loops are used because a record is rendered with every step: a new array for each step of the run would dominate
  // the cost.
  for (const { step, toolCalls } of steps) {
    for (const { toolName, verified } of toolCalls) {
      if (verified !== undefined) lines.push(`- **${toolName}** of step ${step} ${cutForDisplay(verifiedText(verified), ERROR_BYTES)}`);
    }
  }
  return lines.slice(-SHOWN_VERIFIED);
}

/** Returns what the run waits for because workers lack it, and since when. */
function missingLines({ missing }: Pick<LiveRun, 'missing'>): string[] {
  return missing.slice(-SHOWN_RANGES).map((one) => `- **Waits for another worker** ${cutForDisplay(missingText(one), ERROR_BYTES * 2)}`);
}

/** Returns the events that are being archived, and those that are not archived. */
function archiveLines(state: RunState): string[] {
  const { archiving, notArchived = [] } = archiveProgress(state);
  return [
    ...(archiving === undefined ? [] : [`- **Archiving** ${eventsText(archiving)} since ${archiving.since}`]),
    ...notArchived
      .slice(-SHOWN_RANGES)
      .map((range) => `- **Not in the archive** ${eventsText(range)}: ${cutForDisplay(range.message, ERROR_BYTES)}`),
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

/** Returns the principal and the subject of the run: an approver may see nothing else of it. */
function subjectLines(state: RunState): string[] {
  const { tags = [], title = '', question = '', ...identity } = runSubject(firstAgent(state), state);
  const facts = { For: identityText(identity) ?? '', Tags: tags.join(', '), Title: title, Asked: question };
  return Object.entries(facts).flatMap(([name, text]) => (text === '' ? [] : [`- **${name}** ${cutLine(text)}`]));
}

function approvalText(runId: string, waiting: ApprovalView): string[] {
  const { callId, toolName, arguments: args, digest, reason, deadlineAt, onDeadline, notified } = waiting;
  const lines = [`**Waits for a decision: ${toolName}**`, '', `- **Call** \`${callId}\`, digest \`${digest}\``];
  if (reason !== undefined) lines.push(`- **Why** ${cutForDisplay(reason, ERROR_BYTES)}`);
  if (deadlineAt !== undefined) lines.push(`- **Deadline** ${deadlineAt}, then ${onDeadline}`);
  if (notified === false) lines.push('- **No notice was sent**: `notify` has failed');
  lines.push('', '```json', oneLine(JSON.stringify(args), ARGUMENTS_BYTES), '```', '', '```sh');
  const { names, input } = updateForm(waiting);
  const form = [`*Send an Update*, ${names.map((name) => `\`${name}\``).join(' or ')}:`, '', '```json', JSON.stringify(input), '```'];
  return [...lines, ...decisionHints(runId, waiting), '```', '', ...form];
}

/** Returns free text on one line. The UI renders text between two dollar signs as a formula. */
function cutForDisplay(text: string, bytes: number): string {
  return oneLine(text, bytes).replaceAll('$', '&#36;');
}

/** The number of agents that are shown. Agents that wait for a person come first. */
const SHOWN_AGENTS = 10;

/** Returns the agents that run as children of tool calls, as Markdown lines. */
function agentLines(state: RunState, waitingChildren: readonly string[]): string[] {
  const agents = runningAgents(state).map((agent) => ({ ...agent, waits: waitingChildren.includes(agent.runId) }));
  if (agents.length === 0) return [];
  const listed = agents.toSorted((one, other) => Number(other.waits) - Number(one.waits)).slice(0, SHOWN_AGENTS);
  const more = agents.length - listed.length;
  return [
    '',
    '**Agents that run**',
    '',
    ...listed.map(({ tool, runId, waits }) => `- **${tool}** run \`${runId}\`${waits ? ' waits for a person' : ''}`),
    ...(more === 0 ? [] : [`- and ${more} more`]),
  ];
}

/** Returns the turns of a session, and their total amounts against its limits, as Markdown lines. */
function sessionLines(state: OpenSession): string[] {
  const { turns, turn } = stateOf(state);
  const limits = limitsOf(state);
  const reached = sessionLimitReached(state, Date.now());
  const { tokens, cost } = sessionTotals(spentBySession(state));
  const of = (limit: number | null): string => (limit === null ? '' : ` of ${limit}`);
  const amounts = [cost, ...(limits.costUsd === null ? [] : [limits.costUsd])].map(dollars).join(' of ');
  return [
    `- **${turn === undefined ? 'Turns' : 'Turn'}** ${turns}${of(limits.turns)}`,
    `- **Tokens of all turns** ${tokens}${of(limits.totalTokens)}`,
    ...(cost === 0 && limits.costUsd === null ? [] : [`- **Cost of all turns** ${amountText(amounts)}`]),
    ...(reached === undefined ? [] : [`- **Limit** ${amountText(reached.message)}: messages are refused until it is raised`]),
  ];
}

/** Returns the text for the UI, which renders text between two dollar signs as a formula. */
function amountText(text: string): string {
  return text.replaceAll('$', '&#36;');
}

/** The number of shown units, and of shown running or failed steps per unit. */
const SHOWN_UNITS = 20;
const SHOWN_STEPS = 5;

/** Returns the units of a program with their running and failed steps, and the children that wait for a person. */
function unitLines({ document, units, steps }: ProgramState, waitingChildren: readonly string[]): string[] {
  const open = openSteps(steps);
  // The first units that have not begun say little: those that have come first.
  const begun = document.units.filter(({ name }) => units.has(name));
  const waiting = document.units.filter(({ name }) => !units.has(name));
  const listed = [...begun.slice(-SHOWN_UNITS), ...waiting.slice(0, Math.max(0, SHOWN_UNITS - begun.length))];
  const hidden = document.units.length - listed.length;
  return [
    '',
    '**Units**',
    '',
    ...listed.flatMap(({ name }) => [unitLine(name, units.get(name)), ...stepLines(open.get(name) ?? [], waitingChildren)]),
    ...(hidden === 0 ? [] : [`- and ${hidden} more`]),
  ];
}

/** Returns the steps that run or have failed, by their unit. A program may have thousands of steps that have ended. */
function openSteps(steps: ReadonlyMap<string, StepState>): Map<string, [name: string, StepState][]> {
  const open = new Map<string, [string, StepState][]>();
  for (const [at, state] of steps) {
    if (state.status !== 'running' && state.status !== 'failed') continue;
    const dot = at.indexOf('.');
    const unit = at.slice(0, dot);
    const list = open.get(unit) ?? [];
    list.push([at.slice(dot + 1), state]);
    open.set(unit, list);
  }
  return open;
}

function unitLine(name: string, state: UnitState | undefined): string {
  if (state === undefined) return `- **${name}** not started`;
  const { status, reason, startedAt, endedAt } = state;
  const took = endedAt === undefined || status === 'skipped' ? '' : ` in ${seconds(endedAt - startedAt)}`;
  return `- **${name}** ${status}${took}${reason === undefined ? '' : `: ${cutLine(reason)}`}`;
}

function stepLines(steps: readonly [name: string, StepState][], waitingChildren: readonly string[]): string[] {
  const hidden = steps.length - SHOWN_STEPS;
  return [
    ...steps.slice(0, SHOWN_STEPS).map(([name, state]) => `  - \`${name}\` ${stepText(state, waitingChildren)}`),
    ...(hidden <= 0 ? [] : [`  - and ${hidden} more`]),
  ];
}

function stepText({ status, attempts, rounds, error, progress }: StepState, waitingChildren: readonly string[]): string {
  const attempt = attempts > 1 ? `, attempt ${attempts}` : '';
  const round = rounds === undefined ? '' : `, round ${rounds}`;
  const failure = error ?? progress?.failure?.error;
  const why = failure === undefined ? '' : `: ${status === 'running' ? 'the attempt before failed: ' : ''}${cutLine(failure.message)}`;
  const child = status !== 'running' || progress?.child === undefined ? '' : childText(progress.child.runId, waitingChildren);
  return `${status}${attempt}${round}${child}${why}`;
}

function childText(runId: string, waitingChildren: readonly string[]): string {
  return `, run \`${runId}\`${waitingChildren.includes(runId) ? ' waits for a person' : ''}`;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)}s`;
}

/** Returns free text on one line. The UI renders text between two dollar signs as a formula. */
function cutLine(text: string): string {
  return cutForDisplay(text, ERROR_BYTES);
}

/** True if a person has to decide about something in a child of the run. */
export function hasWaitingChildren(inbox: WithSlices): boolean {
  return childrenWaiting(inbox).length > 0;
}
