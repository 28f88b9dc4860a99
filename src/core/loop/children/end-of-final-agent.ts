// Tool phase: an agent whose result is that of the run.

import type { Ending } from '../next-step.ts';
import type { ToolOutcome } from '../ports.ts';

/** Returns the ending of the run if an agent whose result is that of the run has ended: the first one, in the order of the calls. */
export function endOfFinalAgent(outcomes: readonly (ToolOutcome | null)[]): Ending | undefined {
  for (const outcome of outcomes) {
    if (outcome?.type !== 'result' || outcome.ended === undefined) continue;
    const { tool: _, ...ending } = outcome.ended;
    return ending;
  }
  return undefined;
}
