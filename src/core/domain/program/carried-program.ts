import type { JsonObject } from '../json/json.ts';
import { jsonBytes } from '../json/payload-limit.ts';
import type { Resume } from './messages.ts';
import type { CarriedProgram, ProgramState } from './program-state.ts';
import type { ProgramDocument } from './document.ts';

/** Returns the state of a program that has not begun. */
export function newProgramState(document: ProgramDocument, input: JsonObject, resume?: Resume): ProgramState {
  return { document, input, units: new Map(), steps: new Map(), asksInFlight: 0, ...(resume === undefined ? {} : { resume }) };
}

/** Converts the state of a program to the form that is carried. */
export function toCarriedProgram({ input, units, steps, resume, earlier, unreported }: ProgramState): CarriedProgram {
  const resuming = { ...(resume === undefined ? {} : { resume }), ...(earlier === undefined ? {} : { earlier }) };
  return { input, units: [...units], steps: [...steps], ...resuming, ...(unreported === undefined ? {} : { unreported }) };
}

/** Restores the state of a program. */
export function fromCarriedProgram(document: ProgramDocument, carried: CarriedProgram): ProgramState {
  const { input, units, steps, resume, earlier, unreported } = carried;
  const state = { ...newProgramState(document, input, resume), units: new Map(units), steps: new Map(steps) };
  return { ...state, ...(earlier === undefined ? {} : { earlier }), ...(unreported === undefined ? {} : { unreported }) };
}

/** Names the step with the largest output of those that are carried, for a person who has to make it smaller. */
export function tooLargeText({ steps }: Pick<ProgramState, 'steps'>): string {
  const sizes = [...steps].map(([at, { output = null, items = {} }]) => ({ at, bytes: jsonBytes(output) + jsonBytes(items) }));
  const [largest] = sizes.toSorted((a, b) => b.bytes - a.bytes);
  return largest === undefined
    ? 'Its input is too large'
    : `Later steps refer to the output of step "${largest.at}", which has ${largest.bytes} bytes: make it smaller`;
}
