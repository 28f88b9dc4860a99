import { getClient } from '@temporalio/activity';
import { runOutcome } from '../../src/temporal/run-outcome.ts';
import type { RunResultFields } from '../../src/core/domain/run/result.ts';
import type { ReadResultInput } from '../../src/core/protocol.ts';
import { failingAs } from '../failures/failure.ts';

/** Reads the result that a cancelled run left in its memo, for the workflow that started it: a cancelled child's close carries none. */
export const readResult: (input: ReadResultInput) => Promise<RunResultFields> = failingAs('internal', ({ runId }) =>
  runOutcome(getClient(), runId),
);
