import type { CommandResult } from './run-command.ts';

/** What became of a stage. */
export interface Outcome {
  passed: number;
  failed: number;
  /** The skipped parts, by name, with the reason. */
  skipped: string[];
  /** The failures, one per line. */
  failures: string[];
  /** What failed once and then passed, with its first failure. */
  unstable: string[];
}

/** Returns the outcome of a stage that has failed and was rerun: what passes then is unstable. */
export function afterSecondTry(first: Outcome, second: Outcome): Outcome {
  return second.failed === 0 ? { ...second, unstable: [...first.failures, ...second.unstable] } : second;
}

/** How the output of a command says what has passed: by its closing line, by a line for each part, by its exit code, or by this rule. */
export type Reading = 'closing line' | 'lines' | 'exit code' | ((output: string) => boolean);

const ONE_PASSED = { passed: 1, failed: 0 };
const ONE_FAILED = { passed: 0, failed: 1 };

const CLOSING_LINE = /^(\d+) passed, (\d+) failed(?:, \d+ skipped)?$/;

/** The most lines about failures that are repeated at the end. */
const MOST_LINES = 20;

/** Reads the outcome of a command that is not vitest. One that fails without a failed part counts as one. */
export function readOutcome({ code, output }: CommandResult, reading: Reading): Outcome {
  const lines = output.trimEnd().split('\n');
  const named = lines.filter((line) => line.startsWith('FAILED ')).slice(0, MOST_LINES);
  const { passed, failed } = countsOf(lines, { code, output }, reading);
  const hasPassed = code === 0 && failed === 0;
  return {
    passed,
    failed: hasPassed ? 0 : Math.max(1, failed),
    skipped: lines.filter((line) => line.startsWith('SKIPPED ')),
    failures: hasPassed ? [] : [`exit code ${code}`, ...named],
    // If a command passes, the parts that it reports as failed have passed at the second try.
    unstable: hasPassed ? named : [],
  };
}

function countsOf(lines: readonly string[], result: CommandResult, reading: Reading): { passed: number; failed: number } {
  switch (reading) {
    case 'closing line': {
      const closing = lines.findLast((line) => CLOSING_LINE.test(line)) ?? '';
      const [, passed = '0', failed = '1'] = CLOSING_LINE.exec(closing) ?? [];
      return { passed: Number(passed), failed: Number(failed) };
    }
    case 'lines': {
      const count = (start: string): number => lines.filter((line) => line.startsWith(start)).length;
      return { passed: count('ok '), failed: count('FAILED ') };
    }
    case 'exit code':
      return result.code === 0 ? ONE_PASSED : ONE_FAILED;
    default:
      return result.code === 0 && reading(result.output) ? ONE_PASSED : ONE_FAILED;
  }
}
