import type { RunResultFields } from '../src/core/domain/result.ts';
import type { CarriedInput, ProgramInput } from '../src/core/protocol.ts';
import { runWorkflow } from './run/run-workflow.ts';
import { readProgramInput } from './run/start.ts';

/**
 * Runs a program: by the name under which a worker has it, or as a document in the input. It closes in the same way as
 * the run of an agent, with the results of its units.
 */
export async function programRun(rawInput: ProgramInput | CarriedInput): Promise<RunResultFields> {
  return runWorkflow(rawInput, readProgramInput);
}
