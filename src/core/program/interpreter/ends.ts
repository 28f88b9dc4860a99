// Programs: the ends of attempts, steps and lists of steps.

import type { JsonValue } from '../../domain/json.ts';
import type { StepDocument } from '../../domain/program-document.ts';
import type { StepError } from '../../domain/verdicts.ts';

/** The end of a step or a list of steps. `stopped`: the run ends, or goes on in its next execution, before that. */
export type StepsEnd = 'completed' | 'failed' | 'stopped';

/** The end of one attempt of a step. */
export type AttemptEnd =
  /** `id`: the id under which workers keep the output. */
  | { type: 'done'; output: JsonValue; id: string }
  /** `id`: the id of the event of the failure. `isFinal`: no further attempt may be made. */
  | { type: 'failed'; error: StepError; id: string; isFinal?: true }
  /** The run stops: the attempt is made, or goes on, in the next execution. */
  | { type: 'stopped' };

/** The list of steps of one unit, case, branch, item or round. */
export interface StepList {
  unit: string;
  steps: readonly StepDocument[];
  /** The index of the item or round of each block around the list. */
  indexes: readonly number[];
}
