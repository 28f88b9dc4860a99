import type { JsonObject } from '../json/json.ts';
import type { CarriedProgram, ProgramState } from './program-state.ts';
import type { ProgramDocument } from './document.ts';

/** Returns the state of a program that has not begun. */
export function newProgramState(document: ProgramDocument, input: JsonObject): ProgramState {
  return { document, input, units: new Map(), steps: new Map(), asksInFlight: 0 };
}

/** Converts the state of a program to the form that is carried. */
export function toCarriedProgram({ input, units, steps }: ProgramState): CarriedProgram {
  return { input, units: [...units], steps: [...steps] };
}

/** Restores the state of a program. */
export function fromCarriedProgram(document: ProgramDocument, { input, units, steps }: CarriedProgram): ProgramState {
  return { ...newProgramState(document, input), units: new Map(units), steps: new Map(steps) };
}
