import { cutText, jsonBytes } from './byte-budgets.ts';
import type { ErrorCode } from './errors.ts';
import { defined } from './json.ts';

/** The checks of one answer, as the activity that received the answer recorded them. */
export interface AnswerVerdict {
  /** The answer has no text: it was not checked any further. */
  empty?: true;
  /** Absent if the step has no anchors. */
  anchors?: AnchorVerdict;
  /** The violations of the semantic validator, warnings included. Absent if the answer was not validated: it breaches an anchor, or the step declares nothing. */
  violations?: Violation[];
  /** The confidence that the answer declares. */
  confidence?: number;
  /** The answer does not have the form that the step declares: the problem. */
  misfit?: string;
}

/** The violations of one anchor in an answer. */
export interface AnchorBreach {
  /** The name of the anchor. */
  anchor: string;
  /** Its constraints that the answer breaks. */
  violations: string[];
}

/** The outcome of all anchors of an answer, as plain data. */
export interface AnchorVerdict {
  /** True if no anchor stops the answer. */
  passed: boolean;
  /** The names of the anchors that were checked, in order. */
  checked: string[];
  /** The breaches that stop the answer, in the order of the anchors. */
  breaches: AnchorBreach[];
  /** The breaches of anchors that only warn, in the order of the anchors. */
  warnings: AnchorBreach[];
  /** The anchors that were not checked because the answer admits that it does not know. */
  excused: string[];
}

/** The rules of the validation of an answer. */
export type ViolationRule =
  | 'epistemic_exclusion'
  | 'type_mismatch'
  | 'confidence_floor'
  | 'structured_type'
  | 'missing_fields'
  | 'range_below_min'
  | 'range_above_max';

/** One rule that an answer breaks. */
export interface Violation {
  /** The rule that the answer breaks. */
  rule: ViolationRule;
  /** What is wrong with the answer, in words. */
  message: string;
  /** The rule expects this of the answer. */
  expected: string;
  /** The answer has this instead. */
  actual: string;
  /** A warning does not make an answer invalid. */
  severity: 'error' | 'warning';
}

/** The outcome of the validation of an answer. */
export interface ValidationResult {
  /** True if no violation is an error. */
  isValid: boolean;
  /** All violations, in the order of the checks. */
  violations: Violation[];
  /** The confidence that the answer declares; null if it declares none, or if no least confidence is asked for. */
  confidence: number | null;
}

/** The part of an event that says which step of a program it belongs to. */
export interface StepNote {
  /** The unit, or the address of the step: `sort`, `sort.Kind`, `fan.Sum[3]`. */
  at: string;
  /** The kind of step, or `unit`. */
  kind: string;
  /** `attempt`: an attempt has ended. `start` and `end`: the step or unit has begun or ended. */
  type: 'start' | 'attempt' | 'end';
  /** From 1. */
  attempt?: number;
  /** The beginning of the attempt or of the step. ISO 8601. */
  startedAt?: string;
  /** For an end. */
  status?: 'completed' | 'failed' | 'skipped';
  /** For a model call: the number of characters of the prompt and of the answer. */
  promptLength?: number;
  /** For a model call: the number of characters of the answer. */
  answerLength?: number;
  /** For a model call: the answer has a value besides its text. */
  structured?: true;
  /** The checks of the answer, for an attempt that had one. */
  verdict?: AnswerVerdict;
  /** For a model call: what the provider says about its request. */
  warnings?: string[];
  /** Why the step failed. Absent unless it failed. */
  error?: StepError;
  /** The reason why the step was skipped. */
  reason?: string;
  /** The id of the run that the step has started as a child. */
  child?: string;
  /** The output was taken over from an earlier run, at no cost. */
  reused?: true;
}

/** A failure of a step of a program, as plain data. */
export interface StepError {
  /** The code of the error, as the table of errors explains it. */
  code: ErrorCode;
  /** What failed, in words. */
  message: string;
  /** Where it failed. */
  context: StepErrorContext;
  /** For used-up attempts: the failure of the last one. */
  cause?: StepError;
}

/** The circumstances of a failure. Fields that say nothing are absent. */
export interface StepErrorContext {
  /** The name of the step. */
  step?: string;
  /** The name of the unit of the step (AXON's flow). */
  unit?: string;
  /** The number of the attempt, from 1. */
  attempt?: number;
  /** The type that the step declares. */
  expectedType?: string;
  /** The answer that failed, as debug text. */
  actualValue?: string;
  /** The anchors that were breached, separated by commas. */
  anchorName?: string;
  /** The violations, or more about the failure. */
  details?: string;
}

/** Something that the checks of an answer found: the rule of the validator, an anchor, or the form that the step declares. */
export interface StepViolation extends Pick<Violation, 'message' | 'severity'>, Partial<Pick<Violation, 'expected' | 'actual'>> {
  /** The rule that the answer breaks. */
  rule: Violation['rule'] | 'anchor' | 'form';
  /** The name of the anchor, for the rule `anchor`. */
  anchor?: string;
}

/** What is known about one attempt of a step. */
export interface AttemptDetails {
  /** From 1. */
  attempt: number;
  /** Whether the attempt had an answer that passed. */
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
function violationsOf({ anchors, misfit, violations = [] }: AnswerVerdict): StepViolation[] {
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
interface AttemptOutcome {
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
  const violations = verdict === undefined ? (same?.violations ?? []) : fittingViolations(violationsOf(verdict).map(shortenedViolation));
  if (violations.length === 0 && error === undefined) return [...known];
  const isExplained = violations.some(({ severity }) => severity === 'error');
  const entry: AttemptDetails = {
    attempt,
    success: error === undefined,
    ...(violations.length === 0 ? {} : { violations }),
    ...defined({ code: error?.code }),
    ...(error === undefined || isExplained ? {} : { message: cutText(error.message, MAX_MESSAGE_BYTES) }),
  };
  const details = [...known.filter((one) => one !== same), entry];
  while (details.length > 1 && jsonBytes(details) > MAX_BYTES) details.shift();
  return details;
}

/** Returns as many violations as fit, the first ones. */
function fittingViolations(violations: readonly StepViolation[]): StepViolation[] {
  let bytes = 0;
  return violations.filter((violation) => {
    bytes += jsonBytes(violation);
    return bytes <= MAX_BYTES;
  });
}

function shortenedViolation({ message, expected, actual, ...violation }: StepViolation): StepViolation {
  return {
    ...violation,
    message: cutText(message, MAX_MESSAGE_BYTES),
    ...(expected === undefined ? {} : { expected: cutText(expected, MAX_MESSAGE_BYTES) }),
    ...(actual === undefined ? {} : { actual: cutText(actual, MAX_MESSAGE_BYTES) }),
  };
}
