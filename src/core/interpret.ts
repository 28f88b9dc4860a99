import { runLoop, BEGINNING, type LoopEnd } from './loop/run-loop.ts';
import type { RunPosition } from './loop/next-step.ts';
import { isSession } from './sessions/open-session.ts';
import type { SessionPorts } from './sessions/session-ports.ts';
import { runSession } from './sessions/run-session.ts';
import type { RunState } from './loop/state/run-state.ts';
import type { ProgramPorts } from './program/interpreter/program-ports.ts';
import { runProgram } from './program/interpreter/run-program.ts';

/** Runs what the run is about until it ends or its history is full: the loop of an agent, the turns of a session, or the steps of a program. */
export function interpret(state: RunState, ports: ProgramPorts & SessionPorts, from: RunPosition = BEGINNING): Promise<LoopEnd> {
  if (state.program !== undefined) return runProgram(state, state.program, ports);
  if (isSession(state)) return runSession(state, ports, from);
  return runLoop(state, ports, from.type === 'idle' ? BEGINNING : from);
}
