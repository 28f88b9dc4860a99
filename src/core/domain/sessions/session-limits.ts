/** The limits of a whole session. `null`: no limit. */
export interface SessionLimits {
  /** The number of turns. Default: no limit. */
  turns?: number | null;
  /** Prompt and completion tokens of all turns together. Default 200,000. */
  totalTokens?: number | null;
  /** US dollars. Default: no limit. */
  costUsd?: number | null;
  /** Milliseconds from the start of the session. Default: no limit. */
  deadlineMs?: number | null;
}

/** The limits of a session that names none. */
export const DEFAULT_SESSION_LIMITS = { turns: null, totalTokens: 200_000, costUsd: null, deadlineMs: null } as const;

/** The number of turns after which the conversation of a session is compacted, unless the session names another one. */
export const DEFAULT_COMPACT_AFTER = 20;

/** The amounts that a session has used so far. */
export interface SessionUsed {
  /** Turns that are complete. */
  turns: number;
  /** Prompt and completion tokens of all turns together. */
  totalTokens: number;
  /** US dollars. Default 0. */
  costUsd?: number;
  /** Milliseconds since the start of the session. Default 0. */
  elapsedMs?: number;
}

/** The first limit that a session has reached, or `ok`. */
export type SessionLimitCheck = 'ok' | 'max_turns_reached' | 'max_budget_reached' | 'max_cost_reached' | 'deadline_reached';

/** The part of the limits that is left, never below 0. `null`: no limit. */
export type SessionRemaining = Record<keyof SessionLimits, number | null>;

/**
 * Checks if a session may begin another turn. A limit is reached once the amount is as large as the limit. If several are
 * reached, the order is turns, tokens, cost, deadline.
 */
export function checkSessionLimits(limits: SessionLimits, used: SessionUsed): SessionLimitCheck {
  const left = remaining(limits, used);
  if (left.turns === 0) return 'max_turns_reached';
  if (left.totalTokens === 0) return 'max_budget_reached';
  if (left.costUsd === 0) return 'max_cost_reached';
  return left.deadlineMs === 0 ? 'deadline_reached' : 'ok';
}

/** Returns the part of the limits that a session has left. */
export function remaining(limits: SessionLimits, { turns, totalTokens, costUsd = 0, elapsedMs = 0 }: SessionUsed): SessionRemaining {
  return {
    turns: leftOf(limits.turns, DEFAULT_SESSION_LIMITS.turns, turns),
    totalTokens: leftOf(limits.totalTokens, DEFAULT_SESSION_LIMITS.totalTokens, totalTokens),
    costUsd: leftOf(limits.costUsd, DEFAULT_SESSION_LIMITS.costUsd, costUsd),
    deadlineMs: leftOf(limits.deadlineMs, DEFAULT_SESSION_LIMITS.deadlineMs, elapsedMs),
  };
}

function leftOf(limit: number | null | undefined, otherwise: number | null, used: number): number | null {
  const most = limit === undefined ? otherwise : limit;
  return most === null ? null : Math.max(0, most - used);
}

/** True once a session has had more than `compactAfter` turns. `null`: never. */
export function shouldCompact({ compactAfter = DEFAULT_COMPACT_AFTER }: { compactAfter?: number | null }, turns: number): boolean {
  return compactAfter !== null && turns > compactAfter;
}
