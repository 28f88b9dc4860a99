import { UsageError } from '../domain/errors.ts';
import { defined } from '../domain/json.ts';
import type { RefineDocument } from '../domain/program-document.ts';
import { debugText, exhaustionFailure, formatError, seedNameOf, type StepError, type StepPlace } from './step-errors.ts';

// Programs: the refine block of a step: its number of attempts, the waits between them, and what happens if all fail.

/** The outcome of one attempt of a step. `stopped`: the run is stopping, and the attempt does not count. */
export type AttemptOutcome<Result> =
  | { type: 'succeeded'; result: Result }
  /** `error`: the text of the failure, for the next attempt; `errorType`: its name. */
  | { type: 'failed'; error: string; errorType: string }
  | { type: 'stopped' };

/** The outcome of the wait between two attempts. `stopped`: the run is stopping. */
export type WaitOutcome = { type: 'waited' } | { type: 'stopped' };

type AttemptRecord = { attempt: number; success: true } | { attempt: number; success: false; error: string; errorType: string };

/** The point at which a previously begun refine block continues. */
export interface RefineStart {
  /** The first attempt to make. */
  attempt: number;
  /** The text of the previous attempt's failure. */
  failureContext?: string;
  /** The earlier attempts. Absent: the outcome lists only the attempts of this call. */
  attempts?: readonly AttemptRecord[];
  /** The remaining wait before the attempt, in milliseconds. */
  waitMs?: number;
}

/** A refine block and its effects. */
interface Refinement<Result> {
  config: RefineConfig;
  /** Makes an attempt. `failureContext`: the text of the previous attempt's failure, if it is passed on. */
  attempt: (failureContext: string | undefined, attempt: number) => Promise<AttemptOutcome<Result>>;
  /** Waits after a failed attempt. Called only if there is a wait. */
  wait: (ms: number, attempt: number) => Promise<WaitOutcome>;
  from?: RefineStart;
}

/** The outcome of all attempts of a step. */
export interface RefineResult<Result> {
  success: boolean;
  /** The result of the successful attempt, or null. */
  result: Result | null;
  /** The attempts in order, including the last one. */
  attempts: AttemptRecord[];
  /** True if all attempts failed. */
  exhausted: boolean;
  /** The run stopped before an attempt succeeded and before all had failed. */
  stopped?: true;
}

/** Makes attempts until one succeeds, all have failed, or the run is stopping. Every failure is retried. */
export async function makeAttempts<Result>(refinement: Refinement<Result>): Promise<RefineResult<Result>> {
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

/** The possible outcomes of a step whose attempts all failed. */
const EXHAUSTION_ACTIONS = ['fail', 'skip', 'fallback'] as const;

/** A refine block including defaults. */
interface RefineConfig {
  /** The maximum number of attempts, including the first. */
  maxAttempts: number;
  backoff: Backoff;
  /** True: an attempt is told why the previous one failed. */
  passFailureContext: boolean;
  onExhaustion: (typeof EXHAUSTION_ACTIONS)[number];
  /** The step whose output replaces the failed step's. */
  fallback?: string;
}

/**
 * Returns a refine block including defaults. A step without a block has one attempt. Throws a UsageError for an invalid number of attempts,
 * strategy or action; `refineProblems` finds more.
 */
export function resolveRefine(refine: RefineDocument | undefined): RefineConfig {
  const [problem] = refine === undefined ? [] : valueProblems(refine);
  if (problem !== undefined) throw new UsageError(problem);
  const { maxAttempts = 3, backoff = 'none', passFailureContext = true, onExhaustion = 'fail', fallback } = refine ?? { maxAttempts: 1 };
  return { maxAttempts, backoff, passFailureContext, onExhaustion, ...defined({ fallback }) };
}

/** Returns the step whose output replaces that of a step without remaining attempts, or undefined. */
export function fallbackOf({ onExhaustion, fallback }: Pick<RefineDocument, 'onExhaustion' | 'fallback'>): string | undefined {
  return onExhaustion === 'fallback' ? fallback : undefined;
}

/** Lists the problems of a refine block, each as a sentence. */
export function refineProblems(refine: RefineDocument): string[] {
  const { onExhaustion, fallback } = refine;
  const problems = valueProblems(refine);
  if (onExhaustion === 'fallback' && !fallback) problems.push(`onExhaustion is 'fallback', but "fallback" names no step: name one`);
  if (onExhaustion !== 'fallback' && fallback) {
    problems.push(`fallback names the step ${debugText(fallback)}, but is not used: write onExhaustion: 'fallback', or leave it out`);
  }
  return problems;
}

function valueProblems({ maxAttempts = 3, backoff = 'none', onExhaustion = 'fail' }: RefineDocument): string[] {
  const problems: string[] = [];
  if (maxAttempts < 1) problems.push(`maxAttempts must be >= 1, got ${maxAttempts}`);
  else if (!Number.isSafeInteger(maxAttempts)) problems.push(`maxAttempts must be a whole number, got ${debugText(maxAttempts)}`);
  if (!isOneOf(BACKOFFS, backoff)) problems.push(`Invalid backoff strategy ${quotedChoice(BACKOFFS, backoff)}`);
  if (!isOneOf(EXHAUSTION_ACTIONS, onExhaustion)) problems.push(`Invalid onExhaustion ${quotedChoice(EXHAUSTION_ACTIONS, onExhaustion)}`);
  return problems;
}

function isOneOf(values: readonly string[], value: string): boolean {
  return values.includes(value);
}

function quotedChoice(values: readonly string[], value: string): string {
  return `${debugText(value)}. Must be one of: ${debugText(values.toSorted())}`;
}

/** The strategies for the wait between two attempts. */
export const BACKOFFS = ['none', 'linear', 'exponential'] as const;

/** The strategy for the wait between two attempts. */
export type Backoff = (typeof BACKOFFS)[number];

const LINEAR_MS = 1_000;
const EXPONENTIAL_MS = 500;
const MAX_DELAY_MS = 30_000;

/** Returns the milliseconds to wait after a failed attempt, at most 30 seconds. Attempts are 1-based. */
export function delayAfter(attempt: number, backoff: Backoff): number {
  switch (backoff) {
    case 'linear':
      return Math.min(LINEAR_MS * attempt, MAX_DELAY_MS);
    case 'exponential':
      return Math.min(EXPONENTIAL_MS * 2 ** attempt, MAX_DELAY_MS);
    default:
      return 0;
  }
}

export function failedAttempt(error: StepError): Extract<AttemptOutcome<never>, { type: 'failed' }> {
  return { type: 'failed', error: formatError(error), errorType: seedNameOf(error.code) };
}

/**
 * Returns the failure of a step after its last attempt, or undefined if the step does not fail. A step whose refine block requires a
 * fallback without naming one fails.
 */
export function failureAfterAttempts(
  { exhausted, attempts }: RefineResult<unknown>,
  config: RefineConfig,
  place: StepPlace,
): StepError | undefined {
  if (!exhausted || config.onExhaustion === 'skip' || fallbackOf(config) !== undefined) return undefined;
  const last = attempts.at(-1);
  return exhaustionFailure(config.maxAttempts, last?.success === false ? last.error : '', place);
}
