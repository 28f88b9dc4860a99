import type { RunRecord } from '../core/domain/record/run-record.ts';
import type { StoredRun } from '../payload-store/payload-store.ts';

/** What one execution of a run has recorded, handed over when the run leaves it behind. */
export interface ArchiveBatch {
  run: StoredRun;
  /** Offset of the first event. */
  from: number;
  /** The offset after the last event. */
  through: number;
  /** All events of that range, and the steps between them, in order. Plain JSON, in clear text. */
  records: readonly RunRecord[];
}

/**
 * Where a worker writes what runs leave behind, so that nothing of a run depends on how long the server keeps
 * histories. Any store that implements this plugs in.
 */
export interface ArchiveSink {
  /**
   * Keeps a batch for good before it resolves. It may be called again with the same batch, or with a longer one that
   * begins with the same event, where the run was cancelled meanwhile, or with another one that begins with it, where the
   * run was retried: what was kept before is replaced, and nothing is there twice. Rejects where the batch could not be kept, and is then called again; so it is
   * where it has not answered in time, and the call before may still go on then. The run waits for it, up to
   * `archiveTimeoutMs` of the worker, and then goes on without what could not be kept.
   */
  append(batch: ArchiveBatch): Promise<void>;
  /** All that was kept of a run, in order, each event and each step once. Nothing for a run that it does not know. */
  read(run: StoredRun): AsyncIterable<RunRecord>;
  /** Forgets a run. Forgetting a run that it does not know is no error. */
  deleteRun(run: StoredRun): Promise<void>;
}
