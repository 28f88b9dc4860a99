import type { Client } from '@temporalio/client';
import { errorCode, LonghaulError } from '../core/domain/errors.ts';
import { type Duration, milliseconds } from '../core/domain/time.ts';
import { isGone } from '../history/history-events.ts';
import type { ArchiveSink } from '../stores/file-archive.ts';
import type { PayloadStore } from '../stores/payload-store.ts';
import { inStore } from '../stores/store-failures.ts';
import type { StreamChannel } from '../streams/stream-sink.ts';
import { findExecution, requestCancel, runState, type RunState, withoutMemos } from '../temporal/run-workflow.ts';
import { inBatches, sleep } from '../temporal/waiting.ts';
import { RunChain } from './executions.ts';
import { IS_RUN, quoted } from './visibility.ts';

/** The stores that, in addition to the server, hold parts of a run. */
export interface RunStores {
  /** The store of results that were too large for the conversation. */
  payloadStore?: PayloadStore | undefined;
  /** The archive to which workers write the records of runs. */
  archive?: ArchiveSink | undefined;
}

/** What is removed of a run in addition to its executions. */
export interface RunContent extends RunStores {
  /** The sink of live output, which keeps the newest entries of each run. */
  streams?: Pick<StreamChannel, 'removeRun'> | undefined;
}

/** The options of a deletion. */
export interface DeleteOptions extends RunStores {
  /** True to cancel the run and its descendants first if they are running. Default: a running run is refused. */
  end?: boolean;
  /** The time that they have to end before they are terminated. Default 30 seconds. */
  grace?: Duration;
}

/** The result of a deletion: `not_found` if the server had nothing of the run. */
export type DeleteOutcome = 'deleted' | 'not_found';

/** The time that cancelled runs have to end before they are terminated. */
export const GRACE: Duration = '30s';

/**
 * Removes a run and its descendants: the spilled results and the archive of each, and all its executions, which the server then
 * removes in the background, within a minute or so. Repeating the call is safe, and finishes an interrupted deletion: the
 * run itself is removed last. Throws `run_open` if one of them is running, unless `end` is set.
 */
export async function deleteRun(
  client: Client,
  runId: string,
  { end = false, grace = GRACE, ...stores }: DeleteOptions & RunContent,
): Promise<DeleteOutcome> {
  await requireRunOrNothing(client, runId);
  const graceMs = milliseconds(grace, 'delete: "grace"');
  const removed = new Set<string>();
  let mayBeUnlisted = await hasJustEnded(client, runId);
  for (;;) {
    const below = (await runsBelow(client, runId)).filter((one) => !removed.has(one));
    const runs = [...below, runId];
    const ended = end ? await endRuns(client, runs, { reason: 'the run is deleted', graceMs }) : 0;
    if (!end) for (const one of runs) await requireEnded(client, one, runId);
    // Runs that were started just before are not listed yet.
    if (ended > 0 || mayBeUnlisted) await sleep(LISTING_DELAY_MS);
    else if (below.length === 0) break;
    mayBeUnlisted = false;
    for (const one of below) await removeRun(client, one, stores);
    for (const one of below) removed.add(one);
  }
  return (await removeRun(client, runId, stores)).length === 0 ? 'not_found' : 'deleted';
}

/** Removes one run that has ended, its content before its executions. Returns the ids of the executions that the server had. */
async function removeRun(client: Client, runId: string, stores: RunContent): Promise<string[]> {
  await removeContentOfRun(client, runId, stores);
  return removeExecutionsOf(client, runId);
}

/**
 * Removes the spilled results, the archive and the live output of a run. Throws `payload_store_failed`, `archive_failed` and
 * `streams_failed`.
 */
export async function removeContentOfRun(client: Client, runId: string, { payloadStore, archive, streams }: RunContent): Promise<void> {
  const { namespace } = client.options;
  await streams?.removeRun(runId);
  await inStore('payloadStore', `The spilled results of run "${runId}" were not removed`, async () =>
    payloadStore?.deleteRun({ namespace, runId }),
  );
  await inStore('archive', `The archive of run "${runId}" was not removed`, async () => archive?.deleteRun({ namespace, runId }));
}

/** Throws `not_a_run` for a workflow of the user's own. */
async function requireRunOrNothing(client: Client, runId: string): Promise<void> {
  try {
    await new RunChain(client, runId).newest();
  } catch (error) {
    if (errorCode(error) !== 'run_not_found') throw error;
  }
}

/** True for a run that may have started others which the server does not list yet. */
async function hasJustEnded(client: Client, runId: string): Promise<boolean> {
  const { closeTime } = (await findExecution(client, runId)) ?? {};
  return closeTime !== undefined && Date.now() - closeTime.getTime() < LISTING_DELAY_MS;
}

async function requireEnded(client: Client, runId: string, deleted: string): Promise<void> {
  if ((await runState(client, runId)) !== 'open') return;
  const whose = runId === deleted ? '' : `, below "${deleted}",`;
  throw new LonghaulError(
    'run_open',
    `Run "${runId}"${whose} is still running: cancel it first, or delete with "end", which cancels the run and its descendants`,
  );
}

/** Why runs are ended, and how long they have. */
interface EndRunsOptions {
  /** Shown as the reason of the cancellation, in clear text unless payloads are encrypted. */
  reason: string;
  /** Milliseconds that the runs have to end. After that they are terminated. */
  graceMs: number;
  /** Returns the state of a run that decides whether to end it. Default: the state of its newest execution. */
  stateOf?: (runId: string) => Promise<RunState>;
  signal?: AbortSignal | undefined;
}

/** Milliseconds until the server lists a new run: most servers take about a second. */
export const LISTING_DELAY_MS = 1_500;

const POLL_MS = 250;

/** Requests in flight at the same time. */
const AT_ONCE = 10;

/**
 * Cancels runs, parents before children, and waits until they have ended. Terminates those that take too long, such as all runs
 * without a worker. Returns the number of runs that were open.
 */
export async function endRuns(client: Client, runIds: readonly string[], options: EndRunsOptions): Promise<number> {
  const { reason, graceMs, signal, stateOf = (runId) => runState(client, runId) } = options;
  let open = await stillOpen(runIds, stateOf);
  const ended = open.length;
  // One by one: a run whose child is cancelled first would take the failure for a result and continue.
  for (const runId of open.toSorted((one, other) => one.length - other.length)) await requestCancel(client, runId, reason);
  for (const end = performance.now() + graceMs; open.length > 0 && performance.now() < end;) {
    await sleep(POLL_MS, signal);
    open = await stillOpen(open, stateOf);
  }
  for (const runId of open) await terminate(client, runId, reason);
  return ended;
}

async function terminate(client: Client, runId: string, reason: string): Promise<void> {
  try {
    await client.workflow.getHandle(runId).terminate(reason);
  } catch (error) {
    // The run has ended meanwhile.
    if (!isGone(error) && !(error instanceof Error && error.name === 'WorkflowNotFoundError')) throw error;
  }
}

async function stillOpen(runIds: readonly string[], stateOf: (runId: string) => Promise<RunState>): Promise<string[]> {
  const open: string[] = [];
  const states = inBatches(runIds, AT_ONCE, async (runId) => ({ runId, state: await stateOf(runId) }));
  for await (const { runId, state } of states) if (state === 'open') open.push(runId);
  return open;
}

/** The ids of a run's parent and root. */
export interface TreePlace {
  parent?: string | undefined;
  /** The root of the tree: the run itself, if a client started it. */
  root?: string | undefined;
}

/** Lists the descendants of a run, the deepest first: also running ones, and those whose parent the server has removed. */
async function runsBelow(client: Client, runId: string): Promise<string[]> {
  const query = `${IS_RUN} AND WorkflowId STARTS_WITH ${quoted(`${runId}/`)}`;
  const places = new Map<string, TreePlace>();
  for await (const { workflowId, parentExecution, rootExecution } of withoutMemos(client).workflow.list({ query })) {
    places.set(workflowId, { parent: parentExecution?.workflowId ?? undefined, root: rootExecution?.workflowId ?? undefined });
  }
  return runIdsBelow(
    runId,
    places,
    places.size === 0 ? undefined : ((await findExecution(client, runId))?.rootExecution?.workflowId ?? undefined),
  );
}

/**
 * Selects the descendants of a run from the runs whose ids begin with its id, the deepest first. A chain of parents leads from a
 * descendant to the run. If the server has removed one of these parents, ids and roots decide. So an unrelated run with the same
 * prefix is not selected. `root`: the root of the run; undefined if the server has removed the run.
 */
export function runIdsBelow(runId: string, places: ReadonlyMap<string, TreePlace>, root?: string): string[] {
  const isBelow = (id: string): boolean => {
    const { parent, root: itsRoot } = places.get(id) ?? {};
    if (parent === undefined) return false;
    if (parent === runId) return true;
    // A parent has a shorter id, so this terminates.
    if (places.has(parent)) return parent.length < id.length && isBelow(parent);
    return parent.startsWith(`${runId}/`) && itsRoot !== undefined && [runId, root].includes(itsRoot);
  };
  return [...places.keys()].filter(isBelow).toSorted(deepestFirst);
}

/** Compares ids so that a run comes after its descendants: their ids begin with its own. */
export function deepestFirst(one: string, other: string): number {
  return other.length - one.length;
}

/**
 * Asks the server to remove the executions of a run that has ended: all of them, or the selected ones. It does so in the background,
 * within a minute or so. The newest one, which leads to the others, is removed last. Returns their ids; none if there is no such run.
 */
export async function removeExecutionsOf(
  client: Client,
  runId: string,
  isMeant: (executionId: string) => boolean | Promise<boolean> = () => true,
): Promise<string[]> {
  const removed: string[] = [];
  for (const executionId of await executionsOf(client, runId)) {
    if ((await isMeant(executionId)) && (await removeExecution(client, runId, executionId))) removed.push(executionId);
  }
  return removed;
}

/** Returns the ids of the executions that the server has under an id, the oldest first: also those that belong to another user. */
export async function executionsOf(client: Client, runId: string): Promise<string[]> {
  const listed = await listedExecutions(client, runId);
  try {
    const chain = new RunChain(client, runId);
    const known = (await chain.executions()).map(({ executionId }) => executionId);
    const { executionId: newest } = await chain.newest();
    return [...new Set([...listed.filter((one) => one !== newest && !known.includes(one)), ...known, newest])];
  } catch (error) {
    const code = errorCode(error);
    if (code !== 'run_not_found' && code !== 'not_a_run') throw error;
    // The newest one was removed, or a workflow of the user has taken the id. Older ones may still be there.
    return listed;
  }
}

/** Lists all executions, including those that are not part of the chain, such as one that a reset ended. */
async function listedExecutions(client: Client, runId: string): Promise<string[]> {
  const query = `WorkflowId = ${quoted(runId)} AND ${IS_RUN}`;
  const executionIds: string[] = [];
  for await (const info of withoutMemos(client).workflow.list({ query })) executionIds.push(info.runId);
  return executionIds;
}

/** Returns false if the server does not have the execution. */
async function removeExecution(client: Client, workflowId: string, runId: string): Promise<boolean> {
  try {
    const { namespace } = client.options;
    await client.workflowService.deleteWorkflowExecution({ namespace, workflowExecution: { workflowId, runId } });
    return true;
  } catch (error) {
    if (isGone(error)) return false;
    throw error;
  }
}
