import { activityInfo, getClient } from '@temporalio/activity';
import type { ArchiveSink } from '../../src/stores/archive/archive-sink.ts';
import type { MemoryStore } from '../../src/memory/memory-store.ts';
import type { PayloadStore } from '../../src/stores/payload-store/payload-store.ts';
import { runState } from '../../src/temporal/run-state.ts';
import { type Guarded, guardedMemory } from './guarded-memory.ts';
import { guardedWrite, type RunWrite, type WritingRun } from './late-writes.ts';

/** The stores of a worker that keep something of runs. */
export interface WorkerStores {
  payloadStore?: PayloadStore;
  archive?: ArchiveSink;
  memory?: MemoryStore;
}

/** Milliseconds that the server has to answer. */
const ANSWER_MS = 2_000;

/** Returns the stores for activities: they store nothing of a run that has ended, and keep nothing of one that was removed meanwhile. */
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
