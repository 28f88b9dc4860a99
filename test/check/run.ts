import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { fileURLToPath } from 'node:url';
import { BUILD, partsOf } from './parts.ts';
import { type PartResult, runParts } from './run-part.ts';

// Where `npm test` runs as well, its tests need not run twice.
const { values } = parseArgs({ options: { 'without-tests': { type: 'boolean', default: false } } });
const root = fileURLToPath(new URL('../..', import.meta.url));
const start = performance.now();
const ended = (result: PartResult): void => console.log(lineOf(result));
const results = [
  ...(await runParts([BUILD], root, 1, ended)),
  ...(await runParts(partsOf(root, { tests: !values['without-tests'] }), root, Math.min(2, availableParallelism()), ended)),
];
const failed = results.filter((result) => !result.passed);
for (const { name, output } of failed) console.log(`\n── ${name} ──\n${output.trimEnd()}`);

const total = ((performance.now() - start) / 1000).toFixed(1);
console.log(
  failed.length === 0 ? `\ncheck passed in ${total} s` : `\ncheck failed in ${total} s: ${failed.map(({ name }) => name).join(', ')}`,
);
process.exitCode = failed.length === 0 ? 0 : 1;

function lineOf({ name, passed, seconds }: PartResult): string {
  return `${passed ? 'ok    ' : 'FAILED'} ${name.padEnd(28)} ${seconds.toFixed(1).padStart(5)} s`;
}
