import { defined } from '../domain/json.ts';
import { checkSessionLimits, DEFAULT_SESSION_LIMITS, type SessionLimits } from '../domain/limits.ts';
import type { SessionInput } from '../domain/run-input.ts';
import {
  type CloseRequest,
  endedTurns,
  SESSION,
  type SessionLimitReached,
  type SessionOverrides,
  type SessionState,
  sessionTotals,
  type SpentByTurns,
  type TurnInterrupt,
  type TurnResultFields,
  TURNS,
} from '../domain/sessions.ts';
import { addNotRun } from '../domain/tool-calls.ts';
import { addRunUsage, type AggregatedUsage, dollars, noUsage, type SpentByDescendants } from '../domain/usage.ts';
import type { NextTurnInput } from '../domain/children.ts';
import { jsonBytes } from '../domain/byte-budgets.ts';
import { anyObject, listOf } from '../domain/shape.ts';
import { countsOf } from '../kernel/run-loop.ts';
import { type RunState, slice, type Slices, type WithSlices } from '../kernel/run-state.ts';

/** The turns, limits and amounts of a session. Absent for a run that ends with its answer. */
const opened = slice<SessionState>(SESSION, anyObject<SessionState>(), { bytes: jsonBytes });

/** The results of the turns that ended in this execution: earlier ones are in earlier histories. */
const turnResults = slice<TurnResultFields[]>(TURNS, listOf(anyObject<TurnResultFields>()), { isPassing: true });

/** Set once a caller has closed the session: it ends with its current turn. */
const closing = slice<CloseRequest>('closing', anyObject<CloseRequest>());

/** Set once a caller has interrupted the current turn. */
const turnInterrupt = slice<TurnInterrupt>('turnInterrupt', anyObject<TurnInterrupt>());

/** The message from the parent that keeps the session, before its turn begins. */
const nextTurn = slice<KeptMessage>('nextTurn', anyObject<KeptMessage>());

/** The message that begins the next turn of a kept session. */
interface KeptMessage extends NextTurnInput {
  /** The parent has given up the turn before it began. */
  givenUp?: TurnInterrupt;
}

type OfInbox = Required<WithSlices>;

export const SESSION_SLICES = [opened, turnResults, closing, turnInterrupt, nextTurn] as const;

/** True once a caller has closed the session. */
export function isClosing(inbox: WithSlices): boolean {
  return closing.of(inbox) !== undefined;
}

/** Closes the session after its turn. */
export function closeAfterTurn(inbox: OfInbox, by: CloseRequest): void {
  closing.set(inbox, by);
}

/** Returns the request to interrupt the current turn, or undefined. */
export function interruptOf(inbox: WithSlices): TurnInterrupt | undefined {
  return turnInterrupt.of(inbox);
}

/** Interrupts the current turn. */
export function interruptTurn(inbox: OfInbox, request: TurnInterrupt): void {
  turnInterrupt.set(inbox, request);
}

/** Drops the requests about an ended turn. */
export function forgetInterrupt(inbox: OfInbox): void {
  turnInterrupt.clear(inbox);
}

/** Returns the message from the parent that keeps the session, before its turn begins. */
export function nextTurnOf(inbox: WithSlices): KeptMessage | undefined {
  return nextTurn.of(inbox);
}

/** Keeps the parent's message until its turn begins. */
export function keepNextTurn(inbox: OfInbox, next: NextTurnInput): void {
  nextTurn.set(inbox, next);
}

/** Ends the parent's turn as soon as it begins: only the end of a turn tells the parent, which waits for it. */
export function giveUpNextTurn(inbox: OfInbox, request: TurnInterrupt): void {
  const next = nextTurn.of(inbox);
  if (next !== undefined) nextTurn.set(inbox, { ...next, givenUp: request });
}

/** Removes and returns the message from the parent that keeps the session. */
export function takeNextTurn(inbox: OfInbox): KeptMessage | undefined {
  const next = nextTurn.of(inbox);
  nextTurn.clear(inbox);
  return next;
}

/** A run that is a session. */
export type OpenSession = RunState & { slices: Slices & { [SESSION]: SessionState } };

export function isSession(state: RunState): state is OpenSession {
  return opened.of(state) !== undefined;
}

/** Returns the state of a session. */
export function stateOf({ slices }: Pick<OpenSession, 'slices'>): SessionState {
  return slices[SESSION];
}

/** Turns a run into a session. */
export function openAs(run: RunState, session: SessionState): void {
  opened.set(run, session);
}

/** Stores the result of an ended turn. */
export function noteTurnEnd(run: RunState, turn: TurnResultFields): void {
  turnResults.set(run, [...endedTurns(run), turn]);
}

/** The initial values of a session besides its input. */
interface SessionBeginning {
  /** Milliseconds since the epoch. */
  startedAt: number;
  /** The first messages need an answer. */
  opens: boolean;
  overrides: SessionOverrides;
}

export function beginSession(input: SessionInput, { startedAt, opens, overrides }: SessionBeginning): SessionState {
  const hasOverrides = input.refresh !== 'never' && Object.keys(overrides).length > 0;
  return {
    ...input,
    startedAt,
    turns: 0,
    spent: nothingSpent(),
    compactedAt: 0,
    ...(hasOverrides ? { overrides } : {}),
    ...(opens ? { opens: true as const } : {}),
  };
}

/** Returns the limits of a session, including defaults. */
export function limitsOf(state: Pick<OpenSession, 'slices'>): Required<SessionLimits> {
  return { ...DEFAULT_SESSION_LIMITS, ...stateOf(state).limits };
}

/** Returns the limit that a session has reached, or undefined if it may take another turn. */
export function sessionLimitReached(state: OpenSession, now: number, limits = limitsOf(state)): SessionLimitReached | undefined {
  const session = stateOf(state);
  const { tokens, cost } = sessionTotals(spentBySession(state));
  const used = {
    // A message that arrives during a turn belongs to that turn.
    turns: session.turn === undefined ? session.turns : session.turns - 1,
    totalTokens: tokens,
    costUsd: cost,
    elapsedMs: now - session.startedAt,
  };
  switch (checkSessionLimits(limits, used)) {
    case 'ok':
      return undefined;
    case 'max_turns_reached':
      return { limit: 'turns', message: `${used.turns} of ${limits.turns} turns are used` };
    case 'max_budget_reached':
      return { limit: 'totalTokens', message: `${used.totalTokens} of ${limits.totalTokens} tokens are used` };
    case 'max_cost_reached':
      return { limit: 'costUsd', message: `${dollars(used.costUsd)} of ${dollars(limits.costUsd ?? 0)} are spent` };
    case 'deadline_reached':
      return { limit: 'deadline', message: `its deadline of ${(limits.deadlineMs ?? 0) / 1000} s from its start is over` };
  }
}

/** Returns the amounts of a session before any turn. */
function nothingSpent(): SpentByTurns {
  return { stepsUsed: 0, usage: noUsage(), toolCallsTotal: 0, toolCallsByName: {} };
}

/** Returns the amounts plus those of one more turn. */
export function withTurn(before: SpentByTurns, turn: SpentByTurns): SpentByTurns {
  const byName = new Map(Object.entries(before.toolCallsByName));
  for (const [name, calls] of Object.entries(turn.toolCallsByName)) byName.set(name, (byName.get(name) ?? 0) + calls);
  const notRun = addNotRun(before.toolCallsNotRun, turn.toolCallsNotRun);
  const descendants = turn.descendants === undefined ? before.descendants : addSpent(before.descendants, turn.descendants);
  return {
    stepsUsed: before.stepsUsed + turn.stepsUsed,
    usage: addRunUsage(before.usage, turn.usage),
    toolCallsTotal: before.toolCallsTotal + turn.toolCallsTotal,
    toolCallsByName: Object.fromEntries(byName),
    ...defined({ toolCallsNotRun: notRun, descendants }),
  };
}

/**
 * Adds usage to the usage of each agent of a session. `usage`: by agent, or undefined for a turn of a session that has not been handed over.
 * `first`: the agent that has made all calls before. Call it before the usage is added to `spent`.
 */
export function addUsageByAgent(session: SessionState, first: string, usage: Record<string, AggregatedUsage> | undefined): void {
  if (usage === undefined) return;
  const sums = new Map(session.usageByAgent ?? [[first, session.spent.usage]]);
  for (const [agent, more] of Object.entries(usage)) sums.set(agent, addRunUsage(sums.get(agent) ?? noUsage(), more));
  session.usageByAgent = [...sums];
}

function addSpent(before: SpentByDescendants | undefined, { usage, toolCalls, runs }: SpentByDescendants): SpentByDescendants {
  if (before === undefined) return { usage, toolCalls, runs };
  return { usage: addRunUsage(before.usage, usage), toolCalls: before.toolCalls + toolCalls, runs: before.runs + runs };
}

/** Returns the amounts of all turns of a session, including the current one. */
export function spentBySession(state: RunState): SpentByTurns {
  const session = opened.of(state);
  if (session === undefined) return countsOf(state);
  return session.turn === undefined ? session.spent : withTurn(session.spent, countsOf(state));
}
