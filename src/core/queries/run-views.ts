import { agentsOfCalls, childrenOf, childrenWaiting, keptAgents } from '../capabilities/children/children.ts';
import type { AgentDocument, AgentSnapshot, ToolSnapshot } from '../domain/agent.ts';
import { type ApprovalView, type Decision, type PendingApproval, placeOfKey } from '../domain/approvals.ts';
import { jsonBytes } from '../domain/byte-budgets.ts';
import { outputText } from '../domain/content.ts';
import { defined, type JsonObject } from '../domain/json.ts';
import type { LimitRaise } from '../domain/limits.ts';
import type { Missing } from '../domain/missing-definitions.ts';
import type { ConversationEvent } from '../domain/model.ts';
import type { StepValuesAnswer } from '../domain/program-run.ts';
import { newExecutionContext } from '../domain/record.ts';
import type { RunResultFields } from '../domain/result.ts';
import type { Principal, RunStatus, RunSubject } from '../domain/run.ts';
import { endedTurns, sessionOf, type SessionView, turnOfCall, type TurnQuestion, type TurnView } from '../domain/sessions.ts';
import { jsonTextPrefix, oneLine, utf8Prefix } from '../domain/text.ts';
import { isoTime } from '../domain/time.ts';
import { noUsage } from '../domain/usage.ts';
import type { StatusView, UnreadMessage } from '../domain/views.ts';
import { rewrittenArguments } from '../domain/rewrites.ts';
import { acceptedLimits, acceptedSessionLimits } from '../handlers/accepted-limits.ts';
import type { Inbox } from '../kernel/inbox.ts';
import { usedAmounts } from '../kernel/limits.ts';
import { points } from '../kernel/points.ts';
import type { RunState } from '../kernel/run-state.ts';
import { findEvent } from '../kernel/tool-calls.ts';
import { type ApprovalsPage, type ContextPage, PAGE_BYTES, type StepsPage } from '../protocol.ts';
import { isSession, sessionLimitReached, spentBySession, stateOf } from '../sessions/open-session.ts';

/** Answers the `status` query. */
export function statusView(run: QueriedRun): StatusView {
  const { runId, agentName, executions, inbox, startedAt, state, principal, burst, missing = [] } = run;
  const waiting = childrenWaiting(inbox);
  const raises = inbox.closed ? [] : inbox.raises;
  const facts = { agentName, executions, queued: inbox.queued, raises, startedAt, ...defined({ state, principal, burst }) };
  return {
    ...statusOfRun(runId, state?.status ?? 'running', facts),
    ...(waiting.length === 0 ? {} : { waitingChildren: [...waiting] }),
    ...(missing.length === 0 ? {} : { missing: missing.map(missingView) }),
  };
}

/** Returns a key of everything that waits for a decision: the run's own calls, and the children with waiting calls. */
export function waitsOf({ approvals }: RunState, inbox: Inbox): string {
  return JSON.stringify([approvals.pending.map(({ callId }) => callId), childrenWaiting(inbox)]);
}

/** The data of a run's status besides its id, known with and without a worker. */
interface RunFacts extends Pick<QueriedRun, 'agentName' | 'executions' | 'startedAt' | 'state' | 'principal'> {
  /** The number of messages in the queue. */
  readonly queued: number;
  /** The accepted raises of limits that are not yet applied. */
  readonly raises?: readonly LimitRaise[];
  /** The burst in progress. */
  readonly burst?: Pick<NonNullable<QueriedRun['burst']>, 'begunAt'>;
}

/** Returns the status of a run without the data that only a worker knows. */
export function statusOfRun(runId: string, status: RunStatus, facts: RunFacts): StatusView {
  const { agentName, executions, queued, raises = [], startedAt, state, principal, burst } = facts;
  return {
    version: 1,
    runId,
    agentName,
    about: runSubject(agentName, state, principal),
    status,
    ...progressOf(state),
    ...(state === undefined ? {} : { limits: acceptedLimits(state, raises) }),
    ...sessionField(state, raises, Date.now()),
    ...childrenField(state),
    executions,
    queued,
    startTime: isoTime(startedAt),
    ...asOfField(burst),
  };
}

/** Returns the time of a view's data if a burst is in progress: the run learns of the burst's calls only at its end. */
export function asOfField(burst: RunFacts['burst']): { asOf?: string } {
  return burst === undefined ? {} : { asOf: isoTime(burst.begunAt) };
}

/** Removes the fields that only the waiting activity needs. */
function missingView({ kind, name, known, code, worker, since, until }: Missing): Missing {
  return { kind, name, known, code, ...defined({ worker }), since, until };
}

/** Answers the `approvals` query. */
export function approvalsPage(run: QueriedRun, from: number): ApprovalsPage {
  const { runId, agentName, state } = run;
  const pending = state === undefined ? [] : approvalViews(state);
  return {
    version: 1,
    runId,
    agentName,
    about: runSubject(agentName, state, run.principal),
    status: state?.status ?? 'running',
    from,
    pending: page(pending, from),
    total: pending.length,
    remembered: state?.approvals.remembered ?? [],
    ...childrenField(state),
  };
}

/** Returns the field of a view with the run's children. */
export function childrenField(state: QueriedRun['state']): { children?: string[] } {
  const children = childrenOf(state);
  return children.length === 0 ? {} : { children };
}

/** Returns the ids of the agents that are running for calls of the run, or that it keeps. */
export function agentsOf(state: Pick<RunState, 'slices'>): string[] {
  return [...new Set([...agentsOfCalls(state), ...keptAgents(state)].map(({ runId }) => runId))];
}

/** Answers the `context` query with events of this execution. A page that would begin before them begins with the first. */
export function contextPage(run: QueriedRun, from: number): ContextPage {
  const context = run.state?.context ?? newExecutionContext(run.runId);
  const { executionId, currentStep, state, finalResult, events } = context;
  const firstOffset = run.state?.firstOffset ?? 0;
  const index = Math.max(0, from - firstOffset);
  const paged = page(events, index);
  const next = paged.length === 0 ? events[index] : undefined;
  return {
    version: 1,
    executionId,
    status: run.state?.status ?? 'running',
    currentStep,
    state,
    deps: run.state?.deps ?? run.deps,
    finalResult,
    firstOffset,
    from: Math.max(from, firstOffset),
    events: paged,
    ...defined({ nextId: next?.id }),
    total: firstOffset + events.length,
    ...(index + paged.length < events.length ? {} : fittingUnread(run.inbox.messages, paged)),
    ...asOfField(run.burst),
  };
}

/** Returns the field with the messages, unless they do not fit into one answer with these events: a page after them has the messages. */
function fittingUnread(messages: readonly UnreadMessage[], paged: ContextPage['events']): Pick<ContextPage, 'unread'> {
  const unread = unreadField(messages);
  if (messages.length === 0) return unread;
  return jsonBytes(paged) + jsonBytes(unread) > MAX_ITEM_BYTES ? {} : unread;
}

/** Returns the field of a context with the messages that are not recorded yet. */
export function unreadField(messages: readonly UnreadMessage[]): Pick<ContextPage, 'unread'> {
  return messages.length === 0 ? {} : { unread: messages.map(({ id, content, timestamp }) => ({ id, content, timestamp })) };
}

/** Answers the `steps` query. */
export function stepsPage(run: QueriedRun, from: number): StepsPage {
  const steps = run.state?.steps ?? [];
  const total = run.state?.context.currentStep ?? 0;
  const firstIndex = total - steps.length;
  return { version: 1, firstIndex, from: Math.max(from, firstIndex), steps: page(steps, from - firstIndex), total };
}

/** The maximum bytes of a run's question: a list has many of them. */
const QUESTION_BYTES = 300;

/** The number of characters of a message that are examined: it may be very large, and each status query needs it. */
const READ_CHARACTERS = 2_000;

/** Returns the information about a run that an approver needs, from its record. Before it has a state, its principal may be known. */
export function runSubject(agentName: string, state: RunState | undefined, given?: Principal): RunSubject {
  const { tenant, user } = (state === undefined ? given : state.principal) ?? {};
  const { tags = [] } = state?.snapshot ?? {};
  const title = sessionOf(state ?? {})?.title;
  const question = state === undefined ? '' : oneLine(questionOf(state).slice(0, READ_CHARACTERS), QUESTION_BYTES);
  return {
    agentName,
    ...defined({ tenant, user }),
    ...(tags.length === 0 ? {} : { tags }),
    ...defined({ title }),
    ...(question === '' ? {} : { question }),
  };
}

/** Returns the user's request: a program's input, or a session's newest message. For other runs, compaction keeps the first message. */
function questionOf(state: RunState): string {
  const { program, context, firstOffset, window } = state;
  if (program !== undefined) return Object.keys(program.input).length === 0 ? '' : JSON.stringify(program.input);
  if (isSession(state)) return userText(window.events.findLast(isOfUser));
  if (firstOffset > 0) return userText(window.events.find(isOfUser));
  const begun = context.events.findIndex(({ given, author }) => !given && author !== 'user');
  const opening = begun < 0 ? context.events : context.events.slice(0, begun);
  // A given conversation comes before the run's own input.
  return userText(opening.find((event) => !event.given && isOfUser(event)) ?? opening.findLast(isOfUser));
}

function isOfUser({ author, content }: ConversationEvent): boolean {
  return author === 'user' && content.some((item) => item.type === 'message' && item.role === 'user');
}

function userText(event: ConversationEvent | undefined): string {
  const messages = (event?.content ?? []).filter((item) => item.type === 'message' && item.role === 'user');
  return messages.map((item) => (item.type === 'message' ? outputText(item.content) : '')).join(' ');
}

/** Returns the field of a view for a session. `now` is in milliseconds since the epoch. */
function sessionField(state: RunState | undefined, raises: readonly LimitRaise[], now: number): { session?: SessionView } {
  if (state === undefined || !isSession(state)) return {};
  const { title, turns, turn, idleSince } = stateOf(state);
  const limits = acceptedSessionLimits(state, raises);
  const limitReached = sessionLimitReached(state, now, limits);
  return {
    session: {
      ...defined({ title }),
      turns,
      ...defined({ turn: turn?.number }),
      spent: spentBySession(state),
      limits,
      ...defined({ limitReached }),
      ...(idleSince === undefined ? {} : { idleSince: isoTime(idleSince) }),
    },
  };
}

/** Answers the `turn` query with the result of a turn that ended in this execution. */
export function turnView({ state }: QueriedRun, question: TurnQuestion | null | undefined): TurnView {
  const session = sessionOf(state ?? {});
  const { turns = 0, turn } = session ?? {};
  const ended = endedTurns(state ?? {});
  const { call } = question ?? {};
  const ofCall = call === undefined ? undefined : turnOfCall(session, call);
  const asked = call === undefined ? (question?.turn ?? ended.at(-1)?.turn) : ofCall;
  const result = ended.find((one) => one.turn === asked);
  return {
    version: 1,
    turns,
    ...defined({ running: turn?.number }),
    firstTurn: ended[0]?.turn ?? turns + (turn === undefined ? 1 : 0),
    ...defined({ ofCall, result }),
  };
}

/** The part of a run that answers queries. */
export interface QueriedRun {
  readonly runId: string;
  readonly agentName: string;
  /** The deps at the start of the execution: the deps in `state` are newer. */
  readonly deps: JsonObject;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  /** The number of executions of the run, including this one. */
  readonly executions: number;
  readonly inbox: Inbox;
  /** Decisions whose approver is being checked, by id. */
  readonly authorizing: ReadonlyMap<string, Decision>;
  /** The definitions that activities are waiting for because workers lack them. Absent if there are none. */
  readonly missing?: readonly Missing[];
  /** The input of a program, and its document if it is part of the input. Present in the first execution. */
  readonly programInput?: NonNullable<StepValuesAnswer['program']>;
  /** The agent that came with the run's input. Present in the first execution. */
  readonly document?: AgentDocument;
  /** The text of the run's input. Present in the first execution. */
  readonly input?: string;
  /** The identity on whose behalf the run acts. Present in the first execution. */
  readonly principal?: Principal;
  /**
   * The burst in progress, and the time when it began, in milliseconds since the epoch. `isCancelled`: the run, or its turn, is cancelled.
   */
  readonly burst?: { readonly begunAt: number; readonly isCancelled: boolean };
  /** Undefined until the agent is resolved, like the state. */
  readonly snapshot?: AgentSnapshot;
  readonly state?: RunState;
  /** Present once the run has ended, if its worker has a `notifyEnded`. */
  readonly result?: RunResultFields;
}

/** Bytes of the largest item that fits into an answer along with the other fields. An event with two hundred results is larger. */
const MAX_ITEM_BYTES = 1_250_000;

/**
 * Returns the items from index `from` on that fit into one answer, or into the given bytes. The list is empty if the first is too large for
 * any answer: the caller then reads it from the history, which has it in parts.
 */
export function page<Item>(items: readonly Item[], from: number, most = MAX_ITEM_BYTES): Item[] {
  const fitting: Item[] = [];
  let bytes = 0;
  for (const item of items.slice(Math.max(0, from))) {
    bytes += jsonBytes(item);
    if (bytes > (fitting.length === 0 ? most : Math.min(most, PAGE_BYTES))) break;
    fitting.push(item);
  }
  return fitting;
}

// Shared state: the progress of a run.

/** The part of a run's status that its state contains: without ids, times, the queue, and waits outside of the loop. */
type RunProgress = Omit<
  StatusView,
  | 'version'
  | 'runId'
  | 'agentName'
  | 'about'
  | 'status'
  | 'executions'
  | 'queued'
  | 'session'
  | 'children'
  | 'waitingChildren'
  | 'missing'
  | 'running'
  | 'startTime'
>;

/** Returns the progress of a run with this state, or, without a state, of a run that has not begun. */
export function progressOf(state: RunState | undefined): RunProgress {
  if (state === undefined) {
    return { currentStep: 0, usage: noUsage(), toolCallsTotal: 0, toolCallsStarted: 0, events: 0, waitingFor: [] };
  }
  const { context, limits, usage, toolCallsTotal, toolCallsNotRun, window, approvals, lastError } = state;
  return {
    currentStep: context.currentStep,
    usage,
    toolCallsTotal,
    ...defined({ toolCallsNotRun }),
    toolCallsStarted: usedAmounts(state).toolCalls,
    events: window.through,
    waitingFor: approvals.pending.map(({ toolName }) => toolName),
    ...defined({ postponed: state.postponed }),
    limits,
    ...points.statusParts(state),
    ...defined({ lastError }),
  };
}

// Shared state: pending decisions as shown to people.

/** The maximum bytes of JSON of a call's arguments in a list of pending approvals. */
const MAX_ARGUMENT_BYTES = 20_000;

/**
 * Returns the pending approvals in the order of their requests, with everything that an approver needs to decide them. Large arguments are
 * cut, unless `isWhole` is set.
 */
export function approvalViews(
  state: Pick<RunState, 'approvals' | 'window' | 'slices' | 'snapshot' | 'rewrites'>,
  { isWhole = false }: { isWhole?: boolean } = {},
): ApprovalView[] {
  const { approvals, snapshot } = state;
  return approvals.pending.map((waiting) => {
    const tool = waiting.kind === 'limit' ? undefined : snapshot.tools.find(({ name }) => name === waiting.toolName);
    const answer = waiting.kind === 'question' ? tool?.answer : undefined;
    return {
      ...withIsoTimes(waiting),
      ...(isWhole ? { arguments: argumentsOf(state, waiting) } : boundedArguments(argumentsOf(state, waiting))),
      ...defined({ answer }),
      ...subjectOf(snapshot, tool),
    };
  });
}

/** The maximum bytes of JSON of a call's schema, and of its tool's description, in a list of pending approvals. */
const MAX_SCHEMA_BYTES = 20_000;
const MAX_DESCRIPTION_BYTES = 2_000;

/** Returns the information about a call's tool that an approver needs. */
function subjectOf({ name }: AgentSnapshot, tool: ToolSnapshot | undefined): Pick<ApprovalView, 'agentName' | 'description' | 'schema'> {
  if (tool === undefined) return {};
  const { description, schema } = tool;
  return {
    agentName: name,
    description: utf8Prefix(description, MAX_DESCRIPTION_BYTES),
    ...(jsonBytes(schema) > MAX_SCHEMA_BYTES ? {} : { schema }),
  };
}

/**
 * Returns the proposal for a limit, otherwise the arguments of the call, which is in the window while it has no result. A started call may
 * have been approved with edited arguments.
 */
export function argumentsOf(
  state: Pick<RunState, 'approvals' | 'window' | 'slices' | 'rewrites'>,
  { kind, callId, proposal, key }: PendingApproval,
): JsonObject {
  if (kind === 'limit') return { ...proposal };
  const approved = state.approvals.approved.find((one) => one.callId === callId);
  if (approved?.arguments !== undefined) return approved.arguments;
  const rewritten = rewrittenArguments(state, callId);
  if (rewritten !== undefined) return rewritten;
  const { eventId, index } = placeOfKey(key);
  const call = findEvent(state, eventId)?.content[index];
  return call?.type === 'tool_call' ? call.arguments : {};
}

/** Returns a pending approval with formatted times. Its reason says how an answer was lost. */
function withIsoTimes({ requestedAt, deadlineAt, lost: _, ...waiting }: PendingApproval): Omit<ApprovalView, 'arguments'> {
  return { ...waiting, requestedAt: isoTime(requestedAt), ...(deadlineAt === undefined ? {} : { deadlineAt: isoTime(deadlineAt) }) };
}

function boundedArguments(whole: JsonObject): Pick<ApprovalView, 'arguments' | 'argumentsCut'> {
  if (jsonBytes(whole) <= MAX_ARGUMENT_BYTES) return { arguments: whole };
  return { arguments: { text: jsonTextPrefix(JSON.stringify(whole), MAX_ARGUMENT_BYTES) }, argumentsCut: true };
}
