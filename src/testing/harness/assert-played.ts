import { AssertionError } from 'node:assert';
import { errorMessage } from '../../core/domain/errors/error.ts';
import type { ModelClient } from '../../core/domain/model/model.ts';
import type { RunResultFields } from '../../core/domain/run/run-result.ts';
import type { Harness } from './harness.ts';

/**
 * Throws an AssertionError where something of a test's plan has not happened, or its script was not used up or ran out.
 * It says how the run has ended: most often that is why.
 */
export function assertPlayed(
  { plan }: Harness,
  model: ModelClient & { assertUsedUp?: () => void },
  { status, error }: Pick<RunResultFields, 'status' | 'error'>,
): void {
  try {
    plan.assertHappened();
    model.assertUsedUp?.();
  } catch (problem) {
    const end = `The run ended with status "${status}"${error === null ? '' : `: ${error}`}`;
    throw new AssertionError({ message: `${errorMessage(problem)} ${end}`, stackStartFn: assertPlayed });
  }
}
