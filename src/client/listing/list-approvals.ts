import type { Client } from '@temporalio/client';
import type { ApprovalView } from '../../core/domain/approvals/approval.ts';
import { errorCode } from '../../core/domain/errors/error.ts';
import { listRuns } from './list-runs.ts';
import { RunReader } from '../read/run-reader.ts';
import { sleep } from '../../temporal/waiting.ts';

/** Which approvals to list. */
export interface ApprovalFilter {
  agent?: string;
  tool?: string;
  /** Default: all. */
  limit?: number;
  /** Go on with what begins to wait, until the signal is aborted. Each pending approval comes once. */
  follow?: boolean;
  signal?: AbortSignal;
}

/** Something that waits for a decision, and the run that waits. */
export interface RunApproval extends ApprovalView {
  runId: string;
}

/** Runs that are asked at a time. */
const ASKED_AT_ONCE = 10;

/** Asked often while things happen, seldom while nothing does, and never more than half of the time. */
const SHORTEST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 2_000;

/** What waits for a decision, in all runs of the namespace. Rejects with the reason of the signal once that is aborted. */
export async function* listApprovals(client: Client, filter: ApprovalFilter = {}): AsyncGenerator<RunApproval> {
  const { limit = Infinity, follow = false, signal } = filter;
  const seen = new SeenApprovals();
  let given = 0;
  let wait = SHORTEST_PAUSE_MS;
  for (;;) {
    const begun = Date.now();
    let isNew = false;
    for await (const waiting of waitingNow(client, filter)) {
      signal?.throwIfAborted();
      if (given >= limit) return;
      if (seen.has(waiting, Date.now())) continue;
      given += 1;
      isNew = true;
      yield waiting;
    }
    if (!follow || given >= limit) return;
    seen.forgetBefore(begun - REMEMBERED_MS);
    wait = isNew ? SHORTEST_PAUSE_MS : Math.min(wait * 1.5, LONGEST_PAUSE_MS);
    await sleep(Math.max(wait, Date.now() - begun), signal);
  }
}

/** What has waited for so long (milliseconds) in no list is settled, and forgotten. A run can be missing from a list for a moment. */
const REMEMBERED_MS = 600_000;

/** What was given already. */
export class SeenApprovals {
  readonly #lastSeen = new Map<string, number>();

  /** True for what was there before. From now on all of it is, that waits. */
  has({ runId, key }: Pick<RunApproval, 'runId' | 'key'>, now: number): boolean {
    const id = JSON.stringify([runId, key]);
    const isKnown = this.#lastSeen.has(id);
    this.#lastSeen.set(id, now);
    return isKnown;
  }

  /** Forgets what has not been seen since then. */
  forgetBefore(time: number): void {
    for (const [id, lastSeen] of this.#lastSeen) if (lastSeen < time) this.#lastSeen.delete(id);
  }

  get size(): number {
    return this.#lastSeen.size;
  }
}

/** What waits now, run by run. */
async function* waitingNow(client: Client, { agent, tool, signal }: ApprovalFilter): AsyncGenerator<RunApproval> {
  let runIds: string[] = [];
  for await (const { runId } of listRuns(client, { ...(agent === undefined ? {} : { agent }), waitingFor: tool ?? true })) {
    signal?.throwIfAborted();
    runIds.push(runId);
    if (runIds.length < ASKED_AT_ONCE) continue;
    yield* waitingIn(client, runIds, tool);
    runIds = [];
  }
  yield* waitingIn(client, runIds, tool);
}

async function* waitingIn(client: Client, runIds: readonly string[], tool: string | undefined): AsyncGenerator<RunApproval> {
  for (const waiting of await Promise.all(runIds.map((runId) => approvalsOf(client, runId)))) {
    yield* waiting.filter(({ toolName }) => tool === undefined || toolName === tool);
  }
}

/** A run that has gone since it was listed waits for nothing. */
async function approvalsOf(client: Client, runId: string): Promise<RunApproval[]> {
  try {
    const { pending } = await new RunReader(client, runId).approvals();
    return pending.map((waiting) => ({ runId, ...waiting }));
  } catch (error) {
    if (errorCode(error) === 'run_not_found') return [];
    throw error;
  }
}
