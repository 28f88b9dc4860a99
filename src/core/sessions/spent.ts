import type { SpentByTurns } from '../domain/sessions.ts';
import { addNotRun } from '../domain/tool-calls.ts';
import { addRunUsage, noUsage, type SpentBelow } from '../domain/usage.ts';
import { countsOf } from '../loop/endings/close-run.ts';
import type { RunState } from '../loop/state/run-state.ts';

/** Returns the amounts of a session without turns. */
export function nothingSpent(): SpentByTurns {
  return { stepsUsed: 0, usage: noUsage(), toolCallsTotal: 0, toolCallsByName: {} };
}

/** Returns the amounts with those of one more turn. */
export function withTurn(before: SpentByTurns, turn: SpentByTurns): SpentByTurns {
  const byName = new Map(Object.entries(before.toolCallsByName));
  for (const [name, calls] of Object.entries(turn.toolCallsByName)) byName.set(name, (byName.get(name) ?? 0) + calls);
  const notRun = addNotRun(before.toolCallsNotRun, turn.toolCallsNotRun);
  const below = turn.below === undefined ? before.below : sumBelow(before.below, turn.below);
  return {
    stepsUsed: before.stepsUsed + turn.stepsUsed,
    usage: addRunUsage(before.usage, turn.usage),
    toolCallsTotal: before.toolCallsTotal + turn.toolCallsTotal,
    toolCallsByName: Object.fromEntries(byName),
    ...(notRun === undefined ? {} : { toolCallsNotRun: notRun }),
    ...(below === undefined ? {} : { below }),
  };
}

function sumBelow(before: SpentBelow | undefined, { usage, toolCalls, runs }: SpentBelow): SpentBelow {
  if (before === undefined) return { usage, toolCalls, runs };
  return { usage: addRunUsage(before.usage, usage), toolCalls: before.toolCalls + toolCalls, runs: before.runs + runs };
}

/** Returns the amounts of all turns of a session, the current one included. */
export function spentBySession(state: RunState): SpentByTurns {
  const { session } = state;
  if (session === undefined) return countsOf(state);
  return session.turn === undefined ? session.spent : withTurn(session.spent, countsOf(state));
}
