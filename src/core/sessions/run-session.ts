import { summaryModelOf } from '../domain/agent.ts';
import { cutText } from '../domain/byte-budgets.ts';
import { callText, type KeptAgent, type NextTurnInput, type ReadCallInput, type Resolved } from '../domain/children.ts';
import { defined } from '../domain/json.ts';
import {
  type LimitChanges,
  limitNumbers,
  limitValues,
  narrowLimits,
  type RunLimits,
  shouldCompact,
  toolLimitName,
} from '../domain/limits.ts';
import type { RunResultFields } from '../domain/result.ts';
import { parentOf } from '../domain/run-input.ts';
import { type MessageContent, noteCall, turnOfCall, type TurnResultFields } from '../domain/sessions.ts';
import { oneLine } from '../domain/text.ts';
import { addRunUsage, noUsage } from '../domain/usage.ts';
import { BEGINNING, closeRun, closeUnstarted, type LoopEnd, runTurn, type TurnEnd } from '../kernel/run-loop.ts';
import { points } from '../kernel/points.ts';
import { forgetKept, keptAgents } from '../capabilities/children/children.ts';
import { type CompactionPorts, shortenConversation, type SummaryOutcome } from '../capabilities/compaction.ts';
import { fitsContinueAsNew, isCutIfCarried } from '../kernel/continue-as-new.ts';
import { firstAgent, handoffCount } from '../capabilities/handoffs.ts';
import { raiseLimits, recordFailedCall, spend } from '../kernel/limits.ts';
import { takeMessages, takeRequests } from '../kernel/messages.ts';
import { endCancelled, type Ending, type RunPosition } from '../kernel/next-step.ts';
import type { RunPorts } from '../kernel/ports.ts';
import type { Inbox } from '../kernel/inbox.ts';
import { noteError, recordEvent, type RunState } from '../kernel/run-state.ts';
import {
  addUsageByAgent,
  forgetInterrupt,
  interruptOf,
  interruptTurn,
  isClosing,
  nextTurnOf,
  noteTurnEnd,
  type OpenSession,
  spentBySession,
  stateOf,
  takeNextTurn,
  withTurn,
} from './open-session.ts';

/**
 * Runs a session: a turn for the messages that have arrived, then a wait without a timer for the next ones. An error, a limit, a check or
 * an interrupt ends the turn, not the session. Pure, like the loop of a run.
 */
export async function runSession(state: OpenSession, ports: SessionPorts, from: RunPosition): Promise<LoopEnd> {
  const session = stateOf(state);
  let position = session.turn === undefined && !session.opens ? IDLE : from;
  for (;;) {
    if (position.type === 'idle') {
      const woken = await waitForMessage(state, ports);
      if (woken === 'continue') {
        session.refreshDue = true;
        return { type: 'continue', position };
      }
      if (woken === 'ended') return { type: 'finished', result: closeSession(state, ports) };
      position = BEGINNING;
    }
    if (await answeredBefore(state, ports)) {
      position = IDLE;
      continue;
    }
    const at = position;
    const end = await ports.withinTurn(async () => {
      const ended = session.turn === undefined ? await openTurn(state, ports) : undefined;
      return unlessInterrupted(state, ports, ended ?? (await runTurn(state, ports, at)));
    });
    if (end.type === 'continue') {
      // The next execution may run on a worker of another build: the agent is resolved again before the next turn.
      session.refreshDue = true;
      return end;
    }
    await ports.endChildren(state);
    const { turn, call, status } = endTurn(state, ports, end.ending);
    ports.recorded?.(state);
    const parent = parentOf(state);
    if (parent?.kept) await ports.turnEnded(parent.runId, turn, call);
    if (status === 'completed') noteAnswer(state);
    position = IDLE;
  }
}

/**
 * True if the parent's message repeats the question of an ended turn, as a parent that was reset does. The parent is notified again of the end
 * of that turn.
 */
async function answeredBefore(state: OpenSession, ports: SessionPorts): Promise<boolean> {
  const session = stateOf(state);
  const parent = parentOf(state);
  const of = session.turn === undefined ? nextTurnOf(ports.inbox)?.of : undefined;
  const turn = of === undefined ? undefined : turnOfCall(session, callText(of));
  if (of === undefined || turn === undefined || parent === undefined) return false;
  takeNextTurn(ports.inbox);
  await ports.turnEnded(parent.runId, turn, callText(of));
  return true;
}

/**
 * Begins a turn with the messages that it answers. Returns the turn's end if the parent's message cannot be read, or an unread message of
 * an earlier turn must not be.
 */
async function openTurn(state: OpenSession, ports: SessionPorts): Promise<TurnEnd | undefined> {
  const refreshes = isRefreshDue(state, ports.now());
  const next = stateOf(state).opens ? undefined : takeNextTurn(ports.inbox);
  const { queued } = ports.inbox;
  beginTurn(state, ports, next?.turn);
  if (next?.of !== undefined) noteCall(stateOf(state), callText(next.of), stateOf(state).turns);
  if (next?.givenUp !== undefined) {
    interruptTurn(ports.inbox, next.givenUp);
    return endCancelled(state);
  }
  const ending = next && (await readNextTurn(state, ports, next));
  if (ending !== undefined) return { type: 'finish', ending };
  if (refreshes) await refreshAgent(state, ports);
  const blocked = await compactAfterTurns(state, ports);
  // However the turn ends, it has taken the messages that it began with: the next turn must not begin with them again. Messages that
  // arrived after an interrupt are left to the next turn.
  takeMessages(state, ports, ports.cancelRequested() ? queued : undefined);
  return blocked;
}

/**
 * Returns the end of a turn. It is cancelled if a caller has interrupted it, as the caller's receipt says, even if the answer arrived in
 * the same task. A call whose worker dies while it is being cancelled fails.
 */
function unlessInterrupted(state: OpenSession, ports: SessionPorts, end: TurnEnd): TurnEnd {
  if (end.type === 'continue' || end.ending.status === 'cancelled') return end;
  const isInterrupted = interruptOf(ports.inbox) !== undefined || (end.ending.status === 'error' && ports.cancelRequested());
  if (!isInterrupted) return end;
  state.context.finalResult = null;
  return endCancelled(state);
}

const IDLE: RunPosition = { type: 'idle' };

/** Closes a session: its output is the last turn's answer, and its amounts are the sums of all turns. */
function closeSession(state: OpenSession, ports: SessionPorts): RunResultFields {
  takeMessages(state, ports);
  const session = stateOf(state);
  const { runId } = state;
  const output = session.output === undefined ? state.thought : session.output;
  const ending: Ending = ports.cancelRequested()
    ? { status: 'cancelled', stopReason: 'cancelled', output }
    : { status: 'completed', stopReason: 'closed', output };
  state.status = ending.status;
  return {
    ...closeUnstarted({ runId, agentName: firstAgent(state), startedAt: session.startedAt }, ports, ending),
    steps: state.steps,
    ...spentBySession(state),
    limits: limitValues(state.limits),
    turns: session.turns,
    ...agentsOfSession(state),
  };
}

/** Returns the last agent of a session and the usage of each agent, if it was handed over. */
function agentsOfSession(state: OpenSession): Pick<RunResultFields, 'lastAgent' | 'usageByAgent'> {
  const { usageByAgent } = stateOf(state);
  return usageByAgent === undefined ? {} : { lastAgent: state.snapshot.name, usageByAgent: Object.fromEntries(usageByAgent) };
}

/**
 * Compacts the conversation of a session after some turns, even if its window is not full: long conversations cost tokens with each answer.
 * A failed summary is retried in a later turn. Returns the end of the turn if the conversation must not be compacted.
 */
async function compactAfterTurns(state: OpenSession, ports: CompactionPorts): Promise<TurnEnd | undefined> {
  const session = stateOf(state);
  const { snapshot } = state;
  if (snapshot.window?.summarize !== true || !shouldCompact(session, session.turns - session.compactedAt)) return undefined;
  // A turn that was interrupted may have left messages that no model has read.
  const blocked = await points.beforeRoomIsMade(state, ports);
  if (blocked?.type === 'finish') return blocked;
  // The beginning turn is the first one after the compaction.
  session.compactedAt = session.turns - 1;
  await shortenConversation(state, ports);
  return undefined;
}

/** The time without a turn after which the agent is resolved again, in milliseconds. */
const REFRESH_AFTER_MS = 3_600_000;

/** True if the agent is resolved again before this turn: a caller has requested it, or its definition may have changed since. */
function isRefreshDue(state: OpenSession, now: number): boolean {
  const session = stateOf(state);
  // In a run that was handed over, every agent is pinned.
  if (session.refresh === 'never' || handoffCount(state) > 0) return false;
  return session.refreshDue === true || now - (session.idleSince ?? now) >= REFRESH_AFTER_MS;
}

/**
 * Resolves the agent again. If that fails, for example because the deps no longer fit, the agent stays unchanged, and the failure is
 * recorded.
 */
async function refreshAgent(state: OpenSession, ports: SessionPorts): Promise<void> {
  const session = stateOf(state);
  const { snapshot } = state;
  // A caller may request it again meanwhile: the worker may have read the definition before that.
  delete session.refreshDue;
  const resolved = await ports.refreshAgent();
  if (resolved.type === 'cancelled') {
    session.refreshDue = true;
    return;
  }
  if (resolved.type === 'failed') {
    const { code, message } = resolved;
    noteError(state, `Agent "${snapshot.name}" stays as it was: ${message}`);
    recordEvent(state, ports, { author: snapshot.name, content: [], refresh: { failed: { code, message } } });
    return;
  }
  const { notices } = resolved;
  const { digest } = resolved.snapshot;
  if (digest === snapshot.digest) return;
  state.snapshot = resolved.snapshot;
  takeLimits(state, resolved.snapshot.limits);
  // The provider counted the tokens of a different request.
  delete state.measured;
  points.agentRefreshed(state, snapshot);
  ports.switchAgent(resolved.snapshot);
  recordEvent(state, ports, { author: snapshot.name, content: [], refresh: { digest }, ...defined({ notices }) });
}

/** Gives the turn these limits, such as those of an agent that was resolved again. A limit that was raised for the turn is not lowered. */
function takeLimits(state: OpenSession, limits: RunLimits): void {
  const session = stateOf(state);
  const raises = raisesBetween(session.unraised ?? state.limits, state.limits, limits);
  state.limits = limits;
  delete session.unraised;
  raiseLimits(state, raises);
}

/** Returns the raised limits that the next limits have, too, but with lower values. */
function raisesBetween(before: RunLimits, after: RunLimits, next: RunLimits): LimitChanges {
  const [old, now] = [limitNumbers(before), limitNumbers(next)];
  const { toolCallsByName = {}, ...others } = after;
  const isRaise = ([name, value]: [string, number]): boolean => value !== old.get(name) && value > (now.get(name) ?? Infinity);
  const byTool = Object.entries(toolCallsByName).filter(([tool, value]) => isRaise([toolLimitName(tool), value]));
  const numbers = Object.entries(others).filter((entry): entry is [string, number] => typeof entry[1] === 'number');
  return {
    ...Object.fromEntries(numbers.filter(isRaise)),
    ...(byTool.length === 0 ? {} : { toolCallsByName: Object.fromEntries(byTool) }),
  };
}

/**
 * Begins a turn: the counts of the agent's limits start at zero, and the conversation continues. `number`: the turn's number, if the parent
 * has given up earlier turns.
 */
function beginTurn(state: OpenSession, ports: Pick<RunPorts, 'now' | 'inbox'>, number = 0): void {
  const session = stateOf(state);
  const { context } = state;
  session.turns = Math.max(session.turns + 1, number);
  ports.inbox.leaveTo(session.turns);
  session.turn = { number: session.turns, stepsBefore: context.currentStep };
  delete session.opens;
  context.finalResult = null;
  state.status = 'running';
  state.startedAt = ports.now();
  state.usage = noUsage();
  state.toolCallsTotal = 0;
  state.toolCallsByName = new Map();
  delete state.toolCallsNotRun;
  state.toolCallsStarted = new Map();
  state.modelRetries = new Map();
  state.outputRetries = 0;
  state.thought = '';
  delete state.partial;
  delete state.lastStep;
  delete state.lastError;
  points.turnBegins(state);
}

/** Ends a turn, successfully or not: afterwards the session is idle. Calls that wait for a decision are given up. */
function endTurn(state: OpenSession, ports: RunPorts, ending: Ending): TurnResultFields {
  const session = stateOf(state);
  const { number, stepsBefore } = session.turn ?? { number: session.turns, stepsBefore: state.context.currentStep };
  state.approvals.pending = [];
  points.turnEnds(state);
  const { steps: _, ...result } = closeRun(state, ports, ending);
  const { cancelReason } = interruptOf(ports.inbox) ?? {};
  const unread = ports.inbox.leaveTo(number + 1);
  const unanswered = unread.length === 0 ? {} : { unanswered: unread };
  const call = session.calls?.findLast(([, turn]) => turn === number)?.[0];
  const turn: TurnResultFields = {
    ...result,
    ...defined({ cancelReason, call }),
    turn: number,
    firstStep: stepsBefore + 1,
    ...unanswered,
  };
  addUsageByAgent(session, firstAgent(state), result.usageByAgent);
  session.spent = withTurn(session.spent, result);
  // The next execution knows this text, but no turn results.
  if (result.output === state.thought) delete session.output;
  else session.output = result.output;
  delete session.turn;
  state.limits = session.unraised ?? state.limits;
  delete session.unraised;
  session.idleSince = ports.now();
  forgetInterrupt(ports.inbox);
  state.status = 'idle';
  const { status, stopReason, error } = ending;
  recordEvent(state, ports, {
    author: state.snapshot.name,
    content: [],
    turn: { number, status, stopReason, ...defined({ error: error?.message }), ...unanswered },
  });
  noteTurnEnd(state, turn);
  return turn;
}

/** Why the wait has ended. `ended`: the session is closed or cancelled. `continue`: it continues as new, and waits there. */
type Woken = 'message' | 'ended' | 'continue';

/** Waits without a timer until there is a message to answer. */
async function waitForMessage(state: OpenSession, ports: SessionPorts): Promise<Woken> {
  const session = stateOf(state);
  const { inbox } = ports;
  let title: ReturnType<typeof beginTitle>;
  for (;;) {
    const { received } = inbox;
    if (session.resetDue && !ports.cancelRequested()) {
      // It would be the title of the emptied conversation.
      if (title !== undefined) giveUpTitle(state, ports, title);
      title = undefined;
      await clearConversation(state, ports);
    }
    const woken = wokenBy(state, ports);
    if (woken !== undefined) {
      // Even if its answer arrived in the same task: a message takes precedence.
      if (title !== undefined) giveUpTitle(state, ports, title);
      return woken;
    }
    takeRequests(state, ports);
    if (state.status !== 'idle') {
      state.status = 'idle';
      ports.recorded?.(state);
    }
    if (title?.outcome !== undefined) {
      recordTitle(state, ports, title.outcome);
      title = undefined;
      ports.recorded?.(state);
    }
    if (continuesBeforeSleep(state, ports)) {
      if (title !== undefined) giveUpTitle(state, ports, title);
      return 'continue';
    }
    title ??= beginTitle(state, ports);
    await ports.until(() => wokenBy(state, ports) !== undefined || inbox.received > received || title?.outcome !== undefined);
  }
}

function wokenBy(state: OpenSession, ports: SessionPorts): Woken | undefined {
  if (ports.cancelRequested()) return 'ended';
  if (hasMessage(state, ports.inbox)) return 'message';
  return isClosing(ports.inbox) ? 'ended' : undefined;
}

/** True if the session continues as new before it waits. A state that is too large to be carried stays: the next turn compacts it. */
function continuesBeforeSleep(state: OpenSession, ports: SessionPorts): boolean {
  if (!ports.continueBeforeSleep()) return false;
  points.beforeContinuing(state);
  return fitsContinueAsNew(state);
}

/**
 * Empties the conversation that the model sees, and the conversations of the agents that the session keeps. The record keeps it; the
 * session's deps, state, turns and limits stay.
 */
async function clearConversation(state: OpenSession, ports: SessionPorts): Promise<void> {
  const session = stateOf(state);
  delete session.resetDue;
  // The answer of the last turn is the output of the session, and the emptied conversation no longer has it.
  if (session.output === undefined && isCutIfCarried(state.thought)) session.output = state.thought;
  clearWindow(state, ports);
  const kept = keptAgents(state);
  if (kept.length === 0) return;
  forgetKept(state);
  await ports.closeKept(kept);
}

function clearWindow(state: OpenSession, ports: SessionPorts): void {
  const session = stateOf(state);
  const { snapshot, window } = state;
  if (window.events.length === 0) return;
  recordEvent(state, ports, { author: snapshot.name, content: [], cleared: true, compaction: { summarized: { head: null, tail: null } } });
  session.compactedAt = session.turns;
  delete session.refusal;
  delete session.titleDue;
  delete state.measured;
  points.conversationCleared(state);
}

/** True if there is a message to answer. A kept session answers only its parent: other messages wait for its next turn. */
function hasMessage(state: OpenSession, inbox: Inbox): boolean {
  return parentOf(state)?.kept ? nextTurnOf(inbox) !== undefined : inbox.queued > 0;
}

/**
 * Records the parent's message, and gives the turn the share of the limits in the message. Returns the ending of the turn if the message
 * cannot be read.
 */
async function readNextTurn(state: OpenSession, ports: SessionPorts, next: NextTurnInput): Promise<Ending | undefined> {
  applyLimits(state, ports, next);
  // Awaited only on demand: in the sandbox every promise costs a stack trace.
  const message: MessageContent =
    next.content === undefined ? await readMessage(state, ports, next) : { type: 'read', content: next.content };
  if (message.type === 'cancelled') return { status: 'cancelled', stopReason: 'cancelled', output: '' };
  if (message.type === 'failed') {
    const { code, message: problem } = message;
    noteError(state, problem);
    return { status: 'error', stopReason: 'error', output: '', error: { code, message: problem } };
  }
  points.messagesTaken(state);
  recordEvent(state, ports, { author: 'user', content: [{ type: 'message', role: 'user', content: message.content }] });
  return undefined;
}

/** Gives the turn its share of the limits, and the parent's policies. Limits that were raised for the turn stay raised, within the share. */
function applyLimits(state: OpenSession, ports: SessionPorts, next: NextTurnInput): void {
  const { left, runs } = next;
  const parent = parentOf(state);
  if (parent === undefined) return;
  if (left === undefined) delete parent.left;
  else parent.left = left;
  if (parent.tree !== undefined) parent.tree = { ...parent.tree, runs };
  takeLimits(state, narrowLimits(stateOf(state).unshared ?? state.snapshot.limits, left));
  state.limits = narrowLimits(state.limits, left);
  if (points.takesRules(state, next)) ports.switchAgent(state.snapshot);
}

function readMessage(state: OpenSession, ports: SessionPorts, { of }: NextTurnInput): Promise<MessageContent> {
  const { runId } = state;
  const parent = parentOf(state);
  if (of !== undefined && parent !== undefined) return ports.readMessage({ runId: parent.runId, ...of });
  return Promise.resolve({ type: 'failed', code: 'internal', message: `The message to session "${runId}" has no content` });
}

/** The maximum bytes of a title. */
const TITLE_BYTES = 120;

/** The maximum number of calls for a title: a message that arrives meanwhile ends a call. */
const MOST_CALLS = 3;

/** Requests a title before the next message, if the session generates titles and a turn has given an answer. */
function noteAnswer(state: OpenSession): void {
  const session = stateOf(state);
  if (session.generateTitle) session.titleDue = true;
}

/**
 * Begins the model call for a session's title, during the wait for the next message. Its cost counts for the session, but not for a turn.
 */
function beginTitle(state: OpenSession, ports: SessionPorts): BackgroundWork<SummaryOutcome> | undefined {
  const session = stateOf(state);
  const { window } = state;
  if (!session.titleDue) return undefined;
  delete session.titleDue;
  session.titleCalls = (session.titleCalls ?? 0) + 1;
  if (session.titleCalls >= MOST_CALLS) delete session.generateTitle;
  const { through, lastEventId, events } = window;
  const request = { through, lastEventId, head: null, tail: null, events: events.length, maxBytes: TITLE_BYTES, purpose: 'title' } as const;
  return ports.inBackground(() => ports.summarize(request));
}

/** Sets the title from the call. If the call failed, the session has no title. */
function recordTitle(state: OpenSession, ports: SessionPorts, outcome: SummaryOutcome): void {
  if (outcome.type === 'cancelled') return;
  const session = stateOf(state);
  const { snapshot } = state;
  delete session.generateTitle;
  besideTurns(state, (model) => {
    if (outcome.type === 'failed') {
      noteError(state, `The session has no title: ${outcome.message}`);
      recordFailedCall(state, ports, model, outcome);
      return;
    }
    const { id, text, usage, failedAttempts, answeredBy } = outcome;
    const title = cutText(oneLine(text, TITLE_BYTES), TITLE_BYTES);
    const spending = spend(state, { model: answeredBy ?? model, usage, answer: text, failedAttempts });
    session.title = title;
    session.titled = true;
    recordEvent(state, ports, { id, author: snapshot.name, content: [], title, ...spending, ...defined({ answeredBy }) });
  });
}

/** Gives up the call, because nothing may wait for a title. Its cost is estimated. The next answer begins another call. */
function giveUpTitle(state: OpenSession, ports: SessionPorts, call: BackgroundWork<SummaryOutcome>): void {
  call.giveUp();
  besideTurns(state, (model) => {
    const spending = spend(state, { model, usage: null, answer: '' });
    recordEvent(state, ports, { author: state.snapshot.name, content: [], ...spending, interrupted: true });
  });
}

/** Records a call of the title model, whose cost counts for the session, but not for a turn. */
function besideTurns(state: OpenSession, record: (model: string) => void): void {
  const session = stateOf(state);
  const { snapshot } = state;
  const ofTurn = state.usage;
  state.usage = noUsage();
  record(summaryModelOf(snapshot));
  if (session.usageByAgent !== undefined) addUsageByAgent(session, snapshot.name, { [snapshot.name]: state.usage });
  session.spent = { ...session.spent, usage: addRunUsage(session.spent.usage, state.usage) };
  state.usage = ofTurn;
}

/** Work during the wait for a message. */
export interface BackgroundWork<Outcome> {
  /** Undefined until the work has ended. */
  readonly outcome: Outcome | undefined;
  /** Gives up the work: its outcome is ignored. */
  giveUp(): void;
}

/** Every effect of a session. */
export interface SessionPorts extends CompactionPorts {
  /** True if a session should continue as new before it waits, because waking it up would replay a long history. */
  continueBeforeSleep(): boolean;
  /** Runs a turn of a session, which an interrupt cancels: during the turn, `cancelRequested` is also true after an interrupt. */
  withinTurn<Result>(run: () => Promise<Result>): Promise<Result>;
  /** Begins work that runs while the session waits for a message. It must not reject. */
  inBackground<Outcome>(work: () => Promise<Outcome>): BackgroundWork<Outcome>;
  /** Resolves the session's agent again, with the session's current deps. */
  refreshAgent(): Promise<Resolved>;
  /** Reads a message that is too large to be stored again from the parent's call. */
  readMessage(call: ReadCallInput): Promise<MessageContent>;
  /** Notifies the parent of the end of a turn, which answers `call`. */
  turnEnded(runId: string, turn: number, call: string | undefined): Promise<void>;
  /** Closes sessions that this session keeps. A running turn ends first. */
  closeKept(kept: readonly KeptAgent[]): Promise<void>;
  /** Called at the end of a session's turn: cancels the children that no step waits for any more. */
  endChildren(state: RunState): Promise<void>;
}

/** Begins work during a session's wait in an environment that cannot cancel it: its outcome is dropped once it is given up. */
export function begunWork<Outcome>(work: () => Promise<Outcome>): BackgroundWork<Outcome> {
  let outcome: Outcome | undefined;
  void work().then((ended) => (outcome = ended));
  return {
    get outcome() {
      return outcome;
    },
    giveUp: () => undefined,
  };
}
