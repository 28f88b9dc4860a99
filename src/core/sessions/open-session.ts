import { defined } from '../domain/defined.ts';
import { checkSessionLimits, DEFAULT_SESSION_LIMITS, type SessionLimits } from '../domain/limits.ts';
import type { SessionInput } from '../domain/run-input.ts';
import {
  type SessionLimitReached,
  type SessionOverrides,
  type SessionState,
  sessionTotals,
  type SpentByTurns,
} from '../domain/sessions.ts';
import { addNotRun } from '../domain/tool-calls.ts';
import { addRunUsage, dollars, noUsage, type SpentByDescendants } from '../domain/usage.ts';
import { countsOf } from '../kernel/run-loop.ts';
import type { RunState } from '../kernel/run-state.ts';

export type OpenSession = RunState & { session: SessionState };

export function isSession(state: RunState): state is OpenSession {
  return state.session !== undefined;
}

/** The beginning of a session, besides its input. */
interface SessionBeginning {
  /** Milliseconds since the epoch. */
  startedAt: number;
  /** The first messages are to be answered. */
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

/** Returns the limits of a session, with the defaults. */
export function limitsOf({ session }: Pick<OpenSession, 'session'>): Required<SessionLimits> {
  return { ...DEFAULT_SESSION_LIMITS, ...session.limits };
}

/** Returns the limit that a session has reached; undefined if it may take another turn. */
export function sessionLimitReached(state: OpenSession, now: number): SessionLimitReached | undefined {
  const { session } = state;
  const limits = limitsOf(state);
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

/** Returns the amounts of a session without turns. */
function nothingSpent(): SpentByTurns {
  return { stepsUsed: 0, usage: noUsage(), toolCallsTotal: 0, toolCallsByName: {} };
}

/** Returns the amounts with those of one more turn. */
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

function addSpent(before: SpentByDescendants | undefined, { usage, toolCalls, runs }: SpentByDescendants): SpentByDescendants {
  if (before === undefined) return { usage, toolCalls, runs };
  return { usage: addRunUsage(before.usage, usage), toolCalls: before.toolCalls + toolCalls, runs: before.runs + runs };
}

/** Returns the amounts of all turns of a session, the current one included. */
export function spentBySession(state: RunState): SpentByTurns {
  const { session } = state;
  if (session === undefined) return countsOf(state);
  return session.turn === undefined ? session.spent : withTurn(session.spent, countsOf(state));
}
