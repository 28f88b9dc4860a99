import { addRunUsage } from '../model/usage.ts';
import type { SpentByTurns } from './session-state.ts';

/** The tokens and the cost of a session, as its limits count them. */
export interface SessionTotals {
  tokens: number;
  /** US dollars. */
  cost: number;
}

/** Adds up the tokens and the cost of turns: with those of the runs below, and with what is estimated. */
export function sessionTotals({ usage: own, below }: Pick<SpentByTurns, 'usage' | 'below'>): SessionTotals {
  const usage = below === undefined ? own : addRunUsage(own, below.usage);
  return {
    tokens: usage.totalTokens + (usage.estimated?.totalTokens ?? 0),
    cost: (usage.costUsd ?? 0) + (usage.estimated?.costUsd ?? 0),
  };
}
