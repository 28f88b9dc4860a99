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
  rule: ViolationRule;
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
