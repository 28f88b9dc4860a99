import { errorMessage, LonghaulError, UsageError } from '../../../../src/core/domain/errors.ts';
import { checkProgram } from '../../../../src/core/program/check/check-program.ts';
import type { Problem } from '../../../../src/core/program/check/problems.ts';
import { checkProgramInput } from '../../../../src/core/input-checks.ts';
import { defineProgram, type ProgramOptions } from '../../../../src/define/program/define-program.ts';
import type { JsonObject } from '../../../../src/core/domain/json.ts';
import { choicesOf } from './choices.ts';
import { type Mutant, mutated } from './mutations.ts';
import { leadsIntoDocument } from './paths.ts';
import { runMutant } from './run-mutant.ts';
import { validProgram } from './valid-programs.ts';
import { isLimitStatus } from '../../../../src/core/domain/run.ts';

/** The fate of a mutant: its document is refused, or its run ends. */
export type Fate = 'refused' | 'completed' | 'failed' | 'limited';

/** Returns the mutant of a number. */
export function mutantOf(seed: number): Mutant {
  const choose = choicesOf(seed);
  return mutated(validProgram(choose), choose);
}

/** Checks and runs the mutant of a number. Throws an error that names it if anything throws, is stuck, or is refused without a reason. */
export async function judgeMutant(seed: number): Promise<Fate> {
  const mutant = mutantOf(seed);
  try {
    return await judge(mutant.document, seed);
  } catch (error) {
    throw new Error(`Mutant ${seed} (${mutant.changes.join(', ')}): ${errorMessage(error)}`, { cause: error });
  }
}

async function judge(document: unknown, seed: number): Promise<Fate> {
  const { problems, document: program } = checkProgram(document);
  const defined = definitionProblem(document);
  const input = checkProgramInput({ program: document, input: {} });
  if (!input.ok && input.problem === '') throw new Error('the input is refused without a reason');
  if (program === undefined) {
    requireReasons(problems, JSON.parse(JSON.stringify(document)) as unknown);
    return 'refused';
  }
  if (!input.ok) throw new Error(`the document is accepted, and is refused as input: ${input.problem}`);
  if (defined !== undefined) throw new Error(`the document is accepted, and its definition is refused: ${defined}`);
  const result = await runMutant(program, choicesOf(-seed));
  if (result === undefined) throw new Error('the run is stuck');
  if (result.status === 'completed') return 'completed';
  if (result.errorCode === 'internal') throw new Error(`the run failed by itself: ${result.error}`);
  return isLimitStatus(result.status) ? 'limited' : 'failed';
}

/** Returns the reason why a document cannot be defined; undefined if it can. */
function definitionProblem(document: unknown): string | undefined {
  try {
    defineProgram(document as ProgramOptions<JsonObject>);
    return undefined;
  } catch (error) {
    if (error instanceof UsageError || error instanceof LonghaulError) return error.message;
    throw error;
  }
}

function requireReasons(problems: readonly Problem[], document: unknown): void {
  if (problems.length === 0) throw new Error('the document is refused without a problem');
  for (const { path, message } of problems) {
    if (message === '') throw new Error(`the problem of ${JSON.stringify(path)} has no message`);
    if (!leadsIntoDocument(document, path))
      throw new Error(`the problem of ${JSON.stringify(path)} is nowhere in the document: ${message}`);
  }
}

/** Judges the mutants of some numbers, and counts their fates. */
export async function countFates(from: number, to: number): Promise<Record<Fate, number>> {
  const fates: Record<Fate, number> = { refused: 0, completed: 0, failed: 0, limited: 0 };
  for (let seed = from; seed <= to; seed += 1) fates[await judgeMutant(seed)] += 1;
  return fates;
}
