import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import { LRUCache } from 'lru-cache';
import { errorCode } from '../core/domain/errors.ts';
import { defined } from '../core/domain/json.ts';
import { RUN_STATUSES } from '../core/domain/run.ts';
import { type AggregatedUsage, dollarsSpent } from '../core/domain/usage.ts';
import { readExecution } from '../history/read-run.ts';
import { runOutcome } from '../temporal/run-workflow.ts';
import { inBatches } from '../temporal/waiting.ts';
import type { RunSort } from './client-options.ts';
import {
  type ExecutionFilter,
  executionsPage,
  listExecutions,
  listRuns,
  type RunAmounts,
  runEntry,
  type RunListEntry,
  search,
} from './list.ts';
import { statusFrom } from './recorded-views.ts';
import { readRuns, UnreadReport, type UnreadRun } from './unread-runs.ts';
import type { ListPage, PageOptions } from './visibility.ts';

/** The number of newest runs that are sorted. */
const MOST_RANKED = 1_000;

/** Values that are counted at the same time. */
const COUNTED_AT_ONCE = 10;

/** The amounts of runs that have ended, of each client: they never change. */
const ended = new WeakMap<object, LRUCache<string, RunAmounts>>();

/** A run of a list, with its execution: one that was started again under its id is listed once for each time. */
interface ListedRun {
  runId: string;
  executionId: string;
  entry: RunListEntry;
}

/** Yields runs with their amounts, or sorted by something else than their start. */
export async function* rankedRuns(client: Client, filter: ExecutionFilter): AsyncGenerator<RunListEntry> {
  const { sort = 'started', limit, ...rest } = filter;
  const report = new UnreadReport(filter);
  if (sort === 'started') yield* withAmounts(client, listedRuns(client, filter), report);
  else {
    const { items, cut } = await ranking(client, rest, { sort, report });
    if (cut) filter.onCut?.(MOST_RANKED);
    yield* items.slice(0, limit);
  }
  report.end();
}

/** Returns a page of such runs. Another order covers only the newest runs: `cut` says if it left out older ones. */
export async function rankedPage(
  client: Client,
  filter: ExecutionFilter,
  { pageSize, after }: PageOptions,
): Promise<ListPage<RunListEntry>> {
  const { sort = 'started', ...rest } = filter;
  const unread: UnreadRun[] = [];
  const report = new UnreadReport({ onUnread: (run) => unread.push(run) });
  const unreadRuns = (): { unread?: UnreadRun[] } => (unread.length === 0 ? {} : { unread });
  if (sort === 'started') {
    const page = await executionsPage(client, rest, { pageSize, ...defined({ after }) }, listedRun);
    const entries = await Array.fromAsync(withAmounts(client, page.items, report));
    return { ...page, items: entries, ...unreadRuns() };
  }
  const { items, cut } = await ranking(client, rest, { sort, report });
  const from = Number(after ?? 0);
  const next = from + pageSize;
  return {
    items: items.slice(from, next),
    ...(next < items.length ? { next: String(next) } : {}),
    ...(cut ? { cut: true } : {}),
    ...unreadRuns(),
  };
}

async function ranking(
  client: Client,
  filter: ExecutionFilter,
  { sort, report }: { sort: Exclude<RunSort, 'started'>; report: UnreadReport },
): Promise<{ items: RunListEntry[]; cut: boolean }> {
  const newest = await Array.fromAsync(listedRuns(client, { ...filter, limit: MOST_RANKED + 1 }));
  const looked = newest.slice(0, MOST_RANKED);
  const now = Date.now();
  const isRead = sort !== 'duration' || filter.amounts === true;
  const items = isRead ? await Array.fromAsync(withAmounts(client, looked, report)) : looked.map(({ entry }) => entry);
  const rank = ({ tokens = 0, cost = 0, startTime, durationMs = now - Date.parse(startTime) }: RunListEntry): number =>
    ({ tokens, cost, duration: durationMs })[sort];
  return { items: items.toSorted((one, other) => rank(other) - rank(one)), cut: newest.length > MOST_RANKED };
}

async function* listedRuns(client: Client, filter: ExecutionFilter): AsyncGenerator<ListedRun> {
  for await (const info of listExecutions(client, filter)) yield await listedRun(client, info);
}

async function listedRun(client: Client, info: WorkflowExecutionInfo): Promise<ListedRun> {
  return { runId: info.workflowId, executionId: info.runId, entry: await runEntry(client, info) };
}

/** Yields runs with their amounts. One that cannot be read has none. */
async function* withAmounts(
  client: Client,
  runs: Iterable<ListedRun> | AsyncIterable<ListedRun>,
  report: UnreadReport,
): AsyncGenerator<RunListEntry> {
  for await (const { run, value, unread } of readRuns(client, runs, (one) => amountsOf(client, one))) {
    if (unread !== undefined) report.note(unread);
    yield { ...run.entry, ...value };
  }
}

/** Reads what a run has used: from its result if it has ended, otherwise from its history. Needs no worker. Empty for a deleted run. */
async function amountsOf(client: Client, run: ListedRun): Promise<Partial<RunAmounts>> {
  const known = ended.get(client.connection) ?? new LRUCache<string, RunAmounts>({ max: 10_000 });
  ended.set(client.connection, known);
  const hasEnded = run.entry.endTime !== null;
  const cached = hasEnded ? known.get(run.executionId) : undefined;
  if (cached !== undefined) return cached;
  try {
    const used = hasEnded ? await resultAmounts(client, run) : await recordedAmounts(client, run);
    if (hasEnded && used !== undefined) known.set(run.executionId, used);
    return used ?? {};
  } catch (error) {
    if (errorCode(error) === 'run_not_found') return {};
    throw error;
  }
}

async function resultAmounts(client: Client, run: ListedRun): Promise<RunAmounts | undefined> {
  try {
    const { stepsUsed, usage } = await runOutcome(client, run.runId, run.executionId);
    return amountsIn(stepsUsed, usage);
  } catch (error) {
    // A run that was ended from outside has no result.
    if (!['run_terminated', 'run_timed_out', 'internal'].includes(errorCode(error) ?? '')) throw error;
    return recordedAmounts(client, run);
  }
}

async function recordedAmounts(client: Client, { runId, executionId }: ListedRun): Promise<RunAmounts | undefined> {
  const read = await readExecution(client, runId, executionId);
  if (read === undefined) return undefined;
  const { session, currentStep, usage } = statusFrom(runId, { status: 'RUNNING' }, read.run);
  return amountsIn(currentStep, session?.spent.usage ?? usage);
}

function amountsIn(steps: number, usage: AggregatedUsage): RunAmounts {
  return { steps, tokens: usage.totalTokens + (usage.estimated?.totalTokens ?? 0), ...defined({ cost: dollarsSpent(usage) }) };
}

/** The number of runs with a value. */
export interface RunCount {
  /** The value that these runs share, such as the name of an agent. */
  value: string;
  /** The number of these runs. */
  runs: number;
}

/** The numbers of runs by value, the largest first. */
export interface RunCounts {
  /** What the runs were counted by. */
  by: 'agent' | 'status';
  /** One entry for each value, the largest number first. */
  counts: RunCount[];
  /** The number of all matching runs, including runs that `counts` leaves out. */
  total: number;
}

/** The most agents whose runs are counted. */
const MOST_COUNTED = 200;

/**
 * Counts runs on the server. The server cannot group by a search attribute, so each value is counted separately: all statuses, and the
 * agents that are named or that the newest runs have. With a tag, the runs are read from the list, which checks the tag again: the
 * server's count also matches tags that contain the same words.
 */
export async function countRuns(
  client: Client,
  filter: ExecutionFilter,
  { by, agents = [] }: { by: RunCounts['by']; agents?: readonly string[] },
): Promise<RunCounts> {
  if (filter.tag !== undefined) return countListed(client, filter, by);
  const values = by === 'status' ? RUN_STATUSES : await agentNames(client, filter, agents);
  const counted = inBatches(values, COUNTED_AT_ONCE, async (value) => ({ value, runs: await count(client, { ...filter, [by]: value }) }));
  const [counts, total] = await Promise.all([Array.fromAsync(counted), count(client, filter)]);
  return { by, counts: largestFirst(counts.filter(({ runs }) => runs > 0)), total };
}

async function countListed(client: Client, filter: ExecutionFilter, by: RunCounts['by']): Promise<RunCounts> {
  const runs = new Map<string, number>();
  let total = 0;
  for await (const { agentName, status } of listRuns(client, filter)) {
    total += 1;
    const value = by === 'status' ? status : agentName;
    if (value !== undefined) runs.set(value, (runs.get(value) ?? 0) + 1);
  }
  return { by, counts: largestFirst([...runs].map(([value, number]) => ({ value, runs: number }))), total };
}

function largestFirst(counts: RunCount[]): RunCount[] {
  return counts.toSorted((one, other) => other.runs - one.runs || (one.value < other.value ? -1 : 1));
}

async function agentNames(client: Client, filter: ExecutionFilter, named: readonly string[]): Promise<string[]> {
  if (filter.agent !== undefined) return [filter.agent];
  const names = new Set(named);
  for await (const { agentName } of listRuns(client, { ...filter, limit: MOST_RANKED })) if (agentName !== undefined) names.add(agentName);
  return [...names].slice(0, MOST_COUNTED);
}

async function count(client: Client, filter: ExecutionFilter): Promise<number> {
  const { count: runs } = await search(client, filter, (query) => client.workflow.count(query));
  return runs;
}
