import { getClient } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import { runOutcome } from '../../src/temporal/run-outcome.ts';
import { readExecution } from '../../src/history/read-run.ts';
import type { RunResultFields } from '../../src/core/domain/run/result.ts';
import type { ReadResultInput } from '../../src/core/protocol.ts';
import { failingAs } from '../failures/failure.ts';
import { hasEnded } from './has-ended.ts';
import { readTurn } from './read-turn.ts';

/**
 * Reads the result of a run for the workflow that started it: the close of a cancelled child carries none, and the close of
 * any child does not reach the later executions of its parent. Null if the run goes on and is not to be waited for.
 */
export const readResult: (input: ReadResultInput) => Promise<RunResultFields | null> = failingAs(
  'internal',
  async ({ runId, turn, ifEnded, whole }) => {
    if (turn !== undefined) return readTurn(runId, turn);
    const client = getClient();
    if (ifEnded && !(await hasEnded(client, runId))) return null;
    const result = await runOutcome(client, runId);
    if (!whole || !result.outputTruncated) return result;
    const { outputTruncated: _, ...rest } = result;
    const recorded = await recordedResult(client, runId);
    return recorded === undefined ? result : { ...rest, output: recorded.output };
  },
);

/** Returns the result of a run as it returned it, with an output of any size. Undefined if the server has removed its history. */
async function recordedResult(client: Client, runId: string): Promise<RunResultFields | undefined> {
  const { runId: executionId } = await client.workflow.getHandle(runId).describe();
  return (await readExecution(client, runId, executionId))?.run.result;
}
