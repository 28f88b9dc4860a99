import type { AnyProgram, ProgramOutputOf } from '../define/program/program-definition.ts';
import { loadInMemory } from './load-in-memory.ts';
import type { ProgramTestOptions, TestedProgram } from './tested-program.ts';

/**
 * Runs a program in memory, without a server and in milliseconds. The interpreter, the activities and the policies are
 * those of a worker; time is virtual whenever nothing runs. Returns the result and record of the run, for every status.
 * Throws in the same cases as `testAgent`, and needs the same package.
 *
 * @example
 * const { result } = await testProgram(triage, {
 *   input: { ticket: 'Money back!' },
 *   model: scriptedModel([structured({ kind: 'refund', confidence: 0.9 })]),
 * });
 */
export async function testProgram<Program extends AnyProgram>(
  program: Program,
  options: ProgramTestOptions<Program>,
): Promise<TestedProgram<ProgramOutputOf<Program>>> {
  // Loaded on use: a test that needs only a scripted model loads none of this.
  const { runProgramInMemory } = await loadInMemory(() => import('./memory/run-program-in-memory.ts'));
  return runProgramInMemory(program, options) as Promise<TestedProgram<ProgramOutputOf<Program>>>;
}
