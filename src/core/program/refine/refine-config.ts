import { UsageError } from '../../domain/errors.ts';
import { debugText } from '../errors/debug-text.ts';
import type { RefineDocument } from '../../domain/program-document.ts';
import { type Backoff, BACKOFFS } from './backoff.ts';

/** The outcomes of a step whose attempts all failed. */
export const EXHAUSTION_ACTIONS = ['fail', 'skip', 'fallback'] as const;

/** A refine block with its defaults filled in. */
export interface RefineConfig {
  /** All attempts, the first one included. */
  maxAttempts: number;
  backoff: Backoff;
  /** True: an attempt learns why the one before failed. */
  passFailureContext: boolean;
  onExhaustion: (typeof EXHAUSTION_ACTIONS)[number];
  /** The step whose output replaces that of the failed step. */
  fallback?: string;
}

/**
 * Returns a refine block with its defaults. A step without one has one attempt. Throws a UsageError for an attempt, a strategy or an
 * action that does not exist; `refineProblems` finds more.
 */
export function resolveRefine(refine: RefineDocument | undefined): RefineConfig {
  const [problem] = refine === undefined ? [] : valueProblems(refine);
  if (problem !== undefined) throw new UsageError(problem);
  const { maxAttempts = 3, backoff = 'none', passFailureContext = true, onExhaustion = 'fail', fallback } = refine ?? { maxAttempts: 1 };
  return { maxAttempts, backoff, passFailureContext, onExhaustion, ...(fallback === undefined ? {} : { fallback }) };
}

/** Returns the step whose output replaces that of a step whose attempts are used up; undefined if there is none. */
export function fallbackOf({ onExhaustion, fallback }: Pick<RefineDocument, 'onExhaustion' | 'fallback'>): string | undefined {
  return onExhaustion === 'fallback' ? fallback : undefined;
}

/** Lists what cannot work in a refine block, each as a sentence. */
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
  if (!isOneOf(BACKOFFS, backoff)) problems.push(`Invalid backoff strategy ${choice(BACKOFFS, backoff)}`);
  if (!isOneOf(EXHAUSTION_ACTIONS, onExhaustion)) problems.push(`Invalid onExhaustion ${choice(EXHAUSTION_ACTIONS, onExhaustion)}`);
  return problems;
}

function isOneOf(values: readonly string[], value: string): boolean {
  return values.includes(value);
}

function choice(values: readonly string[], value: string): string {
  return `${debugText(value)}. Must be one of: ${debugText(values.toSorted())}`;
}
