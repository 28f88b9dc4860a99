import { DEFAULT_SESSION_LIMITS, type SessionLimits } from '../domain/sessions/session-limits.ts';
import { dollars } from '../domain/model/dollars.ts';
import { addRunUsage } from '../domain/model/usage.ts';
import type { OpenSession } from './open-session.ts';
import { spentBySession } from './spent.ts';

/** Returns the limits of a session, with the defaults. */
export function limitsOf({ session }: Pick<OpenSession, 'session'>): Required<SessionLimits> {
  return { ...DEFAULT_SESSION_LIMITS, ...session.limits };
}

/** Returns the limit that a session has reached, for a person to read; undefined if it may take another turn. */
export function sessionLimitReached(state: OpenSession, now: number): string | undefined {
  const { turns, totalTokens, costUsd, deadlineMs } = limitsOf(state);
  const { session } = state;
  // A message that arrives during a turn belongs to that turn.
  if (session.turn === undefined && turns !== null && session.turns >= turns) return `${session.turns} of ${turns} turns are used`;
  const { usage: own, below } = spentBySession(state);
  const usage = below === undefined ? own : addRunUsage(own, below.usage);
  const tokens = usage.totalTokens + (usage.estimated?.totalTokens ?? 0);
  if (totalTokens !== null && tokens >= totalTokens) return `${tokens} of ${totalTokens} tokens are used`;
  const cost = (usage.costUsd ?? 0) + (usage.estimated?.costUsd ?? 0);
  if (costUsd !== null && cost >= costUsd) return `${dollars(cost)} of ${dollars(costUsd)} are spent`;
  if (deadlineMs !== null && now >= session.startedAt + deadlineMs) return `its deadline of ${deadlineMs / 1000} s from its start is over`;
  return undefined;
}
