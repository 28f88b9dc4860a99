import type { ReportError } from './problem-of.ts';

/** Prints an error that a caller is not told to standard error. */
export const printError: ReportError = (error, { id, method, path }) => {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.stderr.write(`${method} ${path} failed (${id}): ${text}\n`);
};
