import { ApplicationFailure } from '@temporalio/common';
import type { JsonValue } from '../domain/json/json.ts';
import { jsonBytes } from '../domain/json/payload-limit.ts';
import type { ProgramState } from '../domain/program/program-state.ts';
import { formatError } from '../program/errors/format-error.ts';
import { PAGE_BYTES, type StepValuesAnswer, type StepValuesQuestion } from '../protocol.ts';
import type { QueriedRun } from './queried-run.ts';

/** Answers an activity of a program that lacks values. Throws an ApplicationFailure if the run has none of them any more. */
export function stepValues(run: QueriedRun, question: StepValuesQuestion | null): StepValuesAnswer {
  const { outputs: addresses = [], step } = question ?? {};
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
    ...(addresses.length === 0 ? {} : { outputs: outputsOf(run, program, addresses) }),
    ...(failure === undefined ? {} : { failure: formatError(failure.error) }),
    ...(approved?.arguments === undefined ? {} : { edited: approved.arguments }),
  };
}

/** Returns the outputs in their order, as many as fit into a page. */
function outputsOf({ runId }: QueriedRun, { steps }: ProgramState, addresses: readonly string[]): Record<string, JsonValue> {
  const outputs: Record<string, JsonValue> = {};
  let bytes = 0;
  for (const address of addresses) {
    const output = steps.get(address)?.output;
    if (output === undefined)
      throw ApplicationFailure.create({ type: 'unknown_call', message: `Run "${runId}" has no output of "${address}"` });
    bytes += jsonBytes(output);
    if (bytes > PAGE_BYTES && Object.keys(outputs).length > 0) break;
    outputs[address] = output;
  }
  return outputs;
}
