import type { Client } from '@temporalio/client';
import type { temporal } from '@temporalio/proto';
import { GRPC, grpcCode } from '../temporal/grpc-code.ts';

/** One event of a workflow's history. */
export type HistoryEvent = temporal.api.history.v1.IHistoryEvent;

const USUAL_PAGE_SIZE = 100;

/**
 * The history of one execution of a run, event by event: of the one with that Temporal run id, or of the newest.
 * Pages shrink where the content is large: one page over the 4 MB of a gRPC message would otherwise make the whole
 * history unreadable. Who needs but the first events asks for small pages.
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
