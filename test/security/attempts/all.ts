import type { Attempt } from './attempt.ts';
import { CALLS } from './calls.ts';
import { MEMORY } from './memory.ts';
import { FORGERY_IN_PYTHON } from './python/forgery.ts';
import { MEMORY_IN_PYTHON, STACK_IN_PYTHON, TIME_IN_PYTHON } from './python/limits.ts';
import { PROCESS_IN_PYTHON } from './python/process.ts';
import { PROTOCOL_IN_PYTHON } from './python/protocol.ts';
import { REACH_IN_PYTHON } from './python/reach.ts';
import { PROTOCOL } from './protocol.ts';
import { REACH } from './reach.ts';
import { STACK } from './stack.ts';
import { TIME } from './time.ts';

const IN_JAVASCRIPT: readonly Attempt[] = [...REACH, ...TIME, ...MEMORY, ...STACK, ...PROTOCOL, ...CALLS];

const IN_PYTHON: readonly Attempt[] = [
  ...REACH_IN_PYTHON,
  ...TIME_IN_PYTHON,
  ...MEMORY_IN_PYTHON,
  ...STACK_IN_PYTHON,
  ...PROTOCOL_IN_PYTHON,
  ...FORGERY_IN_PYTHON,
  ...PROCESS_IN_PYTHON,
];

/** Seconds for code that ends by itself: on a busy machine a module alone takes longer to load than a limit that is there to be reached. */
const ENOUGH_SECONDS = 10;

/** An attempt that may not end with a timeout has time enough, so that the machine does not decide how it ends. */
function withEnoughTime(attempt: Attempt): Attempt {
  if (attempt.ends?.includes('timeout') ?? true) return attempt;
  return { ...attempt, limits: { ...attempt.limits, timeoutSeconds: ENOUGH_SECONDS } };
}

export const ATTEMPTS: readonly Attempt[] = [...IN_JAVASCRIPT, ...IN_PYTHON].map(withEnoughTime);
