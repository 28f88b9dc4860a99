import { setTimeout as sleep } from 'node:timers/promises';
import { activityInfo, getClient } from '@temporalio/activity';
import { errorMessage, LonghaulError } from '../../src/core/domain/errors.ts';
import { defined } from '../../src/core/domain/json.ts';
import type { MemoryEntry, MemoryStore, NewEntry } from '../../src/memory/memory-store.ts';
import type { ArchiveSink } from '../../src/stores/file-archive.ts';
import type { PayloadStore } from '../../src/stores/payload-store.ts';
import type { WorkerStores } from './store-watch.ts';
import { type RunState, runState } from '../../src/temporal/run-workflow.ts';

/** The time limit for the server's answer, in milliseconds. */
const ANSWER_MS = 2_000;

/** Returns the stores for activities: they store nothing for a run that has ended, and keep nothing of a run that was removed meanwhile. */
export function guardedStores({ payloadStore, archive, memory }: WorkerStores, log: (line: string) => void): WorkerStores {
  const guarded = <Value>(work: RunWrite<Value>): Promise<Value> => {
    const run = currentRun();
    return run === undefined ? work.write() : guardedWrite(run, work, { log });
  };
  return {
    ...(payloadStore === undefined ? {} : { payloadStore: guardedPayloads(payloadStore, guarded) }),
    ...(archive === undefined ? {} : { archive: guardedArchive(archive, guarded) }),
    ...(memory === undefined ? {} : { memory: guardedMemory(memory, guarded) }),
  };
}

function guardedPayloads(store: PayloadStore, guarded: Guarded): PayloadStore {
  return {
    name: store.name,
    type: store.type,
    store: (context, payloads) => {
      const { namespace = '', id: runId = '' } = context.target ?? {};
      return guarded({
        write: () => store.store(context, payloads),
        // The content of a newer run with that id is removed with that run.
        undo: async (isGone) => (isGone ? store.deleteRun({ namespace, runId }) : undefined),
      });
    },
    retrieve: (context, claims) => store.retrieve(context, claims),
    deleteRun: (run) => store.deleteRun(run),
  };
}

function guardedArchive(archive: ArchiveSink, guarded: Guarded): ArchiveSink {
  return {
    append: (batch) =>
      guarded({
        write: () => archive.append(batch),
        undo: async (isGone) => (isGone ? archive.deleteRun(batch.run) : undefined),
      }),
    read: (run) => archive.read(run),
    runsOf: (whom) => archive.runsOf(whom),
    deleteRun: (run) => archive.deleteRun(run),
  };
}

/** Returns the run that the current activity belongs to. */
function currentRun(): WritingRun | undefined {
  const { workflowExecution } = activityInfo();
  if (workflowExecution === undefined) return undefined;
  const client = getClient();
  const { workflowId, runId: executionId } = workflowExecution;
  const inTime = <Value>(ask: () => Promise<Value>): Promise<Value> => client.withDeadline(Date.now() + ANSWER_MS, ask);
  return {
    runId: workflowId,
    state: () => inTime(() => runState(client, workflowId, executionId)),
    isGone: async () => (await inTime(() => runState(client, workflowId))) === 'gone',
  };
}

/** Writes for the run of the current activity, and undoes the write if the run is removed meanwhile. */
type Guarded = <Value>(work: RunWrite<Value>) => Promise<Value>;

/** The entries searched for the witness: several may have its key in a different case. */
const LOOKED_AT = 10;

/** Returns a memory that keeps no late writes for a user who was forgotten meanwhile. */
export function guardedMemory(memory: MemoryStore, guarded: Guarded): MemoryStore {
  return {
    remember: (entry) => {
      let witness: MemoryEntry | undefined;
      let stored: MemoryEntry | undefined;
      return guarded({
        write: async () => {
          witness = await witnessOf(memory, entry);
          stored = await memory.remember(entry);
          return stored;
        },
        undo: async (isGone) => {
          if (witness !== undefined && (await isThere(memory, entry.namespace, witness))) return;
          await forgetWrite(memory, entry, { stored, isGone });
        },
      });
    },
    recall: (query) => memory.recall(query),
    forget: (what) => memory.forget(what),
    forgetNamespaces: (what) => memory.forgetNamespaces(what),
    listNamespaces: (what) => memory.listNamespaces(what),
    list: (what) => memory.list(what),
  };
}

/**
 * Returns another entry of the namespace, from before the write, or undefined. Forgetting the user would also remove it: if it still exists
 * after the run was removed, only the run was deleted, and the memory stays unchanged.
 */
async function witnessOf(memory: MemoryStore, { namespace, key }: NewEntry): Promise<MemoryEntry | undefined> {
  try {
    const { entries } = await memory.list({ namespace, limit: 2 });
    return entries.find((one) => one.key !== key);
  } catch {
    // An unreadable memory prevents no write.
    return undefined;
  }
}

async function isThere(memory: MemoryStore, namespace: string, { key, timestamp }: MemoryEntry): Promise<boolean> {
  const found = await memory.recall({ namespace, text: key, topK: LOOKED_AT });
  return found.some((one) => one.key === key && one.timestamp === timestamp);
}

/** Removes the entry of a write, but no entry that another run has stored in its place. */
async function forgetWrite(
  memory: MemoryStore,
  { namespace, key, source }: NewEntry,
  { stored, isGone }: { stored: MemoryEntry | undefined; isGone: boolean },
): Promise<void> {
  // A failed write may still have stored the entry, at an unknown time. A newer run with that id has the same source.
  if (source === undefined || (stored === undefined && !isGone)) return;
  await memory.forget({ namespace, key, source, ...defined({ timestamp: stored?.timestamp }) });
}

/** A run in the view of its activity. */
export interface WritingRun {
  runId: string;
  /** Returns the server's state of the activity's execution. */
  state(): Promise<RunState>;
  /** True if the server no longer has any run with that id, including newer ones. */
  isGone(): Promise<boolean>;
}

/** A write to a store other than the server. */
interface RunWrite<Value> {
  write: () => Promise<Value>;
  /** Undoes the write. Called only if the server has removed the execution. `isGone`: no newer run has that id. */
  undo: (isGone: boolean) => Promise<unknown>;
}

/** The times of a guard, in milliseconds. */
interface GuardTimes {
  /** Between two checks of a run that has ended. */
  everyMs: number;
  /** The total time of such checks. The server removes a run within a minute or so. */
  untilMs: number;
}

const TIMES: GuardTimes = { everyMs: 2_000, untilMs: 180_000 };

/** The shortest retention of any server: a removed run that was open more recently was removed by a caller. */
const SHORTEST_RETENTION_MS = 3_600_000;

/**
 * Writes for a run so that nothing is left if a caller removes the run. A write for a run that has ended is refused with `run_ended`. A
 * write that began earlier, by a call that outlives its run, may still arrive after the removal of the run's content: after it, the run is
 * looked up again, without delaying the caller, and is watched if it has ended meanwhile; if it is then removed, the write is undone. A
 * server that does not answer prevents no write.
 */
export async function guardedWrite<Value>(
  run: WritingRun,
  { write, undo }: RunWrite<Value>,
  { log, times = TIMES }: { log: (line: string) => void; times?: GuardTimes },
): Promise<Value> {
  const begun = Date.now();
  const before = await stateOf(run);
  if (before === 'closed' || before === 'gone') {
    throw new LonghaulError('run_ended', `Run "${run.runId}" has ended: nothing is stored for it any more`);
  }
  try {
    return await write();
  } finally {
    void undoIfRemoved(run, { begun, undo, times }).catch((error: unknown) => {
      log(`Run "${run.runId}" was removed during a write of one of its calls, and the write could not be undone: ${errorMessage(error)}`);
    });
  }
}

async function undoIfRemoved(
  run: WritingRun,
  { begun, undo, times: { everyMs, untilMs } }: { begun: number; undo: (isGone: boolean) => Promise<unknown>; times: GuardTimes },
): Promise<void> {
  for (const end = performance.now() + untilMs; performance.now() < end;) {
    const state = await stateOf(run);
    // A write during the run is removed with the run.
    if (state === 'open') return;
    if (state === 'gone') {
      if (Date.now() - begun < SHORTEST_RETENTION_MS) await undo(await run.isGone());
      return;
    }
    await sleep(everyMs, undefined, { ref: false });
  }
}

async function stateOf(run: WritingRun): Promise<RunState | 'unknown'> {
  try {
    return await run.state();
  } catch {
    return 'unknown';
  }
}
