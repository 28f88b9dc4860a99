import { endOfFinalAgent } from './agent-calls.ts';
import { finalAnswerOfCode } from './code-cells.ts';
import { endOfBranches, isParallel, startBranches, takeTurn } from './flows.ts';
import { checkAnswer } from './guardrails.ts';
import { handOver } from './handoffs.ts';
import { beforeCalls, hasHooksBefore, noteRewrites } from './hooks.ts';
import type { CallsEnd, EndedCalls, NextStep, ToolsPosition } from './next-step.ts';
import { settlePermissions, takeNarrowings } from './permissions.ts';
import type { RunPorts, ToolOutcome } from './ports.ts';
import type { RunState } from './state/run-state.ts';

// Shared state: the points of the loop at which capabilities act.

/** Each way in which the results of calls may end a run, in their order. */
const ENDS: readonly ((called: EndedCalls) => CallsEnd | undefined)[] = [endOfBranches, endOfFinalAgent, finalAnswerOfCode];

/**
 * The points of a step, in their order, each with the capabilities that act at it. A point is reached on replay as it was the
 * first time, so what happens at it follows from recorded data. A promise is made only by a capability that the run uses: one costs a
 * stack trace in the sandbox.
 */
export const points = {
  /**
   * A step begins, and nothing of the inbox has been taken. Requests that a worker decides about are settled here, by what the inbox has
   * and what the worker answers. A promise only if there are some; it returns nothing, and never ends the run.
   */
  stepBegins(state: RunState, ports: RunPorts): Promise<void> | undefined {
    return ports.inbox.permissionChanges.length > 0 ? settlePermissions(state, ports) : undefined;
  },
  /**
   * A model call would be next: messages were taken, and the limits have room for a step. Returns what takes its place, by the state
   * alone; the first one counts. Must not make a promise.
   */
  insteadOfModelCall(state: RunState, ports: RunPorts): NextStep | undefined {
    return isParallel(state) ? startBranches(state, ports) : undefined;
  },
  /**
   * The agent is about to be asked: another one may take its turn first. On replay the same one does, because an activity or the state
   * names it. A promise only if a turn is due; it returns the end of the run if that agent cannot act.
   */
  turnBegins(state: RunState, ports: RunPorts): Promise<NextStep | undefined> | undefined {
    return state.handoffs?.flow?.isDue ? takeTurn(state, ports) : undefined;
  },
  /** Calls were made, and none has passed its gate (`gate.ts`). Returns the calls with what was found out about them; undefined if nothing has to be awaited. */
  callsMade(state: RunState, ports: RunPorts, position: ToolsPosition): Promise<ToolsPosition> | undefined {
    return hasHooksBefore(state, ports, position) ? beforeCalls(state, ports, position) : undefined;
  },
  /** The calls are about to be asked at the gate. Must not make a promise. */
  gateOpens(state: RunState, ports: RunPorts, { response }: ToolsPosition): void {
    // Calls that have not begun must not run by permissions that a caller has narrowed before.
    takeNarrowings(state, ports);
    noteRewrites(state, response);
  },
  /** The results of all calls are recorded. The first end that is returned is that of the run, or its answer. */
  callsEnded(called: EndedCalls): CallsEnd | undefined {
    for (const endOf of ENDS) {
      const end = endOf(called);
      if (end !== undefined) return end;
    }
    return undefined;
  },
  /** The step is over, and the model will be asked again. */
  stepEnded(state: RunState, ports: RunPorts, outcomes: readonly (ToolOutcome | null)[]): void {
    handOver(state, ports, outcomes);
  },
  /** An answer must be checked before it counts. Returns the end of the run if it must not count. */
  answerGiven(state: RunState, ports: RunPorts, answer: Parameters<typeof checkAnswer>[2]): Promise<NextStep | undefined> {
    return checkAnswer(state, ports, answer);
  },
};
