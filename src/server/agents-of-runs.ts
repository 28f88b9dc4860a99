import type { LonghaulClient } from '../client/longhaul-client.ts';
import { runsAbove } from '../client/runs-above.ts';
import { errorCode } from '../core/domain/errors.ts';
import { type Caller, forbidden, mayStart, requireStart } from './auth/caller.ts';

/**
 * Throws `forbidden` if a caller that may start only some agents changes a run of another agent: a message or an approval makes that agent
 * work, as a start does, and a cancellation ends its work. A run that descends from a run of the caller's agents counts as one of theirs.
 * Does nothing if the run does not exist: the route reports that.
 */
export async function requireAgentOf(caller: Caller, client: LonghaulClient, runId: string): Promise<void> {
  if (caller.agents === undefined) return;
  const agentName = await agentOf(client, runId);
  if (agentName === undefined || mayStart(caller, agentName)) return;
  // A run token has the rights of its maker, without that of starting anything.
  if (caller.runId !== undefined) return requireStart(caller, agentName);
  for await (const above of runsAbove(client.temporal, runId)) {
    const name = await agentOf(client, above);
    if (name !== undefined && mayStart(caller, name)) return;
  }
  throw forbidden(`The caller "${caller.id}" may not change runs of "${agentName}": use credentials whose agents include it`);
}

async function agentOf(client: LonghaulClient, runId: string): Promise<string | undefined> {
  try {
    return (await client.handle(runId).status()).agentName;
  } catch (error) {
    if (errorCode(error) === 'run_not_found') return undefined;
    throw error;
  }
}
