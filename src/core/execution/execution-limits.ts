import { UsageError } from '../domain/errors/error.ts';

/** The limits of code that an executor runs. */
export interface ExecutionLimits {
  /** Seconds that one run may take. Zero or less: no limit of time. */
  readonly timeoutSeconds: number;
  /** Megabytes (1,048,576 bytes each) that the code and its values may take. */
  readonly maxMemoryMb: number;
  /** Bytes of UTF-8 that the output of a successful run may have. */
  readonly maxOutputBytes: number;
  /** Runs that an agent may ask for. An executor does not count them. */
  readonly maxSteps: number;
}

export const DEFAULT_EXECUTION_LIMITS: ExecutionLimits = {
  timeoutSeconds: 30,
  maxMemoryMb: 256,
  maxOutputBytes: 10_000,
  maxSteps: 10,
};

/** Fills limits with the defaults. Throws a `UsageError` for a limit that is no limit. */
export function executionLimits(given: Partial<ExecutionLimits> = {}): ExecutionLimits {
  const limits = { ...DEFAULT_EXECUTION_LIMITS, ...given };
  if (!Number.isFinite(limits.timeoutSeconds)) throw refused('timeoutSeconds', limits.timeoutSeconds, 'a number; 0 for no limit');
  for (const name of ['maxMemoryMb', 'maxOutputBytes', 'maxSteps'] as const) {
    if (!Number.isSafeInteger(limits[name]) || limits[name] < 1) throw refused(name, limits[name], 'a whole number of at least 1');
  }
  return limits;
}

function refused(name: keyof ExecutionLimits, value: unknown, wanted: string): UsageError {
  return new UsageError(`The limit "${name}" of the executor is ${String(value)}: write ${wanted}`);
}
