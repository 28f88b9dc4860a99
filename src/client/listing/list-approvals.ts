import type { Client } from '@temporalio/client';
import type { ApprovalView } from '../../core/domain/approvals.ts';
import { errorCode } from '../../core/domain/errors.ts';
import type { RunSubject } from '../../core/domain/run.ts';
import type { PrincipalFilter } from '../principals/principal-conditions.ts';
import type { ListPage, PageOptions } from './list-page.ts';
import { type ExecutionFilter, listRuns, runsPage } from './list-runs.ts';
import { RunReader } from '../read/reader.ts';
import { inBatches } from '../../temporal/in-batches.ts';
import { sleep } from '../../temporal/waiting.ts';

/** The approvals to list. */
export interface ApprovalFilter extends PrincipalFilter {
  agent?: string;
  tool?: string;
  /** The largest number of approvals. Default: all. */
  limit?: number;
  /** True to wait for further approvals until the signal is aborted. Each pending approval is listed once. */
  follow?: boolean;
  signal?: AbortSignal;
}

type ConditionedApprovals = ApprovalFilter & Pick<ExecutionFilter, 'principalConditions'>;

/** A pending approval, and the run that waits. */
export interface RunApproval extends ApprovalView {
  runId: string;
  /** For whom and for what that run acts. */
  about: RunSubject;
}

/** Runs that are queried at once. */
const ASKED_AT_ONCE = 10;

/** The pauses between two rounds: short while approvals come, long while none do, and at least as long as the round took. */
const SHORTEST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 2_000;

/** Yields the pending approvals of all runs of the namespace. Rejects with the reason of the signal once that is aborted. */
export async function* listApprovals(client: Client, filter: ConditionedApprovals = {}): AsyncGenerator<RunApproval> {
  const { limit = Infinity, follow = false, signal } = filter;
  const seen = new SeenApprovals();
  let listed = 0;
  let wait = SHORTEST_PAUSE_MS;
  for (;;) {
    const begun = Date.now();
    let isNew = false;
    for await (const waiting of waitingNow(client, filter)) {
      signal?.throwIfAborted();
      if (listed >= limit) return;
      if (seen.has(waiting, Date.now())) continue;
      listed += 1;
      isNew = true;
      yield waiting;
    }
    if (!follow || listed >= limit) return;
    seen.forgetBefore(begun - REMEMBERED_MS);
    wait = isNew ? SHORTEST_PAUSE_MS : Math.min(wait * 1.5, LONGEST_PAUSE_MS);
    await sleep(Math.max(wait, Date.now() - begun), signal);
  }
}

/** The time (milliseconds) after which an approval that no list had is forgotten. A run can be missing from a list for a moment. */
const REMEMBERED_MS = 600_000;

/** The approvals that were listed already. */
export class SeenApprovals {
  readonly #lastSeen = new Map<string, number>();

  /** True for an approval that was seen before. Marks it as seen. */
  has({ runId, key }: Pick<RunApproval, 'runId' | 'key'>, now: number): boolean {
    const id = JSON.stringify([runId, key]);
    const isKnown = this.#lastSeen.has(id);
    this.#lastSeen.set(id, now);
    return isKnown;
  }

  /** Forgets the approvals that were not seen since that time. */
  forgetBefore(time: number): void {
    for (const [id, lastSeen] of this.#lastSeen) if (lastSeen < time) this.#lastSeen.delete(id);
  }

  get size(): number {
    return this.#lastSeen.size;
  }
}

/** Yields the pending approvals, run by run. */
async function* waitingNow(client: Client, filter: ConditionedApprovals): AsyncGenerator<RunApproval> {
  const { tool } = filter;
  for await (const waiting of inBatches(waitingRuns(client, filter), ASKED_AT_ONCE, (runId) => approvalsOf(client, runId))) {
    yield* waiting.filter(({ toolName }) => tool === undefined || toolName === tool);
  }
}

/** Returns the pending approvals of a page of the runs that wait. */
export async function approvalsPage(client: Client, filter: ConditionedApprovals, page: PageOptions): Promise<ListPage<RunApproval>> {
  const { agent, tool } = filter;
  const { items: runs, ...next } = await runsPage(client, waitingFilter(filter), page);
  const items: RunApproval[] = [];
  const seen = new SeenApprovals();
  const now = Date.now();
  const ofRun = async (runId: string): Promise<RunApproval[]> => {
    const waiting = await approvalsOf(client, runId);
    // A run below another one waits itself, and is listed: maybe on another page. With an agent, only runs of that agent are.
    return agent === undefined ? waiting.filter((one) => one.runId === runId) : waiting;
  };
  for await (const waiting of inBatches(runs, ASKED_AT_ONCE, ({ runId }) => ofRun(runId))) {
    items.push(...waiting.filter((one) => (tool === undefined || one.toolName === tool) && !seen.has(one, now)));
  }
  return { items, ...next };
}

/** Yields the ids of the runs that wait for a decision. */
async function* waitingRuns(client: Client, filter: ConditionedApprovals): AsyncGenerator<string> {
  for await (const { runId } of listRuns(client, waitingFilter(filter))) {
    filter.signal?.throwIfAborted();
    yield runId;
  }
}

function waitingFilter({ agent, tool, principalConditions }: ConditionedApprovals): ExecutionFilter {
  return {
    ...(agent === undefined ? {} : { agent }),
    ...(principalConditions === undefined ? {} : { principalConditions }),
    waitingFor: tool ?? true,
  };
}

/** Returns the pending approvals of a run; none if it was deleted after it was listed. */
async function approvalsOf(client: Client, runId: string): Promise<RunApproval[]> {
  try {
    const { pending, about } = await new RunReader(client, runId).approvals();
    return pending.map((waiting) => ({ runId, about, ...waiting }));
  } catch (error) {
    if (errorCode(error) === 'run_not_found') return [];
    throw error;
  }
}
