import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import { executionInfoFromRaw } from '@temporalio/client/lib/helpers.js';
import { decodeArrayFromPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { LonghaulError, UsageError } from '../core/domain/errors.ts';
import { defined } from '../core/domain/json.ts';
import { RUN_STATUS, RUN_STATUSES, type RunStatus } from '../core/domain/run.ts';
import { didYouMean, shownValue } from '../core/domain/text.ts';
import {
  listOf,
  NUMBER,
  object,
  type ObjectOf,
  oneOf,
  optional,
  orNull,
  type Shape,
  shape,
  TEXT,
  TIMESTAMP,
} from '../core/domain/shape.ts';
import { PROGRAM_RUN, SEARCH_ATTRIBUTES, TITLE_MEMO } from '../core/protocol.ts';
import { statusOf, withoutMemos } from '../temporal/run-workflow.ts';
import { GRPC, grpcCode, isUnanswered } from '../temporal/server-calls.ts';
import type { RunSort } from './client-options.ts';
import type { UnreadRuns } from './unread-runs.ts';
import { IS_RUN, isHashedUser, type ListPage, type PageOptions, type PrincipalFilter, quoted } from './visibility.ts';

/** The runs to list. */
export interface ListFilter extends PrincipalFilter, UnreadRuns {
  /** The name of the agent or the program. */
  agent?: string;
  /** Only runs with this status. */
  status?: RunStatus;
  /** Only runs with this tag. */
  tag?: string;
  /** Only runs with a call of this tool that waits for a decision; `true`: runs that wait for any decision, also about a limit. */
  waitingFor?: string | true;
  /** Only runs whose id begins with this text. */
  runIdPrefix?: string;
  /** Only runs that started at this time or later. ISO 8601. */
  startedAfter?: string;
  /** Only runs that started before this time. ISO 8601. */
  startedBefore?: string;
  /** A further condition in Temporal's list filter language. */
  query?: string;
  /** True: the entries have the steps, tokens and cost of their runs, for which each run is read. One that cannot be read has none. */
  amounts?: boolean;
  /**
   * The order. `started` (default) is the server's order: open runs first, then closed runs, latest end first. The open ones are ordered by
   * their newest execution, latest start first: a run that has continued as new comes before runs that started after it. The other
   * orders sort by what the runs have used, largest first. The server cannot sort by these, so only the first 1,000 matching runs of
   * its order are sorted.
   */
  sort?: RunSort;
  /** Called with the number of sorted runs if more than these match, for an order other than `started`. */
  onCut?: (sorted: number) => void;
  /** The maximum number of runs. Default: all. */
  limit?: number;
}

/** What a run has used itself. A program includes its descendants. */
export interface RunAmounts {
  /** The number of completed steps. */
  steps: number;
  /** With estimates. */
  tokens: number;
  /** US dollars. Absent if no price is known. */
  cost?: number;
}

export const RUN_LIST_ENTRY_MEMBERS = {
  /** The id of the run. */
  runId: TEXT,
  /** The kind of run: of an agent or of a program. */
  kind: oneOf('agent', 'program'),
  /** The name of the agent or the program. Undefined if the namespace lacks Longhaul's search attributes. */
  agentName: optional(shape<string | undefined>(TEXT)),
  /** Undefined for a run that closed as Completed in such a namespace: it may have completed, or a limit may have ended it. */
  status: optional(shape<RunStatus | undefined>(RUN_STATUS)),
  /** The tools whose calls wait for a decision; `raise_limits` for a limit. Empty if the namespace lacks the search attribute. */
  waitingFor: listOf(TEXT),
  /** Its principal. Absent if it has no tenant or no user, and if users are hashed or the namespace lacks the search attributes. */
  tenant: optional(TEXT),
  /** The user on whose behalf it acts. Absent like the tenant. */
  user: optional(TEXT),
  /** The title of a session. Absent if it has none, or if it cannot be decoded, for example without the encryption key. */
  title: optional(TEXT),
  /** The tags of its start. Absent if there are none, or if the namespace lacks the search attribute. */
  tags: optional(listOf(TEXT)),
  /** When the run started, not its newest execution. ISO 8601. */
  startTime: TIMESTAMP,
  /** ISO 8601. Null while it is running. */
  endTime: orNull(TIMESTAMP),
  /** Milliseconds from start to end. Absent while it is running. */
  durationMs: optional(NUMBER),
  /** The number of completed steps. Only in a list with amounts. */
  steps: optional(NUMBER),
  /** The tokens of its model calls, with estimates. Only in a list with amounts. */
  tokens: optional(NUMBER),
  /** US dollars. Only in a list with amounts, if a price is known. */
  cost: optional(NUMBER),
};

/** A run in a list. */
export interface RunListEntry extends ObjectOf<typeof RUN_LIST_ENTRY_MEMBERS> {}
export const RUN_LIST_ENTRY: Shape<RunListEntry> = object(RUN_LIST_ENTRY_MEMBERS);

/** The runs to count. */
export type CountFilter = Omit<ListFilter, 'limit' | 'amounts' | 'sort' | 'onUnread' | 'onCut'>;

export interface ExecutionFilter extends ListFilter {
  /** Workflows of this type, instead of runs. */
  workflowType?: string;
  /** Only sessions: of this agent, or `true` for all agents. */
  sessionOf?: string | true;
  /** Conditions on the principal of the runs. */
  principalConditions?: readonly string[];
}

/** Yields the newest execution of each matching run, as Temporal lists it. */
export async function* listExecutions(client: Client, filter: ExecutionFilter = {}): AsyncGenerator<WorkflowExecutionInfo> {
  let left = filter.limit ?? Infinity;
  const first = async (query: string): Promise<FirstOfList> => {
    const rest = withoutMemos(client).workflow.list({ query })[Symbol.asyncIterator]();
    return { rest, begun: await rest.next() };
  };
  const { rest, begun } = await search(client, filter, first);
  for (let next = begun; next.done !== true && left > 0; next = await rest.next()) {
    if (!hasTag(next.value, filter)) continue;
    left -= 1;
    yield next.value;
  }
}

/** A list whose query the server has accepted: the answer to it, and the rest. */
interface FirstOfList {
  begun: IteratorResult<WorkflowExecutionInfo, unknown>;
  rest: AsyncIterator<WorkflowExecutionInfo, unknown>;
}

/**
 * Searches by a filter. In a namespace that lacks the attribute with the start of runs, filters apply to the start of the newest execution,
 * which is all that is known there. Throws `invalid_input` for a filter that the server refuses.
 */
export async function search<Answer>(client: Client, filter: ExecutionFilter, ask: (query: string) => Promise<Answer>): Promise<Answer> {
  try {
    return await ask(visibilityQuery(filter));
  } catch (error) {
    if (grpcCode(error) !== GRPC.invalidArgument) throw error;
    const ofExecutions = visibilityQuery(filter, executionStarts);
    if (ofExecutions === visibilityQuery(filter)) throw badQuery(client, filter, error);
    return ask(ofExecutions).catch((other: unknown) => {
      throw grpcCode(other) === GRPC.invalidArgument ? badQuery(client, filter, other) : other;
    });
  }
}

/** Returns a page of the executions that a filter selects, each converted to a list entry. */
export async function executionsPage<Entry>(
  client: Client,
  filter: ExecutionFilter,
  { pageSize, after }: PageOptions,
  entryOf: (client: Client, info: WorkflowExecutionInfo) => Promise<Entry>,
): Promise<ListPage<Entry>> {
  const { workflowService, options } = withoutMemos(client);
  const { namespace, loadedDataConverter } = options;
  const nextPageToken = after === undefined ? null : Buffer.from(after, 'base64url');
  try {
    const page = await search(client, filter, (query) =>
      workflowService.listWorkflowExecutions({ namespace, query, pageSize, nextPageToken }),
    );
    const listed = await Promise.all((page.executions ?? []).map((raw) => executionInfoFromRaw(raw, loadedDataConverter, raw, namespace)));
    const items = await Promise.all(listed.filter((info) => hasTag(info, filter)).map((info) => entryOf(client, info)));
    const token = page.nextPageToken ?? [];
    return { items, ...(token.length === 0 ? {} : { next: Buffer.from(token).toString('base64url') }) };
  } catch (error) {
    // The server says no more about a position that it cannot read.
    if (after !== undefined && grpcCode(error) === GRPC.unknown) {
      throw new LonghaulError('invalid_input', 'The list has no such page: pass the "next" of the page before', { cause: error });
    }
    throw error;
  }
}

/** Yields the runs of the namespace, open ones first. Filters by agent, status, tag or waiting calls need the search attributes. */
export async function* listRuns(client: Client, filter: ExecutionFilter = {}): AsyncGenerator<RunListEntry> {
  for await (const info of listExecutions(client, filter)) yield await runEntry(client, info);
}

export function runsPage(client: Client, filter: ExecutionFilter, page: PageOptions): Promise<ListPage<RunListEntry>> {
  return executionsPage(client, filter, page, runEntry);
}

/** The visibility store of a dev server matches single words in lists, so that `acme` also finds `acme-eu`. */
function hasTag(info: WorkflowExecutionInfo, { tag }: ListFilter): boolean {
  return tag === undefined || tagsOf(info).includes(tag);
}

/** Returns the status of a filter. Throws a UsageError for an unknown one. */
function checkStatus(status: RunStatus): RunStatus {
  if (RUN_STATUSES.includes(status)) return status;
  const known = RUN_STATUSES.map((one) => `"${one}"`).join(', ');
  throw new UsageError(`the list: "status" is ${shownValue(status)}: write one of ${known}${didYouMean(status, RUN_STATUSES)}`);
}

/** Returns a filter in Temporal's list filter language. */
export function visibilityQuery(all: ExecutionFilter, starts: typeof runStarts = runStarts): string {
  const { agent, status, waitingFor, tag, query, runIdPrefix, workflowType, sessionOf, ...filter } = all;
  // A run that continued as new has several executions, but is listed once.
  const isOfType = workflowType === undefined ? IS_RUN : `WorkflowType IN (${quoted(workflowType)})`;
  const conditions = [isOfType, "ExecutionStatus != 'ContinuedAsNew'"];
  if (agent !== undefined) conditions.push(`${SEARCH_ATTRIBUTES.agent} = ${quoted(agent)}`);
  if (status !== undefined) conditions.push(statusCondition(checkStatus(status)));
  if (waitingFor !== undefined) conditions.push(waitingCondition(waitingFor));
  if (tag !== undefined) conditions.push(`${SEARCH_ATTRIBUTES.tag} = ${quoted(tag)}`);
  if (sessionOf !== undefined)
    conditions.push(`${SEARCH_ATTRIBUTES.session} ${sessionOf === true ? 'IS NOT NULL' : `= ${quoted(sessionOf)}`}`);
  if (runIdPrefix !== undefined) conditions.push(`WorkflowId STARTS_WITH ${quoted(runIdPrefix)}`);
  conditions.push(...startConditions(filter, starts));
  if (query !== undefined) conditions.push(`(${query})`);
  conditions.push(...(filter.principalConditions ?? []));
  return conditions.join(' AND ');
}

/** Returns the conditions for the start time. Throws `invalid_input` for an invalid time. */
function startConditions({ startedAfter, startedBefore }: ListFilter, starts: typeof runStarts): string[] {
  return [
    ...(startedAfter === undefined ? [] : [starts('>=', quoted(timeOf('startedAfter', startedAfter)))]),
    ...(startedBefore === undefined ? [] : [starts('<', quoted(timeOf('startedBefore', startedBefore)))]),
  ];
}

/** The condition for the start of a run: its newest execution started later if it has continued as new, and then has the attribute. */
function runStarts(compared: '>=' | '<', time: string): string {
  const { started } = SEARCH_ATTRIBUTES;
  return `(${started} ${compared} ${time} OR (${started} IS NULL AND ${executionStarts(compared, time)}))`;
}

function executionStarts(compared: '>=' | '<', time: string): string {
  return `StartTime ${compared} ${time}`;
}

function timeOf(name: string, text: string): string {
  const time = new Date(text);
  if (!Number.isNaN(time.getTime())) return time.toISOString();
  throw new LonghaulError('invalid_input', `The list cannot be filtered: "${name}" is "${text}": write a time as ISO 8601 has it`);
}

/**
 * Returns the condition for a status, as `runStatus` reads it: each run has at most one. Temporal's status takes precedence: a run that was
 * ended from outside could not publish its end, and a run that is about to close has already published it.
 */
function statusCondition(status: RunStatus): string {
  const published = `${SEARCH_ATTRIBUTES.status} = ${quoted(status)}`;
  switch (status) {
    case 'completed':
    case 'max_iterations_reached':
    case 'limit_reached':
      return `ExecutionStatus = 'Completed' AND ${published}`;
    case 'error':
      return "ExecutionStatus IN ('Failed', 'Terminated', 'TimedOut')";
    case 'cancelled':
      return "ExecutionStatus = 'Canceled'";
    case 'running':
      return `ExecutionStatus = 'Running' AND (${SEARCH_ATTRIBUTES.status} IS NULL OR ${SEARCH_ATTRIBUTES.status} NOT IN (${OPEN_STATUSES.map(quoted).join(', ')}))`;
    case 'pending_confirmation':
    case 'paused':
    case 'idle':
      return `ExecutionStatus = 'Running' AND ${published}`;
  }
}

/** Returns the condition for waiting calls. It excludes closed runs: a run that was ended from outside keeps its last value. */
export function waitingCondition(waitingFor: string | true): string {
  if (waitingFor === true) return statusCondition('pending_confirmation');
  return `ExecutionStatus = 'Running' AND ${SEARCH_ATTRIBUTES.waitingFor} = ${quoted(waitingFor)}`;
}

/** Returns the list entry of a run. */
export async function runEntry(client: Client, info: WorkflowExecutionInfo): Promise<RunListEntry> {
  const attributes = new Map(info.typedSearchAttributes.getAll().map(({ key, value }) => [key.name, value]));
  const agentName = attributes.get(SEARCH_ATTRIBUTES.agent);
  const tenant = attributes.get(SEARCH_ATTRIBUTES.tenant);
  const user = attributes.get(SEARCH_ATTRIBUTES.user);
  const title = await titleOf(client, info);
  const tags = tagsOf(info);
  const published = attributes.get(SEARCH_ATTRIBUTES.started);
  const startTime = published instanceof Date ? published : info.startTime;
  const waitingFor = info.status.name === 'RUNNING' ? attributes.get(SEARCH_ATTRIBUTES.waitingFor) : undefined;
  return {
    runId: info.workflowId,
    kind: info.type === PROGRAM_RUN ? 'program' : 'agent',
    agentName: typeof agentName === 'string' ? agentName : undefined,
    status: runStatus(info, attributes.get(SEARCH_ATTRIBUTES.status)),
    waitingFor: Array.isArray(waitingFor) ? waitingFor.map(String) : [],
    ...(typeof tenant === 'string' ? { tenant } : {}),
    ...(typeof user === 'string' && !isHashedUser(user) ? { user } : {}),
    ...defined({ title }),
    ...(tags.length > 0 ? { tags } : {}),
    startTime: startTime.toISOString(),
    endTime: info.closeTime?.toISOString() ?? null,
    ...(info.closeTime === undefined ? {} : { durationMs: info.closeTime.getTime() - startTime.getTime() }),
  };
}

/** Returns the title in the memo, or undefined if it cannot be decoded: any client of the namespace can write memos. */
async function titleOf(client: Client, { raw }: WorkflowExecutionInfo): Promise<string | undefined> {
  const payload = raw.memo?.fields?.[TITLE_MEMO];
  if (payload === undefined) return undefined;
  try {
    const [title] = await decodeArrayFromPayloads(client.options.loadedDataConverter, [payload]);
    return typeof title === 'string' ? title : undefined;
  } catch {
    return undefined;
  }
}

function tagsOf({ typedSearchAttributes }: WorkflowExecutionInfo): string[] {
  const found = typedSearchAttributes.getAll().find(({ key }) => key.name === SEARCH_ATTRIBUTES.tag)?.value;
  return Array.isArray(found) ? found.map(String) : [];
}

/** The statuses of runs that Temporal closes as Completed. */
const CLOSED_AS_COMPLETED = ['completed', 'max_iterations_reached', 'limit_reached'] as const;

/** The statuses of an open run, in addition to `running`. */
const OPEN_STATUSES = ['pending_confirmation', 'paused', 'idle'] as const;

/** Combines both sources of the status: the attribute lacks an end from outside, and Temporal's status lacks the details. */
function runStatus({ status }: WorkflowExecutionInfo, published: unknown): RunStatus | undefined {
  const known = statusOf(status.name);
  if (known === 'completed') return CLOSED_AS_COMPLETED.find((one) => one === published);
  return known === 'running' ? (OPEN_STATUSES.find((one) => one === published) ?? known) : known;
}

function badQuery(client: Client, { query }: ListFilter, cause: unknown): LonghaulError {
  const hint =
    query === undefined ? 'a worker registers the search attributes when it starts, if it is allowed to' : `check the query "${query}"`;
  return new LonghaulError('invalid_input', `Namespace "${client.options.namespace}" cannot be searched by that filter: ${hint}`, {
    cause,
  });
}

/** The sessions to list. `agent` is the agent they began with. Their status is `idle` between turns, and `completed` once closed. */
export type SessionFilter = Omit<ListFilter, 'waitingFor' | 'amounts' | 'sort' | 'onUnread' | 'onCut'>;

/** A session in a list. */
export interface SessionListEntry extends Omit<RunListEntry, 'runId' | 'kind' | 'agentName' | keyof RunAmounts> {
  /** The id of the session. */
  sessionId: string;
  /** The agent that the session began with. */
  agentName: string;
}

type ConditionedSessions = SessionFilter & Pick<ExecutionFilter, 'principalConditions'>;

function executionsOf({ agent, ...filter }: ConditionedSessions): ExecutionFilter {
  return { ...filter, sessionOf: agent ?? true };
}

/** Yields the sessions of the namespace, open ones first. Needs the search attributes: a session started without them is not listed. */
export async function* listSessions(client: Client, filter: ConditionedSessions = {}): AsyncGenerator<SessionListEntry> {
  for await (const info of listExecutions(client, executionsOf(filter))) yield await sessionEntry(client, info);
}

export function sessionsPage(client: Client, filter: ConditionedSessions, page: PageOptions): Promise<ListPage<SessionListEntry>> {
  return executionsPage(client, executionsOf(filter), page, sessionEntry);
}

async function sessionEntry(client: Client, info: WorkflowExecutionInfo): Promise<SessionListEntry> {
  const { runId, kind: _, agentName: acting, ...entry } = await runEntry(client, info);
  const began = info.typedSearchAttributes.getAll().find(({ key }) => key.name === SEARCH_ATTRIBUTES.session)?.value;
  return { sessionId: runId, agentName: typeof began === 'string' ? began : (acting ?? ''), ...entry };
}

/**
 * Returns the beginning of a run's first input, from the summary that the server stores with the run but does not list. Undefined if
 * there is none, if it cannot be decoded (for example without the encryption key), if the server does not answer in time, and for a run
 * that was deleted meanwhile.
 */
export async function readQuestion(client: Client, { runId, agentName = '' }: RunListEntry): Promise<string | undefined> {
  const { namespace, loadedDataConverter } = client.options;
  try {
    const { executionConfig } = await client.workflowService.describeWorkflowExecution({ namespace, execution: { workflowId: runId } });
    const payload = executionConfig?.userMetadata?.summary;
    const [summary] = payload ? await decodeArrayFromPayloads(loadedDataConverter, [payload]) : [];
    const before = `${agentName}: `;
    return typeof summary === 'string' && summary.startsWith(before) ? summary.slice(before.length) : undefined;
  } catch (error) {
    if (grpcCode(error) === undefined || grpcCode(error) === GRPC.notFound || isUnanswered(error)) return undefined;
    throw error;
  }
}
