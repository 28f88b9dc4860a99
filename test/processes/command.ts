import { errorMessage } from '../../src/core/domain/errors.ts';

/** Reads a whole number of a command line. Throws an error that names the option. */
export function count(name: string, text: string, least = 1): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value >= least) return value;
  throw new Error(`--${name} is "${text}": write a whole number of at least ${least}`);
}

/** Reads one of several words of a command line. Throws an error that lists them. */
export function oneOf<Word extends string>(name: string, text: string, words: readonly Word[]): Word {
  const word = words.find((one) => one === text);
  if (word !== undefined) return word;
  throw new Error(`--${name} has "${text}": choose of ${words.join(', ')}`);
}

/** A condition that must hold, and every case where it did not. */
export interface Check {
  name: string;
  problems: string[];
}

/** The number of cases of one check that are printed. */
const SHOWN = 10;

/** A check as lines: one if it holds, or one for each case where it did not. */
export function checkLines(part: string, { name, problems }: Check): string[] {
  if (problems.length === 0) return [`ok ${part}: ${name}`];
  const more = problems.length > SHOWN ? [`    … and ${problems.length - SHOWN} more`] : [];
  return [`FAILED ${part}: ${name}`, ...problems.slice(0, SHOWN).map((problem) => `    ${problem}`), ...more];
}

/** The closing line. */
export function closingLine(checks: readonly Pick<Check, 'problems'>[]): string {
  const failed = checks.filter(({ problems }) => problems.length > 0).length;
  return `${checks.length - failed} passed, ${failed} failed`;
}

/** The sentence, if the condition does not hold. */
export function unless(holds: boolean, problem: string): string[] {
  return holds ? [] : [problem];
}

/** Reports the progress of a command on stderr. */
export type Say = (line: string) => void;

/**
 * Begins a command: reads its options, and ends it with exit code 2 and the usage if they cannot be read. All processes that it starts end with
 * it, also when a signal ends it.
 */
export function beginCommand<Options>(
  name: string,
  { parse, usage }: { parse: (args: readonly string[]) => Options; usage: string },
): { options: Options; say: Say } {
  process.once('SIGINT', () => process.exit(130));
  process.once('SIGTERM', () => process.exit(143));
  try {
    return { options: parse(process.argv.slice(2)), say: (line) => void process.stderr.write(`[${name}] ${line}\n`) };
  } catch (error) {
    process.stderr.write(`${errorMessage(error)}\n${usage}\n`);
    process.exit(2);
  }
}

/** Prints a line with the figures for a machine to read, if there are any, and the closing line, and ends the command: 1 if a check does not hold. */
export function endCommand(checks: readonly Pick<Check, 'problems'>[], figures?: object): never {
  if (figures !== undefined) process.stdout.write(`${JSON.stringify(figures)}\n`);
  process.stdout.write(`${closingLine(checks)}\n`);
  process.exit(checks.every(({ problems }) => problems.length === 0) ? 0 : 1);
}
