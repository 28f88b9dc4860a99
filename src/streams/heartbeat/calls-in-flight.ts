import type { Client } from '@temporalio/client';
import type { LoadedDataConverter } from '@temporalio/common';
import { decodeArrayFromPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { withoutUncountedAttempts } from '../../core/domain/errors/worker-wait.ts';
import { type StreamedOutput, streamedOutputIn } from '../../core/domain/stream/streamed-output.ts';

/** The activities of a run that are in flight, as the server knows them. */
export interface CallsInFlight {
  /** The recent output of each live call. */
  outputs: StreamedOutput[];
  /** An id for the attempt of each other activity. */
  others: string[];
}

/** The run whose calls are read. */
export interface ReadCallsRequest {
  client: Client;
  converter: LoadedDataConverter;
  namespace: string;
  runId: string;
}

/** Asks the server for the activities of a run: one call, without its memo and its search attributes, which may be unreadable. */
export async function readCalls({ client, converter, namespace, runId }: ReadCallsRequest): Promise<CallsInFlight> {
  const { pendingActivities } = await client.workflowService.describeWorkflowExecution({ namespace, execution: { workflowId: runId } });
  const calls = await Promise.all(
    (pendingActivities ?? []).map(async ({ activityId, attempt, heartbeatDetails }) => {
      // Details of another key, or of a tool of the user, are not for the reader.
      const [details] = await decodeArrayFromPayloads(converter, heartbeatDetails?.payloads).catch(() => []);
      return { id: `${activityId}/${attempt}`, output: streamedOutputIn(withoutUncountedAttempts(details)) };
    }),
  );
  return {
    outputs: calls.flatMap(({ output }) => output ?? []),
    others: calls.flatMap(({ id, output }) => (output === undefined ? [id] : [])),
  };
}
