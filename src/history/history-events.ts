import type { Client } from '@temporalio/client';
import type { temporal } from '@temporalio/proto';
import { GRPC, grpcCode } from '../temporal/grpc-code.ts';

/** One event of a workflow's history. */
export type HistoryEvent = temporal.api.history.v1.IHistoryEvent;

const USUAL_PAGE_SIZE = 100;

/**
 * Reads the history of one execution of a run, event by event: the one with that Temporal run id, or the newest.
 * Pages shrink if the content is large, because one page over the 4 MB limit of a gRPC message would make the whole
 * history unreadable. A caller that needs only the first events passes a small `pageSize`.
 */
export async function* runHistory(
  client: Client,
  workflowId: string,
  runId?: string,
  pageSize: number = USUAL_PAGE_SIZE,
): AsyncGenerator<HistoryEvent> {
  let maximumPageSize = pageSize;
  let nextPageToken = new Uint8Array();
  for (;;) {
    let page;
    try {
      page = await client.workflowService.getWorkflowExecutionHistory({
        namespace: client.options.namespace,
        execution: { workflowId, ...(runId === undefined ? {} : { runId }) },
        maximumPageSize,
        nextPageToken,
      });
    } catch (error) {
      if (grpcCode(error) !== GRPC.resourceExhausted || maximumPageSize === 1) throw error;
      maximumPageSize = Math.max(1, Math.floor(maximumPageSize / 8));
      continue;
    }
    yield* page.history?.events ?? [];
    if (!page.nextPageToken?.length) return;
    nextPageToken = Uint8Array.from(page.nextPageToken);
  }
}
