import type { StorageDriver } from '@temporalio/common';

/** A run that stored data belongs to: all executions of one workflow id. */
export interface StoredRun {
  namespace: string;
  runId: string;
}

/**
 * A store for content that is too large for a run's history. It is a storage driver of the Temporal SDK that can also
 * delete a run. Any store can implement it, and one store can also serve the SDK's own `ExternalStorage`.
 *
 * `store` is called with a workflow as `context.target` and keeps payloads for that run; `retrieve` rejects if it finds
 * nothing for a claim. Both receive payloads as the codecs encoded them. Content that is stored twice for one run may be
 * kept once.
 */
export interface PayloadStore extends StorageDriver {
  /** Deletes all content of a run. A run without content is not an error. */
  deleteRun(run: StoredRun): Promise<void>;
}
