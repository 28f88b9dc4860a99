import { parseArgs } from 'node:util';

/** A command line that makes sense. */
export type BenchOptions =
  | { command: 'history'; steps: number; resultChars: number; rounds: number; quiet: boolean }
  | { command: 'latency'; steps: number; runs: number; concurrency: number; resultChars: number; rounds: number; quiet: boolean };

/** What to type. */
export const USAGE = `Usage:
  npm run bench -- history [--steps 200] [--result-chars 2000] [--rounds 3] [--json]
  npm run bench -- latency [--steps 200] [--runs 5] [--concurrency 1] [--result-chars 200] [--rounds 3] [--json]`;

/** Three rounds are what a median needs to have a middle. */
const MIN_ROUNDS = 3;

/** Reads the command line. Throws an error whose message says what is wrong with it. */
export function parseOptions(args: readonly string[]): BenchOptions {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      steps: { type: 'string', default: '200' },
      'result-chars': { type: 'string' },
      runs: { type: 'string', default: '5' },
      concurrency: { type: 'string', default: '1' },
      rounds: { type: 'string', default: String(MIN_ROUNDS) },
      json: { type: 'boolean', default: false },
    },
  });
  const [command, ...rest] = positionals;
  if (rest.length > 0) throw new Error(`One command is enough: "${rest.join(' ')}" is left over`);
  const steps = count('steps', values.steps);
  const rounds = count('rounds', values.rounds, MIN_ROUNDS);
  const quiet = values.json;
  switch (command) {
    case 'history':
      return { command, steps, resultChars: count('result-chars', values['result-chars'] ?? '2000'), rounds, quiet };
    case 'latency': {
      const resultChars = count('result-chars', values['result-chars'] ?? '200');
      return {
        command,
        steps,
        runs: count('runs', values.runs),
        concurrency: count('concurrency', values.concurrency),
        resultChars,
        rounds,
        quiet,
      };
    }
    default:
      throw new Error(command === undefined ? 'Which command?' : `There is no command "${command}"`);
  }
}

function count(name: string, text: string, least = 1): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value >= least) return value;
  throw new Error(`--${name} is "${text}": write a whole number of at least ${least}`);
}
