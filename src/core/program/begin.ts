import type { AgentSnapshot } from '../domain/agent/agent-snapshot.ts';
import type { JsonObject } from '../domain/json/json.ts';
import { newProgramState } from '../domain/program/carried-program.ts';
import type { Resume } from '../domain/program/messages.ts';
import type { RunClock } from '../loop/state/clock.ts';
import { blankRunState, recordEvent, type RunState } from '../loop/state/run-state.ts';
import { isoTime } from '../domain/record/time.ts';

/** The values with which the run of a program begins. */
export interface ProgramBeginning {
  runId: string;
  snapshot: AgentSnapshot;
  input?: JsonObject | undefined;
  resume?: Resume | undefined;
  deps?: JsonObject | undefined;
  /** Milliseconds since the epoch. */
  startedAt: number;
}

/** Returns the state of a program's run, with the input as its first event. */
export function beginProgram({ input = {}, resume, ...beginning }: ProgramBeginning, clock: RunClock): RunState {
  const { snapshot, startedAt } = beginning;
  if (snapshot.program === undefined) throw new TypeError(`The snapshot "${snapshot.name}" has no program`);
  const state = blankRunState(beginning);
  state.program = newProgramState(snapshot.program, input, resume);
  const content = [{ type: 'message' as const, role: 'user' as const, content: JSON.stringify(input) }];
  recordEvent(state, clock, { author: 'user', content, timestamp: isoTime(startedAt) });
  // No model reads the record of a program.
  state.window = { ...state.window, events: [], bytes: 0 };
  return state;
}
