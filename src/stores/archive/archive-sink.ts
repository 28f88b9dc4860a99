import type { RunRecord } from '../../core/domain/record.ts';
import type { Principal } from '../../core/domain/run.ts';
import type { StoredRun } from '../payload-store/payload-store.ts';

/** The record of one execution of a run, which the run sends to the archive when the execution ends. */
export interface ArchiveBatch {
  run: StoredRun;
  /** Whom the run acts for; absent for a run without a principal. */
  principal?: Pick<Principal, 'tenant' | 'user'>;
  /** Offset of the first event. */
  from: number;
  /** The offset after the last event. */
  through: number;
  /** All events of that range, and the steps between them, in order, as plain JSON in clear text. */
  records: readonly RunRecord[];
}

/**
 * An archive that a worker writes the records of runs to, so that they outlast the server's retention of histories.
 * Any store can implement it.
 */
export interface ArchiveSink {
  /**
   * Stores a batch durably before it resolves. Rejects if the batch could not be stored. It is called again after a
   * rejection or a timeout, while the earlier call may still be running; with a longer batch that begins with the
   * same event if the run was cancelled meanwhile; and with another such batch if the run was retried. Each replaces
   * what was stored from that event on, so nothing is stored twice. The run waits for it, up to the worker's
   * `archiveTimeoutMs`, and then continues without a batch that could not be stored.
   */
  append(batch: ArchiveBatch): Promise<void>;
  /**
   * Reads everything that was stored for a run, in order, each event and each step once. Yields nothing for an
   * unknown run.
   */
  read(run: StoredRun): AsyncIterable<RunRecord>;
  /**
   * Returns the ids of the runs of a namespace that act for this tenant and this user, as their batches say: an absent one is only the same
   * as an absent one. By these, a user can be forgotten after the server has removed the runs.
   */
  runsOf(whom: ArchivedPrincipal): Promise<readonly string[]>;
  /** Deletes a run, also that it was one of its principal. An unknown run is not an error. */
  deleteRun(run: StoredRun): Promise<void>;
}

/** A principal whose runs an archive is asked for, and the namespace that they are in. */
export type ArchivedPrincipal = Pick<StoredRun, 'namespace'> & Pick<Principal, 'tenant' | 'user'>;
