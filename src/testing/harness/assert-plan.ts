import { AssertionError } from 'node:assert';
import { errorMessage } from '../../core/domain/errors.ts';
import type { ModelClient } from '../../core/domain/model.ts';
import type { RunResultFields } from '../../core/domain/result.ts';
import type { Harness } from './harness.ts';

/**
 * Throws an AssertionError if a planned fault or message did not happen, or the script ran out or was not used up.
 * The message contains the end of the run, which is usually the cause.
 */
export function assertPlanCarriedOut(
  { plan }: Harness,
  model: ModelClient & { assertUsedUp?: () => void },
  { status, error }: Pick<RunResultFields, 'status' | 'error'>,
): void {
  try {
    plan.assertHappened();
    model.assertUsedUp?.();
  } catch (problem) {
    const end = `The run ended with status "${status}"${error === null ? '' : `: ${error}`}`;
    throw new AssertionError({ message: `${errorMessage(problem)} ${end}`, stackStartFn: assertPlanCarriedOut });
  }
}
