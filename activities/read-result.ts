import { getClient } from '@temporalio/activity';
import { runOutcome } from '../src/client/run-outcome.ts';
import type { RunResultFields } from '../src/domain/run-result.ts';
import type { ReadResultInput } from '../src/protocol.ts';
import { toFailure } from './failure.ts';

/** Reads the result that a cancelled run left in its memo, for the workflow that started it: a cancelled child's close carries none. */
export async function readResult({ runId }: ReadResultInput): Promise<RunResultFields> {
  try {
    return await runOutcome(getClient(), runId);
  } catch (error) {
    throw toFailure(error, 'internal');
  }
}
