import { cutText, jsonBytes } from './byte-budgets.ts';
import type { ErrorCode } from './errors.ts';
import { defined } from './json.ts';

/** The checks of one answer, as recorded by the activity that received it. */
export interface AnswerVerdict {
  /** The answer has no text: it was not checked any further. */
  empty?: true;
  /** Absent if the step has no anchors. */
  anchors?: AnchorVerdict;
  /**
   * The violations found by the semantic validator, including warnings. Absent if the answer was not validated: it breaches an anchor, or
   * the step declares nothing.
   */
  violations?: Violation[];
  /** The confidence declared by the answer. */
  confidence?: number;
  /** The problem, if the answer does not have the form that the step declares. */
  misfit?: string;
}

/** The violations of one anchor in an answer. */
export interface AnchorBreach {
  /** The name of the anchor. */
  anchor: string;
  /** Its constraints that the answer breaks. */
  violations: string[];
}

/** The outcome of all anchors for an answer, as plain data. */
export interface AnchorVerdict {
  /** True if no anchor blocks the answer. */
  passed: boolean;
  /** The names of the anchors that were checked, in order. */
  checked: string[];
  /** The breaches that block the answer, in the order of the anchors. */
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
  /** What the rule expects of the answer. */
  expected: string;
  /** What the answer has instead. */
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
  /** The confidence declared by the answer; null if it declares none, or no minimum is required. */
  confidence: number | null;
}

/** The part of an event that identifies its program step. */
export interface StepNote {
  /** The unit, or the address of the step: `sort`, `sort.Kind`, `fan.Sum[3]`. */
  at: string;
  /** The kind of step, or `unit`. */
  kind: string;
  /** `attempt`: an attempt has ended. `start` and `end`: the step or unit has begun or ended. */
  type: 'start' | 'attempt' | 'end';
  /** 1-based. */
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
  /** For a model call: the provider's warnings about its request. */
  warnings?: string[];
  /** Why the step failed. Absent unless it failed. */
  error?: StepError;
  /** The reason why the step was skipped. */
  reason?: string;
  /** The id of the child run started by the step. */
  child?: string;
  /** The output was reused from an earlier run, at no cost. */
  reused?: true;
}

/** A failure of a step of a program, as plain data. */
export interface StepError {
  /** The code of the error, as described in the table of errors. */
  code: ErrorCode;
  /** What failed, in words. */
  message: string;
  /** Where it failed. */
  context: StepErrorContext;
  /** For used-up attempts: the last attempt's failure. */
  cause?: StepError;
}

/** The circumstances of a failure. Empty fields are absent. */
export interface StepErrorContext {
  /** The name of the step. */
  step?: string;
  /** The name of the unit of the step (AXON's flow). */
  unit?: string;
  /** The number of the attempt. 1-based. */
  attempt?: number;
  /** The type declared by the step. */
  expectedType?: string;
  /** The failed answer, as debug text. */
  actualValue?: string;
  /** The anchors that were breached, separated by commas. */
  anchorName?: string;
  /** The violations, or further details of the failure. */
  details?: string;
}

/** A violation found by the checks of an answer: by a validator rule, an anchor, or the declared form. */
export interface StepViolation extends Pick<Violation, 'message' | 'severity'>, Partial<Pick<Violation, 'expected' | 'actual'>> {
  /** The rule that the answer breaks. */
  rule: Violation['rule'] | 'anchor' | 'form';
  /** The name of the anchor, for the rule `anchor`. */
  anchor?: string;
}

/** The details of one attempt of a step. */
export interface AttemptDetails {
  /** 1-based. */
  attempt: number;
  /** True if the attempt had an answer that passed. */
  success: boolean;
  /** The violations found in its answer, including warnings. */
  violations?: StepViolation[];
  /** The code of the failure. */
  code?: ErrorCode;
  /** The message of a failure that is not in the violations. */
  message?: string;
}

/** The maximum bytes of JSON of a step's details, and of one message in them. The record of events has everything. */
const MAX_BYTES = 4_000;
const MAX_MESSAGE_BYTES = 500;

/** Lists the violations in an answer: of anchors, of its form, and of validator rules. */
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

/** The outcome of an attempt: the checks of its answer, or its failure. Both are absent if there is nothing to report. */
interface AttemptOutcome {
  attempt: number;
  verdict?: AnswerVerdict;
  error?: StepError;
}

/**
 * Adds the outcome of an attempt to a step's details. A checked answer may fail later in a review: then its entry is replaced. If there are
 * too many, the details of the first attempts are dropped.
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

/** Returns the first violations that fit. */
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
