import type { Client } from '@temporalio/client';
import type { PendingApproval } from '../../core/domain/approvals.ts';
import type { RunReader } from '../read/reader.ts';

/**
 * A pending approval as it was listed by `handle.approvals()`, by `client.approvals()` or in a notice of `notify`: a decision
 * on it is about exactly what was shown. `runId` is the run that waits; without it, the run of the handle or one below it is meant.
 */
export type ListedApproval = Pick<PendingApproval, 'callId' | 'digest'> & { readonly runId?: string };

/** The subject of a decision: a listed approval, or the id of a call, which stands for the approval that waits under that id now. */
export type DecidedOn = ListedApproval | string;

/** A run whose calls are decided on. */
export interface DecidedRun {
  client: Client;
  runId: string;
  reader: RunReader;
}
