import type { Client } from '@temporalio/client';
import { LonghaulError } from '../../core/domain/errors/error.ts';
import { milliseconds } from '../../core/domain/run/duration.ts';
import { memoryOwner } from '../../memory/memory-namespace.ts';
import { runState } from '../../temporal/run-state.ts';
import { sleep, waitSignal } from '../../temporal/waiting.ts';
import type { Identity } from '../../core/domain/run/principal.ts';
import { AskedRemovals } from './asked-removals.ts';
import { GRACE, removeContent } from './delete-run.ts';
import { endRuns, LISTING_DELAY_MS } from './end-runs.ts';
import { ExecutionOwners } from './execution-owners.ts';
import { type ForgetOptions, type Forgotten, missingStores, type UserStores } from './forget-options.ts';
import { forgetUser } from './forget-user.ts';
import { nothingFound } from './nothing-found.ts';
import { runsOfUser } from './runs-of-user.ts';

/** The user to forget, and where its data is. */
export interface ForgetWork {
  user: Identity;
  userKey: string | undefined;
  stores: UserStores;
  /** Receives the notice that no run was found, and why that may be. */
  onNotice: (line: string) => void;
}

/**
 * Removes everything of a user from the server and the stores, and waits until the server has removed its part. Throws a UsageError before
 * anything is removed if a store is neither given nor said to be missing, and `wait_timeout` after `timeout`.
 */
export async function forget(
  client: Client,
  { user, userKey, stores, onNotice }: ForgetWork,
  { without: named, grace = GRACE, ...wait }: Pick<ForgetOptions, 'without' | 'grace' | 'timeout' | 'signal'>,
): Promise<Forgotten> {
  const without = missingStores(stores, named);
  const graceMs = milliseconds(grace, 'forget: "grace"');
  const signal = waitSignal(wait);
  const owners = new ExecutionOwners(client, user);
  const removal = new AskedRemovals(client, owners);
  // Another user may take the id of a run as soon as it has ended.
  const stateOf = async (runId: string): ReturnType<typeof runState> =>
    (await owners.ofNewest(runId)) === 'user' ? runState(client, runId) : 'closed';
  // Every round asks for the list: what follows a crash or a time-out begins with the same question.
  const check = async <Value>(work: () => Promise<Value>): Promise<Value> => {
    signal?.throwIfAborted();
    return work();
  };
  try {
    const removed = await forgetUser({
      runs: () =>
        check(async () => [
          ...new Set([...(await runsOfUser(client, { user, userKey, owners, except: removal.asked })), ...(await removal.left())]),
        ]),
      archivedRuns: () => check(async () => stores.archive?.runsOf({ namespace: client.options.namespace, ...user }) ?? []),
      end: async (runIds) =>
        void (await endRuns(client, runIds, { reason: 'everything of the user is removed', graceMs, stateOf, signal })),
      forgetMemory: () => check(async () => stores.memory?.forgetNamespaces({ prefix: memoryOwner(user) }) ?? 0),
      removeContent: (runId) =>
        check(async () => {
          if (await owners.hasOthers(runId)) return false;
          await removeContent(client, runId, stores);
          return true;
        }),
      removeExecutions: (runId) => check(() => removal.ask(runId)),
      pause: () => sleep(LISTING_DELAY_MS, signal),
    });
    // A worker may have published the last words of a run after these were removed, before it noticed the end.
    for (const runId of removed.runs) await check(async () => stores.streams?.removeRun(runId));
    if (removed.runs.length === 0) onNotice(await nothingFound(client, { user, userKey }));
    return { ...removed, without };
  } catch (error) {
    if (signal?.aborted !== true || wait.signal?.aborted === true) throw error;
    throw new LonghaulError(
      'wait_timeout',
      'Not everything of the user was removed in time: call "forget" again, which goes on from there',
    );
  }
}
