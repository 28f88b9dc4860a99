// Prints the verdict on each of so many mutated documents, a line of JSON each: `node test/core/program/mutants/verdicts.ts 10000`. Two versions of the
// check agree if they print the same. Problems are sorted, because their order is not part of a verdict.
import type { KnownNames } from '../../../../src/core/program/check/check-known.ts';
import { checkProgram } from '../../../../src/core/program/check/check-program.ts';
import type { Problem } from '../../../../src/core/program/check/problems.ts';
import { mutantOf } from './judge-mutant.ts';

/** What a worker might know of the names in the documents. */
const KNOWN: KnownNames = {
  tools: [
    { name: 'free', schema: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'], additionalProperties: false } },
    { name: 't' },
  ],
  agents: [{ name: 'a', depsSchema: { type: 'object', properties: { user: { type: 'string' } } } }],
  programs: [{ name: 'child', input: { type: 'object', properties: { n: { type: 'number' } }, additionalProperties: false } }],
  anchors: [{ name: 'NoHallucination' }],
  providers: ['p', 'scripted'],
  hasMemory: false,
};

function lines(problems: readonly Problem[]): string[] {
  return problems.map((problem) => JSON.stringify(problem)).toSorted();
}

const count = Number(process.argv[2] ?? 10_000);
for (let seed = 0; seed < count; seed += 1) {
  const { document } = mutantOf(seed);
  const verdicts = [{}, KNOWN].map((known) => {
    const { problems, warnings } = checkProgram(document, known);
    return { problems: lines(problems), warnings: lines(warnings) };
  });
  process.stdout.write(`${JSON.stringify({ seed, verdicts })}\n`);
}
