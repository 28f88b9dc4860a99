import type { StorageDriver } from '@temporalio/common';

/** Which run something belongs to: all executions of one workflow id. */
export interface StoredRun {
  namespace: string;
  runId: string;
}

/**
 * Where content goes that is too large for a run's history. It is a storage driver of the Temporal SDK that can also
 * forget: any store that implements this plugs in, and a store can serve the SDK's own `ExternalStorage` besides.
 *
 * `store` keeps payloads for the run that `context.target` names, and is called with a workflow as target;
 * `retrieve` rejects where a claim finds nothing. Both get payloads as the codecs made them. What was stored twice
 * for one run may be kept once.
 */
export interface PayloadStore extends StorageDriver {
  /** Forgets everything that was stored for a run. Forgetting a run that has nothing is no error. */
  deleteRun(run: StoredRun): Promise<void>;
}
