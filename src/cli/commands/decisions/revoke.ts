import type { RunHandle } from '../../../client/run-handle.ts';
import type { CommandIo, ServerFlags } from '../../program/command.ts';
import { withRun } from '../../with-run.ts';

/** The options of `longhaul revoke`. */
export interface RevokeFlags extends ServerFlags {
  runId: string;
  decisionId: string;
}

/** Ends a remembered decision. One that is not remembered is no error. */
export async function revoke(io: CommandIo, flags: RevokeFlags): Promise<number> {
  return withRun(io, flags, async ({ client, runId }) => revokeDecision(io, client.handle<unknown>(runId), flags));
}

/** Ends a remembered decision of the run of a handle. */
export async function revokeDecision(
  { output }: CommandIo,
  run: Pick<RunHandle<unknown>, 'runId' | 'revoke'>,
  { decisionId }: RevokeFlags,
): Promise<number> {
  const receipt = await run.revoke(decisionId);
  if (output.json) output.printJson({ runId: run.runId, decisionId, ...receipt });
  else if (receipt.revoked) output.print(`Decision "${decisionId}" holds for no further calls of run "${run.runId}"`);
  else output.print(`No decision "${decisionId}" held for further calls of run "${run.runId}": there was nothing to revoke`);
  return 0;
}
