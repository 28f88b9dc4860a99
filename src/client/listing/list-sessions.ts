import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import type { RunStatus } from '../../core/domain/run.ts';
import { SEARCH_ATTRIBUTES } from '../../core/protocol.ts';
import type { PrincipalFilter } from '../principals/principal-conditions.ts';
import type { ListPage, PageOptions } from './list-page.ts';
import { type ExecutionFilter, filteredPage, listExecutions, type RunListEntry, runEntry } from './list-runs.ts';

/** The sessions to list. */
export interface SessionFilter extends PrincipalFilter {
  /** The name of the agent that they began with. */
  agent?: string;
  /** `idle` between two turns; `completed` once they are closed. */
  status?: RunStatus;
  /** Only sessions that were started with this tag, possibly among others. */
  tag?: string;
  /** Only sessions that were started at that time or later. ISO 8601. */
  startedAfter?: string;
  /** Only sessions that were started before that time. ISO 8601. */
  startedBefore?: string;
  /** A further condition in Temporal's list filter language. */
  query?: string;
  /** The largest number of sessions. Default: all. */
  limit?: number;
}

/** A session in a list. */
export interface SessionListEntry extends Omit<RunListEntry, 'runId' | 'kind' | 'agentName'> {
  sessionId: string;
  agentName: string;
}

/** Yields the sessions of the namespace, newest first. Needs the search attributes of the namespace; one that was started without them is not listed. */
export async function* listSessions(
  client: Client,
  { agent, ...filter }: SessionFilter & Pick<ExecutionFilter, 'principalConditions'> = {},
): AsyncGenerator<SessionListEntry> {
  for await (const info of listExecutions(client, { ...filter, sessionOf: agent ?? true })) yield await sessionEntry(client, info);
}

/** Returns a page of the sessions of the namespace. */
export async function sessionsPage(
  client: Client,
  { agent, ...filter }: SessionFilter & Pick<ExecutionFilter, 'principalConditions'>,
  page: PageOptions,
): Promise<ListPage<SessionListEntry>> {
  const { items, ...next } = await filteredPage(client, { ...filter, sessionOf: agent ?? true }, page);
  return { items: await Promise.all(items.map((info) => sessionEntry(client, info))), ...next };
}

async function sessionEntry(client: Client, info: WorkflowExecutionInfo): Promise<SessionListEntry> {
  const { runId, kind: _, agentName: acting, ...entry } = await runEntry(client, info);
  const began = info.typedSearchAttributes.getAll().find(({ key }) => key.name === SEARCH_ATTRIBUTES.session)?.value;
  return { sessionId: runId, agentName: typeof began === 'string' ? began : (acting ?? ''), ...entry };
}
