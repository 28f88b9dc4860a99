import type { ErrorCode } from '../errors/error.ts';
import { jsonBytes } from '../json/payload-limit.ts';
import { cutText } from '../content/cut-content.ts';
import type { StepError } from './step-error.ts';
import type { AnswerVerdict } from './verdict.ts';
import type { Violation } from './violation.ts';

/** Something that the checks of an answer found: the rule of the validator, an anchor, or the form that the step declares. */
export interface StepViolation extends Pick<Violation, 'message' | 'severity'>, Partial<Pick<Violation, 'expected' | 'actual'>> {
  rule: Violation['rule'] | 'anchor' | 'form';
  /** The name of the anchor, for the rule `anchor`. */
  anchor?: string;
}

/** What is known about one attempt of a step. */
export interface AttemptDetails {
  /** From 1. */
  attempt: number;
  success: boolean;
  /** What the checks of its answer found, warnings included. */
  violations?: StepViolation[];
  /** The code of the failure. */
  code?: ErrorCode;
  /** The message of a failure that is not in the violations. */
  message?: string;
}

/** Bytes of JSON of the details of one step, and of one message in them. The record of events has everything. */
const MAX_BYTES = 4_000;
const MAX_MESSAGE_BYTES = 500;

/** Lists what the checks of an answer found: by anchors, by its form, and by the validator. */
export function violationsOf({ anchors, misfit, violations = [] }: AnswerVerdict): StepViolation[] {
  const ofAnchors = (severity: StepViolation['severity'], breaches: NonNullable<typeof anchors>['breaches'] = []): StepViolation[] =>
    breaches.flatMap(({ anchor, violations: messages }) => messages.map((message) => ({ rule: 'anchor', anchor, message, severity })));
  return [
    ...ofAnchors('error', anchors?.breaches),
    ...ofAnchors('warning', anchors?.warnings),
    ...(misfit === undefined ? [] : [{ rule: 'form' as const, message: misfit, severity: 'error' as const }]),
    ...violations,
  ];
}

/** The outcome of an attempt: the checks of its answer, or its failure. Both are absent if there is nothing to tell. */
export interface AttemptOutcome {
  attempt: number;
  verdict?: AnswerVerdict;
  error?: StepError;
}

/**
 * Adds the outcome of an attempt to the details of a step. An answer that was checked may fail later, by a review: then its entry is
 * replaced. The details of the first attempts are left out if there are too many.
 */
export function withAttempt(known: readonly AttemptDetails[], { attempt, verdict, error }: AttemptOutcome): AttemptDetails[] {
  const same = known.find((one) => one.attempt === attempt);
  const violations = verdict === undefined ? (same?.violations ?? []) : fitting(violationsOf(verdict).map(shortened));
  if (violations.length === 0 && error === undefined) return [...known];
  const isExplained = violations.some(({ severity }) => severity === 'error');
  const entry: AttemptDetails = {
    attempt,
    success: error === undefined,
    ...(violations.length === 0 ? {} : { violations }),
    ...(error === undefined ? {} : { code: error.code }),
    ...(error === undefined || isExplained ? {} : { message: cutText(error.message, MAX_MESSAGE_BYTES) }),
  };
  const details = [...known.filter((one) => one !== same), entry];
  while (details.length > 1 && jsonBytes(details) > MAX_BYTES) details.shift();
  return details;
}

/** Returns as many violations as fit, the first ones. */
function fitting(violations: readonly StepViolation[]): StepViolation[] {
  let bytes = 0;
  return violations.filter((violation) => {
    bytes += jsonBytes(violation);
    return bytes <= MAX_BYTES;
  });
}

function shortened({ message, expected, actual, ...violation }: StepViolation): StepViolation {
  return {
    ...violation,
    message: cutText(message, MAX_MESSAGE_BYTES),
    ...(expected === undefined ? {} : { expected: cutText(expected, MAX_MESSAGE_BYTES) }),
    ...(actual === undefined ? {} : { actual: cutText(actual, MAX_MESSAGE_BYTES) }),
  };
}
