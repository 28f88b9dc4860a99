import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import { executionInfoFromRaw } from '@temporalio/client/lib/helpers.js';
import { withoutMemos } from '../../temporal/without-memos.ts';

/** The page of a list to return. */
export interface PageOptions {
  /** The largest number of items that the server looks at. */
  pageSize: number;
  /** The `next` of the page before, of the same list with the same filter. Absent: the first page. */
  after?: string;
}

/** A page of a list. */
export interface ListPage<Item> {
  items: Item[];
  /** Leads to the next page, in any process. Absent on the last one. */
  next?: string;
}

/** Returns a page of the executions that the server lists for a query, with memos left undecoded. */
export async function executionsPage(
  client: Client,
  query: string,
  { pageSize, after }: PageOptions,
): Promise<ListPage<WorkflowExecutionInfo>> {
  const { workflowService, options } = withoutMemos(client);
  const { namespace, loadedDataConverter } = options;
  const nextPageToken = after === undefined ? null : Buffer.from(after, 'base64url');
  const page = await workflowService.listWorkflowExecutions({ namespace, query, pageSize, nextPageToken });
  const items = await Promise.all((page.executions ?? []).map((raw) => executionInfoFromRaw(raw, loadedDataConverter, raw, namespace)));
  const token = page.nextPageToken;
  return {
    items,
    ...(token === undefined || token === null || token.length === 0 ? {} : { next: Buffer.from(token).toString('base64url') }),
  };
}
