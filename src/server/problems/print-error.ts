import type { ReportError } from './problem-of.ts';

/** Returns the text by which an operator is told an error that a caller is not told. */
export function reportText(error: unknown, { id, method, path }: Parameters<ReportError>[1]): string {
  return `${method} ${path} failed (${id}): ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
}

/** Prints such an error to standard error. */
export const printError: ReportError = (...failure) => {
  process.stderr.write(`${reportText(...failure)}\n`);
};
