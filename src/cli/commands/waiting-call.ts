import type { RunHandle } from '../../client/run-handle.ts';
import type { ListedApproval } from '../../client/updates/decide-call.ts';
import { LonghaulError, UsageError } from '../../core/domain/errors/error.ts';

/** The only call of a run that waits for a decision. Throws `unknown_call` where none does, and a UsageError that lists them where several do. */
export async function waitingCall(
  run: Pick<RunHandle<unknown>, 'runId' | 'approvals'>,
  digest: string | undefined,
): Promise<ListedApproval> {
  const { pending } = await run.approvals();
  const [only, ...others] = pending;
  if (only === undefined) throw new LonghaulError('unknown_call', `No call of run "${run.runId}" waits for a decision`);
  if (others.length > 0) {
    const calls = pending.map(({ callId, toolName }) => `"${callId}" (${toolName})`).join(', ');
    throw new UsageError(`${pending.length} calls of run "${run.runId}" wait for a decision: name one of ${calls}`);
  }
  return { callId: only.callId, digest: digest ?? only.digest };
}
