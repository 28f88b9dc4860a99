import type { Client } from '@temporalio/client';
import type { ExecutionBeginning } from '../history/execution-reader.ts';

/**
 * Yields the run that has started a run, the run that has started that one, and so on, as far as the server has them. The prefix of an id is
 * no proof of that: an unrelated run may share it.
 */
export async function* runsAbove(client: Client, runId: string): AsyncGenerator<string> {
  const { executionBeginning } = await import('../history/execution-reader.ts');
  let id: string | undefined = runId;
  // The id of a run below another one begins with that one's id and a slash.
  while (id?.includes('/') === true) {
    const beginning: ExecutionBeginning | undefined = await executionBeginning(client, id);
    id = beginning?.parentRunId;
    if (id !== undefined) yield id;
  }
}
