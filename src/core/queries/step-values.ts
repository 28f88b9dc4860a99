import { ApplicationFailure } from '@temporalio/common';
import { jsonPiece, WHOLE_BYTES } from '../domain/json/json-piece.ts';
import type { JsonValue } from '../domain/json/json.ts';
import { jsonBytes } from '../domain/json/payload-limit.ts';
import type { ProgramState } from '../domain/program/program-state.ts';
import { failureText } from '../program/errors/failure-text.ts';
import { ITEMS } from '../program/state/carried-outputs.ts';
import { PAGE_BYTES, type StepValuesAnswer, type StepValuesQuestion } from '../protocol.ts';
import type { QueriedRun } from './queried-run.ts';

/** Answers an activity of a program that lacks values. Throws an ApplicationFailure if the run has none of them any more. */
export function stepValues(run: QueriedRun, question: StepValuesQuestion | null): StepValuesAnswer {
  const { outputs: addresses = [], step, piece } = question ?? {};
  const program = run.state?.program;
  if (program === undefined) {
    // The activity that pins the program asks for it before there is a state.
    if (run.programInput !== undefined) return { program: run.programInput };
    throw ApplicationFailure.create({ type: 'not_ready', message: `Run "${run.runId}" has no program yet` });
  }
  const state = step === undefined ? undefined : program.steps.get(step);
  const { failure, approved } = state?.progress ?? {};
  return {
    ...(question?.program ? { program: { input: program.input } } : {}),
    ...(addresses.length === 0 ? {} : outputsOf(run, program, addresses)),
    ...(failure === undefined ? {} : { failure: failureText(failure.error) }),
    ...(approved?.arguments === undefined ? {} : { edited: approved.arguments }),
    ...(piece === undefined ? {} : { piece: jsonPiece(valueAt(program, piece.address) ?? missing(run, piece.address), piece.from) }),
  };
}

/** Returns the outputs in their order, as many as fit into a page: each as its value, its location, or a mark that it is too long. */
function outputsOf(run: QueriedRun, program: ProgramState, addresses: readonly string[]): StepValuesAnswer {
  const outputs: Record<string, JsonValue> = {};
  const spilled: NonNullable<StepValuesAnswer['spilled']> = {};
  const long: string[] = [];
  let bytes = 0;
  for (const address of addresses) {
    const output = valueAt(program, address);
    const location = program.steps.get(address)?.spilled;
    if (output === undefined && location === undefined) missing(run, address);
    const own = jsonBytes(output ?? location);
    if (output !== undefined && own > WHOLE_BYTES) {
      long.push(address);
      continue;
    }
    bytes += own;
    if (bytes > PAGE_BYTES && bytes > own) break;
    if (output !== undefined) outputs[address] = output;
    else if (location !== undefined) spilled[address] = location;
  }
  return {
    ...(Object.keys(outputs).length === 0 ? {} : { outputs }),
    ...(Object.keys(spilled).length === 0 ? {} : { spilled }),
    ...(long.length === 0 ? {} : { long }),
  };
}

/** Returns the output at an address, or the outputs of the items of a `forEach` that are not stored yet. */
function valueAt({ steps }: ProgramState, address: string): JsonValue | undefined {
  return address.endsWith(ITEMS) ? steps.get(address.slice(0, -ITEMS.length))?.items : steps.get(address)?.output;
}

function missing({ runId }: QueriedRun, address: string): never {
  throw ApplicationFailure.create({ type: 'unknown_call', message: `Run "${runId}" has no output of "${address}"` });
}
