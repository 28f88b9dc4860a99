// Programs: the part of the limits of a run that a child is given.

import type { OwnLimits } from '../../domain/agent/agent-snapshot.ts';
import { DEFAULT_MODEL_CALLS } from '../../domain/program/document.ts';
import type { RunState } from '../../loop/state/run-state.ts';
import { toolOfName } from '../../domain/agent/limit-numbers.ts';
import { type Amounts, amountsOf, usedOf } from './amounts.ts';

/** The circumstances in which a child is given its part. */
export interface ShareTerms {
  /** The amounts that children which are running have been given, and that calls in flight use. They may become free again. */
  held: Amounts;
  /** The amounts of children whose use is not known. */
  unreported: Amounts;
  /** The number of lists of steps that run side by side and have not been given a part, the one of this child included. */
  lanes: number;
  /** The limits that the child has of its own. */
  own: OwnLimits;
}

/**
 * Returns the amounts that a child is given; undefined if it waits until another one ends. A child with a limit of its own gets
 * that, all of it, or what is left once nothing else holds any of it. A child without one gets an equal part of what is free, so that
 * the steps beside it have theirs. A child that asks a person at its limits gets the
 * larger of the two, so that there is something to raise them by. Must be called before a limit is reached.
 */
export function shareOf(state: RunState, { held, unreported, lanes, own }: ShareTerms): Amounts | undefined {
  const spent = usedOf(state);
  const wanted = amountsOf(own);
  const given = new Map<string, number>();
  for (const [name, limit] of sharedLimits(state)) {
    const heldNow = held.get(name) ?? 0;
    const free = limit - (spent.get(name) ?? 0) - (unreported.get(name) ?? 0) - heldNow;
    const most = wanted.get(name) ?? (toolOfName(name) === undefined ? undefined : wanted.get('toolCalls'));
    const equal = equalPart(name, free, lanes);
    const part = most ?? equal;
    if (most === 0) given.set(name, 0);
    else if (part > 0 && free >= part) given.set(name, own.onLimit === 'ask' ? Math.max(part, equal) : part);
    else if (heldNow > 0) return undefined;
    else given.set(name, Math.max(0, free));
  }
  return given;
}

/** Returns an equal part of a free amount: of calls, steps and tokens at least 1. */
function equalPart(name: string, free: number, lanes: number): number {
  const part = free / Math.max(1, lanes);
  return name === 'costUsd' ? part : Math.max(1, Math.floor(part));
}

/** Returns the amounts that a run shares with its children. A default limit of steps that no author has chosen is none of them. */
function sharedLimits({ limits }: RunState): Amounts {
  const shared = new Map(amountsOf(limits));
  if (limits.steps === DEFAULT_MODEL_CALLS) shared.delete('steps');
  return shared;
}
