import type { Client } from '@temporalio/client';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import type { temporal } from '@temporalio/proto';
import { defined } from '../core/domain/json.ts';
import { GRPC, grpcCode } from '../temporal/server-calls.ts';

/** One event of a workflow's history. */
export type HistoryEvent = temporal.api.history.v1.IHistoryEvent;

const USUAL_PAGE_SIZE = 100;

/**
 * Reads the history of one execution of a run, event by event: the one with this Temporal run id, or the newest.
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
        execution: { workflowId, ...defined({ runId }) },
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

/** True for the closing event of an execution, unless it continues as new. */
export function isClose(event: HistoryEvent): boolean {
  return Boolean(
    event.workflowExecutionCompletedEventAttributes ??
    event.workflowExecutionFailedEventAttributes ??
    event.workflowExecutionCanceledEventAttributes ??
    event.workflowExecutionTerminatedEventAttributes ??
    event.workflowExecutionTimedOutEventAttributes,
  );
}

/** The page size for the newest events: a reader needs few of them. */
const NEWEST_AT_ONCE = 10;

/** Reads the history of one execution from its end to its beginning. */
export async function* newestEvents(client: Client, workflowId: string, runId: string): AsyncGenerator<HistoryEvent> {
  let nextPageToken = new Uint8Array();
  for (;;) {
    const page = await client.workflowService.getWorkflowExecutionHistoryReverse({
      namespace: client.options.namespace,
      execution: { workflowId, runId },
      maximumPageSize: NEWEST_AT_ONCE,
      nextPageToken,
    });
    yield* page.history?.events ?? [];
    if (!page.nextPageToken?.length) return;
    nextPageToken = Uint8Array.from(page.nextPageToken);
  }
}

/** The executions of a run, linked by continue-as-new. */
interface ExecutionChain {
  /** Temporal's run ids, oldest first. */
  executionIds: string[];
  /** False if the server has removed earlier executions because their retention period is over. */
  complete: boolean;
}

/**
 * Returns the executions of a run, found from one of them back to the first: each execution names the one before it.
 */
export async function executionChain(client: Client, workflowId: string, lastExecutionId: string): Promise<ExecutionChain> {
  const executionIds = [lastExecutionId];
  for (;;) {
    const event = await startedEvent(client, workflowId, executionIds[0]);
    if (event === undefined) return { executionIds: executionIds.slice(1), complete: false };
    const before = continuedFrom(event);
    if (before === undefined) return { executionIds, complete: true };
    executionIds.unshift(before);
  }
}

/** Returns the first event of an execution's history, or undefined if the server no longer has the execution. */
export async function startedEvent(client: Client, workflowId: string, executionId?: string): Promise<HistoryEvent | undefined> {
  try {
    for await (const event of runHistory(client, workflowId, executionId, 1)) return event;
    return undefined;
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}

/** Returns the execution that this one, given by its first event, continues; undefined for the first of a run. */
export function continuedFrom(event: HistoryEvent): string | undefined {
  return event.workflowExecutionStartedEventAttributes?.continuedExecutionRunId || undefined;
}

/** True for the error of a server that does not have an execution, or no longer has it. */
export function isGone(error: unknown): boolean {
  return grpcCode(error) === GRPC.notFound;
}

/** The whole history of one execution. */
export interface ExecutionHistory {
  events: HistoryEvent[];
}

/** Reads the history of one execution of a run, named by Temporal's run id. */
export async function executionHistory(client: Client, workflowId: string, executionId: string): Promise<ExecutionHistory> {
  const events: HistoryEvent[] = [];
  for await (const event of runHistory(client, workflowId, executionId)) events.push(event);
  return { events };
}

/** Returns a history in the format of `temporal workflow show --output json`, with payloads as the server has them. */
export function historyJson(history: ExecutionHistory): string {
  return historyToJSON(history);
}
