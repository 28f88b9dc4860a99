import type { JsonValue } from '../domain/json/json.ts';
import type { ExecutionResult } from './execution-result.ts';

/** The clock and the randomness of one run: the same code with the same moment sees the same time and the same numbers. */
export interface Moment {
  /** Milliseconds since 1970 that the clock shows during the whole run. */
  readonly now: number;
  /** A whole number from which all random numbers of the run are made. */
  readonly seed: number;
}

/**
 * Runs code that a model wrote. Names that a run declares are there for the next one. A run that was killed, or that used up its
 * time or memory, leaves no state that could be relied on: the executor refuses further runs until `reset`.
 */
export interface Executor {
  /** Runs code. Never rejects for anything that the code does. */
  run(code: string, moment: Moment): Promise<ExecutionResult>;
  /** Ends what runs, at once, and frees everything that the executor holds. */
  kill(): Promise<void>;
  /** Sets a name for all runs that follow. Throws a `UsageError` for a value that is not JSON. */
  inject(name: string, value: JsonValue): void;
  /** Forgets all names. The next run starts anew. */
  reset(): Promise<void>;
}
