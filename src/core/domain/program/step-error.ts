import type { ErrorCode } from '../errors/error.ts';

/** A failure of a step of a program, as plain data. */
export interface StepError {
  code: ErrorCode;
  message: string;
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
