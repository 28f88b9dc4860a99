import { checkSessionLimits, DEFAULT_SESSION_LIMITS, type SessionLimits } from '../domain/limits.ts';
import { type SessionLimitReached, sessionTotals } from '../domain/sessions.ts';
import { dollars } from '../domain/usage.ts';
import type { OpenSession } from './open-session.ts';
import { spentBySession } from './spent.ts';

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
