import type { Client } from '@temporalio/client';
import { LonghaulError } from '../../core/domain/errors/error.ts';
import { milliseconds } from '../../core/domain/run/duration.ts';
import { memoryOwner } from '../../memory/memory-namespace.ts';
import type { MemoryStore } from '../../memory/memory-store.ts';
import { sleep, waitSignal } from '../../temporal/waiting.ts';
import type { Identity } from '../../core/domain/run/principal.ts';
import { GRACE, removeContent, type RunStores } from './delete-run.ts';
import { endRuns, LISTING_DELAY_MS } from './end-runs.ts';
import type { ForgetOptions, Forgotten, MissingStore } from './forget-options.ts';
import { forgetUser } from './forget-user.ts';
import { AskedRemovals } from './asked-removals.ts';
import { runsOfUser } from './runs-of-user.ts';

/** The stores of the workers, as far as the client has them. */
export interface UserStores extends RunStores {
  memory?: MemoryStore | undefined;
}

/** The user to forget, and where its data is. */
export interface ForgetWork {
  user: Identity;
  userKey: string | undefined;
  stores: UserStores;
}

/** Removes everything of a user from the server and the stores, and waits until the server has removed its part. Throws `wait_timeout` after `timeout`. */
export async function forget(
  client: Client,
  { user, userKey, stores }: ForgetWork,
  { grace = GRACE, ...wait }: Pick<ForgetOptions, 'grace' | 'timeout' | 'signal'>,
): Promise<Forgotten> {
  const graceMs = milliseconds(grace, 'forget: "grace"');
  const signal = waitSignal(wait);
  const removal = new AskedRemovals(client);
  // Every round asks for the list: what follows a crash or a time-out begins with the same question.
  const check = async <Value>(work: () => Promise<Value>): Promise<Value> => {
    signal?.throwIfAborted();
    return work();
  };
  try {
    const removed = await forgetUser({
      runs: () =>
        check(async () => [
          ...new Set([...(await runsOfUser(client, { user, userKey, except: removal.asked })), ...(await removal.left())]),
        ]),
      end: async (runIds) => void (await endRuns(client, runIds, { reason: 'everything of the user is removed', graceMs, signal })),
      forgetMemory: () => check(async () => stores.memory?.forgetNamespaces({ prefix: memoryOwner(user) }) ?? 0),
      removeContent: (runId) => check(() => removeContent(client, runId, stores)),
      removeExecutions: (runId) => check(() => removal.ask(runId)),
      pause: () => sleep(LISTING_DELAY_MS, signal),
    });
    return { ...removed, without: missingStores(stores) };
  } catch (error) {
    if (signal?.aborted !== true || wait.signal?.aborted === true) throw error;
    throw new LonghaulError(
      'wait_timeout',
      'Not everything of the user was removed in time: call "forget" again, which goes on from there',
    );
  }
}

function missingStores(stores: UserStores): MissingStore[] {
  return (['payloadStore', 'archive', 'memory'] as const).filter((name) => stores[name] === undefined);
}
