import { runLoop, BEGINNING, type LoopEnd } from './loop/run-loop.ts';
import type { Position } from './loop/next-step.ts';
import type { RunState } from './loop/state/run-state.ts';
import type { ProgramPorts } from './program/interpreter/program-ports.ts';
import { runProgram } from './program/interpreter/run-program.ts';

/** Runs what the run is about until it ends or its history is full: the loop of an agent, or the steps of a program. */
export function interpret(state: RunState, ports: ProgramPorts, from: Position = BEGINNING): Promise<LoopEnd> {
  return state.program === undefined ? runLoop(state, ports, from) : runProgram(state, state.program, ports);
}
