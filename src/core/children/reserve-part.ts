// Children: the part of the limits of a run that an agent is given when it starts.

import { type LimitChanges, limitNumbers } from '../domain/limits.ts';
import { usedAmounts } from '../loop/limits/limits.ts';
import type { CallsLeft } from '../domain/children.ts';
import type { RunState } from '../loop/state/run-state.ts';

/** The part of the limits of a run that an agent is given, or the limit of which nothing is left. */
export type ReservedPart = { ok: true; given: LimitChanges } | { ok: false; limit: string };

/** The circumstances in which an agent is given its part. */
export interface ReservationTerms {
  /** The limits that the call itself has. */
  own: LimitChanges;
  /** The calls of the response that have not started, this one included. */
  calls: CallsLeft;
  /** The run itself needs no share. */
  keepsNone?: boolean;
  /** Milliseconds since the epoch. */
  now: number;
}

const SHARED = ['inputTokens', 'outputTokens', 'totalTokens', 'costUsd', 'toolCalls'] as const;

/**
 * Returns the part of each limited amount that an agent is given: what its call asks for, as far as there is so much; otherwise an
 * equal share of the remainder among the calls of the response and the run itself. Steps are those of each run alone.
 */
export function reservePart(state: RunState, { own, calls, keepsNone = false, now }: ReservationTerms): ReservedPart {
  const given: LimitChanges = {};
  const wanted = limitNumbers(own);
  const shares = calls.agents + (keepsNone ? 0 : 1);
  for (const name of SHARED) {
    const limit = state.limits[name];
    if (limit === undefined) continue;
    // The other calls of the response were admitted with this one: each of them may start.
    const admitted = name === 'toolCalls' ? calls.all - 1 : 0;
    const free = Math.max(0, limit - usedAmounts(state)[name] - heldOf(state, name) - admitted);
    const share = name === 'costUsd' ? free / shares : Math.floor(free / shares);
    const part = Math.min(free, wanted.get(name) ?? share);
    // An agent that may call no tool can still answer.
    if (part <= 0 && name !== 'toolCalls') return { ok: false, limit: name };
    given[name] = part;
  }
  const { deadlineMs } = state.limits;
  if (deadlineMs === undefined) return { ok: true, given };
  const left = state.startedAt + deadlineMs - now;
  return left < 1 ? { ok: false, limit: 'deadline' } : { ok: true, given: { ...given, deadlineMs: left } };
}

/** Returns the amount that the agents which are running have been given. */
function heldOf({ children = [] }: RunState, name: (typeof SHARED)[number]): number {
  return children.reduce((sum, { given }) => sum + (given?.[name] ?? 0), 0);
}
