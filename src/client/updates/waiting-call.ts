import { LonghaulError } from '../../core/domain/errors/error.ts';
import type { DecidedRun, ListedApproval } from './decided-run.ts';

/** The id of a call, and its digest if it is known. */
export interface SoughtCall {
  callId: string;
  digest?: string;
}

/**
 * Returns the approval that waits under the id of a call, in the run or below it; undefined if there is none. Throws
 * `ambiguous_call` if calls of several runs have that id.
 */
export async function waitingCall({ runId, reader }: DecidedRun, { callId, digest }: SoughtCall): Promise<ListedApproval | undefined> {
  // Nothing waits in a run that has ended, and there may be no worker that could answer.
  if ((await reader.chain.newest()).closed) return undefined;
  const { pending } = await reader.approvals();
  const [waiting, ...others] = pending.filter((one) => one.callId === callId && (digest === undefined || one.digest === digest));
  if (others.length === 0 || waiting === undefined) return waiting;
  const runs = [waiting, ...others].map((one) => `"${one.runId ?? runId}"`).join(', ');
  throw new LonghaulError(
    'ambiguous_call',
    `Call "${callId}" waits in ${others.length + 1} runs of the tree of "${runId}": ${runs}. Say which one: pass the approval as ` +
      `approvals() lists it, or {callId, digest, runId}; with the command, name the run by --in`,
  );
}
