import type { ErrorCode } from '../errors/error.ts';
import type { JsonValue } from '../json/json.ts';

/** The failure of a step or of one of its attempts. */
export interface StepError {
  code: ErrorCode;
  message: string;
  context: StepErrorContext;
}

/** The circumstances of a failed step. Absent fields are not known or do not apply. */
export interface StepErrorContext {
  step?: string;
  unit?: string;
  /** From 1. */
  attempt?: number;
  expectedType?: string;
  actualValue?: JsonValue;
  anchorName?: string;
  details?: string;
}
