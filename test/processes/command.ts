import { errorMessage } from '../../src/core/domain/errors.ts';
import { type Check, closingLine } from './check.ts';

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
