import { delayAfter } from './backoff.ts';
import type { RefineConfig } from './refine-config.ts';

/** The outcome of one attempt of a step. `stopped`: the run is being stopped, and the attempt does not count. */
export type AttemptOutcome<Result> =
  | { type: 'succeeded'; result: Result }
  /** `error` is the text of the failure, which the next attempt learns; `errorType` its name. */
  | { type: 'failed'; error: string; errorType: string }
  | { type: 'stopped' };

/** The outcome of the wait between two attempts. `stopped`: the run is being stopped. */
export type WaitOutcome = { type: 'waited' } | { type: 'stopped' };

/** The record of one attempt. */
export type AttemptRecord = { attempt: number; success: true } | { attempt: number; success: false; error: string; errorType: string };

/** The point at which a refine block goes on that was begun earlier. */
export interface RefineStart {
  /** The attempt to begin with. */
  attempt: number;
  /** The text of the failure of the attempt before. */
  failureContext?: string;
  /** The attempts that were made. Absent: the outcome lists only those of this call. */
  attempts?: readonly AttemptRecord[];
  /** The rest of the wait before the attempt, in milliseconds. */
  waitMs?: number;
}

/** A refine block and its effects. */
export interface Refinement<Result> {
  config: RefineConfig;
  /** Makes an attempt. `failureContext` is the text of the failure of the attempt before, if the attempt may learn it. */
  attempt: (failureContext: string | undefined, attempt: number) => Promise<AttemptOutcome<Result>>;
  /** Waits after a failed attempt. Called only if there is something to wait for. */
  wait: (ms: number, attempt: number) => Promise<WaitOutcome>;
  from?: RefineStart;
}

/** The outcome of all attempts of a step. */
export interface RefineResult<Result> {
  success: boolean;
  /** The result of the attempt that succeeded, else null. */
  result: Result | null;
  /** The attempts in order, the last one that ended included. */
  attempts: AttemptRecord[];
  /** True if all attempts failed. */
  exhausted: boolean;
  /** The run was stopped before an attempt succeeded and before all had failed. */
  stopped?: true;
}

/** Makes attempts until one succeeds, all have failed, or the run is being stopped. Every failure is tried again. */
export async function refine<Result>(refinement: Refinement<Result>): Promise<RefineResult<Result>> {
  const { config, attempt, wait, from = { attempt: 1 } } = refinement;
  const attempts = [...(from.attempts ?? [])];
  const ended = { success: false, result: null, attempts, exhausted: false };
  let failure = from.failureContext ?? '';
  let waitMs = from.waitMs ?? 0;
  for (let number = from.attempt; number <= config.maxAttempts; number += 1) {
    if (waitMs > 0 && (await wait(waitMs, number - 1)).type === 'stopped') return { ...ended, stopped: true };
    const outcome = await attempt(contextFor(number, failure, config), number);
    if (outcome.type === 'stopped') return { ...ended, stopped: true };
    if (outcome.type === 'succeeded') {
      attempts.push({ attempt: number, success: true });
      return { ...ended, success: true, result: outcome.result };
    }
    const { error, errorType } = outcome;
    attempts.push({ attempt: number, success: false, error, errorType });
    failure = error;
    waitMs = delayAfter(number, config.backoff);
  }
  return { ...ended, exhausted: true };
}

function contextFor(attempt: number, failure: string, { passFailureContext }: RefineConfig): string | undefined {
  return attempt > 1 && passFailureContext && failure !== '' ? failure : undefined;
}
