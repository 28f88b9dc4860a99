import { errorMessage } from '../core/domain/errors/error.ts';
import { memberOf } from '../core/domain/errors/thrown.ts';

const MOST_CAUSES = 5;

/** The call of a tool: what is below is Longhaul's own. */
const CALLER = /[\\/]activities[\\/]execute-tool\.[jt]s/;

/** Frames that nobody looks for: those of Node itself, and of the SDK around an activity. */
const UNSAID = /\(node:internal|at node:internal|[\\/]node_modules[\\/]@temporalio[\\/]/;

/** Where an error was thrown, a line for each frame; then the same for what caused it, each with its message. Nothing for what has no stack. */
export function stackLines(error: unknown): string[] {
  return linesOf(error, 0);
}

function linesOf(error: unknown, depth: number): string[] {
  const stack = memberOf(error, 'stack');
  const lines = typeof stack === 'string' ? stack.split('\n').map((line) => line.trim()) : [];
  const all = lines.filter((line) => line.startsWith('at '));
  const caller = all.findIndex((line) => CALLER.test(line));
  // What was thrown by the caller itself has only that.
  const frames = all.slice(0, caller > 0 ? caller : undefined).filter((line) => !UNSAID.test(line));
  const cause = memberOf(error, 'cause');
  if (typeof cause !== 'object' || cause === null || depth >= MOST_CAUSES) return frames;
  return [...frames, `caused by: ${errorMessage(cause).replace(/\s+/g, ' ')}`, ...linesOf(cause, depth + 1)];
}
