/** The constraint that an anchor declares: the model reads it in its system prompt. */
export interface AnchorConstraint {
  readonly name: string;
  /** The thing that an answer must have. */
  readonly require?: string;
  /** The things that an answer must not have. */
  readonly reject?: readonly string[];
  /** The rule in words. */
  readonly enforce?: string;
  /** The least confidence, from 0 to 1, with which the model may answer. Told to the model, and not checked. */
  readonly confidenceFloor?: number;
  /** The answer of a model that is uncertain. Told to the model, and not checked. */
  readonly unknownResponse?: string;
  /** `raise`: a breach fails the attempt. `warn`: a breach is recorded, and the answer passes. */
  readonly onViolation: 'raise' | 'warn';
}

/** The circumstances of a check. */
export interface AnchorContext {
  /** The name of the step that the answer belongs to. */
  readonly step: string;
}

/** An anchor: a constraint, and the check of an answer that has to keep it. Runs in the worker. */
export interface Anchor extends AnchorConstraint {
  /** Returns the violations in an answer, as sentences; none if it passes. */
  readonly check: (text: string, context: AnchorContext) => string[] | Promise<string[]>;
}

/** An anchor that is part of the product. Its check takes time in proportion to the length of the text. */
export interface BuiltInAnchor extends Anchor {
  readonly description: string;
  readonly check: (text: string) => string[];
}

/** Returns the severity of a breach. */
export function severityOf({ onViolation }: AnchorConstraint): 'error' | 'warning' {
  return onViolation === 'warn' ? 'warning' : 'error';
}
