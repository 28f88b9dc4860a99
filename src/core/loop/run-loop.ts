// The loop: model phase and tool phase in turn, then closing.

import type { RunResultFields } from '../domain/run/result.ts';
import { runCellPhase } from './code/cell-phase.ts';
import { runModelPhase } from './model-phase.ts';
import { checkOutput } from './guardrails/check-output.ts';
import { closeRun } from './endings/close-run.ts';
import { takeMessages } from './requests/messages.ts';
import type { Ending, NextStep, Position, RunPosition } from './next-step.ts';
import type { RunPorts } from './ports.ts';
import { runToolPhase } from './tool-phase/tool-phase.ts';
import type { RunState } from './state/run-state.ts';

/** The end of the loop in one execution: the run is over, or goes on from a position in the next. */
export type LoopEnd<At extends RunPosition = RunPosition> =
  | { type: 'finished'; result: RunResultFields }
  | { type: 'continue'; position: At };

/** The end of a turn in one execution: with an answer or another ending, or the turn goes on in the next. */
export type TurnEnd = { type: 'finish'; ending: Ending } | { type: 'continue'; position: Position };

/** The position at which a run begins. */
export const BEGINNING: Position = { type: 'call_model', final: false };

/**
 * Runs the agent loop: calls the model and its tools until a phase ends the run. It is pure: every effect goes through `ports`,
 * every decision is taken from recorded data, and a failure of a model or a tool is never thrown.
 */
export async function runLoop(state: RunState, ports: RunPorts, from: Position = BEGINNING): Promise<LoopEnd<Position>> {
  const end = await runTurn(state, ports, from);
  if (end.type === 'continue') return end;
  // Accepted messages belong to the record, even if no model reads them any more.
  takeMessages(state, ports);
  return { type: 'finished', result: closeRun(state, ports, end.ending) };
}

/** Runs the loop from a message to its answer, or to another ending. */
export async function runTurn(state: RunState, ports: RunPorts, from: Position): Promise<TurnEnd> {
  let next: NextStep = from;
  while (next.type !== 'continue' && next.type !== 'finish') {
    if (next.type === 'call_model') next = await runModelPhase(state, ports, next);
    else if (next.type === 'check_output') next = await checkOutput(state, ports, next.answered);
    else next = next.type === 'run_tools' ? await runToolPhase(state, ports, next) : await runCellPhase(state, ports, next);
    ports.recorded?.(state);
  }
  return next;
}
