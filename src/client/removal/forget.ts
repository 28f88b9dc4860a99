import type { Client } from '@temporalio/client';
import { LonghaulError } from '../../core/domain/errors.ts';
import { milliseconds } from '../../core/domain/time.ts';
import type { Identity } from '../../core/domain/run.ts';
import { memoryOwner } from '../../memory/memory-namespace.ts';
import { inBatches } from '../../temporal/in-batches.ts';
import { runState } from '../../temporal/run-state.ts';
import { sleep, waitSignal } from '../../temporal/waiting.ts';
import { GRACE, removeContentOfRun } from './delete-run.ts';
import { endRuns, LISTING_DELAY_MS } from './end-runs.ts';
import { ExecutionOwners } from './execution-owners.ts';
import { type ForgetOptions, type Forgotten, missingStores, type UserStores } from './forget-options.ts';
import { nothingFound } from './nothing-found.ts';
import { removeExecutionsOf } from './remove-executions.ts';
import { deepestFirst } from './runs-below.ts';
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
          await removeContentOfRun(client, runId, stores);
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

/** Executions that are looked up at once. */
const AT_ONCE = 10;

/** The executions of a user that the server was asked to remove, which it does in the background, and not in the order in which it stops to list them. */
class AskedRemovals {
  readonly #client: Client;
  readonly #owners: ExecutionOwners;
  readonly #asked = new Set<string>();
  /** The runs of those that the server may still have, by execution. */
  readonly #left = new Map<string, string>();

  constructor(client: Client, owners: ExecutionOwners) {
    this.#client = client;
    this.#owners = owners;
  }

  /** The ids of all of them. */
  get asked(): ReadonlySet<string> {
    return this.#asked;
  }

  /**
   * Asks for the removal of the executions of a run that are the user's, of each once: each request is a task for the server. Returns the
   * ids of those that it had not asked for.
   */
  async ask(runId: string): Promise<string[]> {
    const isMeant = async (executionId: string): Promise<boolean> =>
      !this.#asked.has(executionId) && (await this.#owners.of(runId, executionId)) === 'user';
    const executionIds = await removeExecutionsOf(this.#client, runId, isMeant);
    for (const executionId of executionIds) {
      this.#asked.add(executionId);
      this.#left.set(executionId, runId);
    }
    return executionIds;
  }

  /** Returns the runs of which the server still has an execution. */
  async left(): Promise<string[]> {
    const states = inBatches([...this.#left], AT_ONCE, async ([executionId, runId]) => {
      return { executionId, state: await runState(this.#client, runId, executionId) };
    });
    for await (const { executionId, state } of states) if (state === 'gone') this.#left.delete(executionId);
    return [...new Set(this.#left.values())];
  }
}

/** The requests to the server and the stores by which a user is forgotten. */
export interface ForgetPorts {
  /** Lists the runs of the user of which the server has anything. A run that has just begun may be missing. */
  runs(): Promise<readonly string[]>;
  /** Lists the runs of the user that the archive has, of which the server may have nothing any more. */
  archivedRuns(): Promise<readonly string[]>;
  /** Resolves when none of these runs goes on. */
  end(runIds: readonly string[]): Promise<void>;
  /** Removes all entries of the user. Returns their number. */
  forgetMemory(): Promise<number>;
  /** Removes the spilled results and the archive of a run. Returns false if they stay, because they are also of another principal. */
  removeContent(runId: string): Promise<boolean>;
  /** Has the server remove the executions of a run that are the user's. Returns the ids of those that it was not asked to remove before. */
  removeExecutions(runId: string): Promise<readonly string[]>;
  /** Waits for the server, which removes in the background and lists with a delay. */
  pause(): Promise<void>;
}

/** The number of empty lists, one after another, after which nothing is left. */
const EMPTY_LISTS = 2;

/**
 * Removes everything of a user. Ends its runs; then removes entries of memory, content in stores, and at last the executions. So the
 * list of the server says what is left to do, and a call after a crash at any point goes on from there. Runs that the server has removed
 * before are found in the archive, which then goes last. What was written before the server had removed a run, by a call that outlived it,
 * is removed by a later round.
 */
export async function forgetUser(ports: ForgetPorts): Promise<Omit<Forgotten, 'without'>> {
  const [runs, kept, executions] = [new Set<string>(), new Set<string>(), new Set<string>()];
  let memoryEntries = 0;
  const removeContent = async (runId: string): Promise<void> => {
    const isRemoved = await ports.removeContent(runId);
    (isRemoved ? runs : kept).add(runId);
    if (isRemoved) kept.delete(runId);
  };
  const removeExecutions = async (runId: string): Promise<void> => {
    for (const executionId of await ports.removeExecutions(runId)) {
      executions.add(`${runId}@${executionId}`);
      runs.add(runId);
    }
  };
  for (let empty = 0; ; await ports.pause()) {
    const listed = await ports.runs();
    const archived = listed.length > 0 ? [] : (await ports.archivedRuns()).filter((runId) => !kept.has(runId));
    const found = [...listed, ...archived].toSorted(deepestFirst);
    empty = found.length === 0 ? empty + 1 : 0;
    if (empty === EMPTY_LISTS) break;
    if (found.length === 0) continue;
    await ports.end(found);
    // A run may have started others before it ended: they end before anything is removed.
    if ((await ports.runs()).some((runId) => !found.includes(runId))) continue;
    memoryEntries += await ports.forgetMemory();
    // In each case, what leads to the rest goes last.
    const work = archived.length === 0 ? [removeContent, removeExecutions] : [removeExecutions, removeContent];
    for (const runId of found) for (const remove of work) await remove(runId);
  }
  memoryEntries += await ports.forgetMemory();
  return { runs: [...runs].toSorted(), executions: executions.size, memoryEntries, kept: [...kept].toSorted() };
}
