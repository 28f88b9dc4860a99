import type { JsonValue } from '../json/json.ts';
import type { AggregatedUsage } from '../model/usage.ts';
import type { AttemptDetails } from './attempt-details.ts';
import type { StepKind } from './document.ts';
import type { StepState, UnitState } from './program-state.ts';
import type { StepError } from './step-error.ts';

/** The result of a unit. */
export interface UnitResult {
  name: string;
  status: UnitState['status'] | 'not_started';
  error?: StepError;
  /** The reason why it was skipped. */
  reason?: string;
  durationMs?: number;
  /** The steps that have begun, in the order in which they began. Those of the items of a `forEach` that have ended are not among them. */
  steps: ProgramStepResult[];
  /** True: steps were left out to fit into the result. The record of events has them. */
  stepsCut?: true;
}

/** The result of one execution of a step. */
export interface ProgramStepResult {
  /** The name of the step, with the indexes of its items and rounds: `Sum[3]`. */
  name: string;
  kind: StepKind;
  status: StepState['status'];
  output?: JsonValue;
  /** True: the output is too large for the result. The record of events has it. */
  outputCut?: true;
  /** The text beside a structured output, or its beginning: the record of events has all of it. */
  text?: string;
  /** The tokens of all attempts, and the number of their model calls. Absent if they have made none. */
  usage?: AggregatedUsage;
  /** The number of attempts that have begun. */
  attempts: number;
  /** The attempts that failed, or whose answers have violations, in their order; of many, the last ones. */
  attemptDetails?: AttemptDetails[];
  /** True: text and details are too large for the result. The record of events has them. */
  detailsCut?: true;
  /** True: the output was taken over from an earlier run. */
  reused?: true;
  error?: StepError;
  reason?: string;
  durationMs?: number;
}
