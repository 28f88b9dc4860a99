import type { Client } from '@temporalio/client';
import { LonghaulError } from '../core/domain/errors.ts';
import { defined } from '../core/domain/json.ts';
import type { Identity } from '../core/domain/run.ts';
import { milliseconds } from '../core/domain/time.ts';
import { memoryOwner } from '../memory/memory-store.ts';
import { inStore } from '../stores/store-failures.ts';
import { runState } from '../temporal/run-workflow.ts';
import { inBatches, sleep, waitSignal } from '../temporal/waiting.ts';
import { deepestFirst, endRuns, GRACE, LISTING_DELAY_MS, removeContentOfRun, removeExecutionsOf } from './delete-run.ts';
import { type ForgetOptions, type Forgotten, missingStores, type UserStores } from './forget-options.ts';
import { archivedRuns, ExecutionOwners, nameOfUser, nothingFound, runsOfUser } from './user-runs.ts';

/** The user to forget, and the places that hold its data. */
interface ForgetWork {
  user: Identity;
  userKey: string | undefined;
  stores: UserStores;
  /** Receives the notice that no run was found, with likely reasons. */
  onNotice: (line: string) => void;
}

/**
 * Removes everything of a user from the server and the stores, and waits until the server has done so. Throws a UsageError before
 * anything is removed if a store is neither given nor declared missing, and `wait_timeout` after `timeout`.
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
  const removal = new RequestedRemovals(client, owners);
  // Another user may take the id of a run as soon as it has ended.
  const stateOf = async (runId: string): ReturnType<typeof runState> =>
    (await owners.ofNewest(runId)) === 'user' ? runState(client, runId) : 'closed';
  // Every round lists the runs again: so does a call after a crash or a timeout.
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
      archivedRuns: () => check(() => archivedRuns(client, user, stores)),
      end: async (runIds) =>
        void (await endRuns(client, runIds, { reason: 'everything of the user is removed', graceMs, stateOf, signal })),
      forgetMemory: () => check(() => forgetMemory(user, stores)),
      removeContent: (runId) =>
        check(async () => {
          if (await owners.hasOthers(runId)) return false;
          await removeContentOfRun(client, runId, stores);
          return true;
        }),
      removeExecutions: (runId) => check(() => removal.ask(runId)),
      pause: () => sleep(LISTING_DELAY_MS, signal),
    });
    // A worker may have published more output of a run after its removal, before it noticed the end.
    for (const runId of removed.runs) await check(async () => stores.streams?.removeRun(runId));
    if (removed.runs.length === 0) onNotice(await nothingFound(client, { user, userKey }));
    return { ...removed, without };
  } catch (error) {
    if (signal?.aborted !== true || wait.signal?.aborted === true) throw error;
    throw new LonghaulError(
      'wait_timeout',
      'Not everything of the user was removed in time: call "forget" again, which continues from there',
    );
  }
}

/** Executions that are looked up at once. */
const AT_ONCE = 10;

/** The executions of a user that the server was asked to remove. It does so in the background, and may unlist them in another order. */
class RequestedRemovals {
  readonly #client: Client;
  readonly #owners: ExecutionOwners;
  readonly #asked = new Set<string>();
  /** The run id of each execution that the server may still have, by execution id. */
  readonly #left = new Map<string, string>();

  constructor(client: Client, owners: ExecutionOwners) {
    this.#client = client;
    this.#owners = owners;
  }

  /** The ids of all these executions. */
  get asked(): ReadonlySet<string> {
    return this.#asked;
  }

  /**
   * Requests the removal of the user's executions of a run, each once, since a request is a task for the server. Returns the
   * ids of those that were newly requested.
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

  /** Returns the runs that still have an execution on the server. */
  async left(): Promise<string[]> {
    const states = inBatches([...this.#left], AT_ONCE, async ([executionId, runId]) => {
      return { executionId, state: await runState(this.#client, runId, executionId) };
    });
    for await (const { executionId, state } of states) if (state === 'gone') this.#left.delete(executionId);
    return [...new Set(this.#left.values())];
  }
}

/** The requests to the server and the stores that `forgetUser` makes. */
export interface ForgetPorts {
  /** Lists the runs of the user that the server has. A run that has just begun may be missing. */
  runs(): Promise<readonly string[]>;
  /** Lists the archived runs of the user, which the server may have removed. */
  archivedRuns(): Promise<readonly string[]>;
  /** Resolves when none of these runs is running. */
  end(runIds: readonly string[]): Promise<void>;
  /** Removes all entries of the user. Returns their number. */
  forgetMemory(): Promise<number>;
  /** Removes the spilled results and the archive of a run. Returns false if they are kept because another principal has the same id. */
  removeContent(runId: string): Promise<boolean>;
  /** Asks the server to remove the user's executions of a run. Returns the ids of those that were newly requested. */
  removeExecutions(runId: string): Promise<readonly string[]>;
  /** Waits for the server, which removes executions in the background and updates its lists with a delay. */
  pause(): Promise<void>;
}

/** The number of consecutive empty lists after which nothing is left. */
const EMPTY_LISTS = 2;

/**
 * Removes everything of a user. Ends its runs, then removes memory entries, content in stores, and finally the executions. So the
 * server's list says what is left to do, and a call after a crash continues from there. Runs that the server has already removed
 * are found in the archive, which is then removed last. Data that a call wrote after its run had ended
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
    // A run may have started others before it ended: end them before anything is removed.
    if ((await ports.runs()).some((runId) => !found.includes(runId))) continue;
    memoryEntries += await ports.forgetMemory();
    // The part that leads to the rest is removed last.
    const work = archived.length === 0 ? [removeContent, removeExecutions] : [removeExecutions, removeContent];
    for (const runId of found) for (const remove of work) await remove(runId);
  }
  memoryEntries += await ports.forgetMemory();
  return { runs: [...runs].toSorted(), executions: executions.size, memoryEntries, kept: [...kept].toSorted() };
}

/** The runs that `forget` would find. */
export interface ForgetPreview {
  /** The number of runs that the server has. */
  listed: number;
  /** The number of further runs that the archive has. */
  archived: number;
  /** Likely reasons if no run was found. */
  notice?: string;
}

/** Counts the runs that `forget` would remove, without changing anything. */
export async function previewForget(
  client: Client,
  { user, userKey, stores }: Omit<ForgetWork, 'onNotice' | 'stores'> & { stores: Pick<UserStores, 'archive'> },
): Promise<ForgetPreview> {
  const listed = await runsOfUser(client, { user, userKey, owners: new ExecutionOwners(client, user) });
  const archived = await archivedRuns(client, user, stores);
  const further = archived.filter((runId) => !listed.includes(runId)).length;
  const notice = listed.length + further > 0 ? undefined : await nothingFound(client, { user, userKey });
  return { listed: listed.length, archived: further, ...defined({ notice }) };
}

/** Removes the entries of a user from the memory, if there is one. Returns their number. */
async function forgetMemory(user: Identity, { memory }: Pick<UserStores, 'memory'>): Promise<number> {
  const entries = await inStore('memory', `The memory of ${nameOfUser(user)} was not removed`, async () =>
    memory?.forgetNamespaces({ prefix: memoryOwner(user) }),
  );
  return entries ?? 0;
}
