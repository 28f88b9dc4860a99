import type { LonghaulClient } from '../../../client/longhaul-client.ts';
import type { SessionHandle } from '../../../client/session-handle.ts';

/** Returns the handle of a session that has begun, by its id alone. Throws `run_not_found`. */
export async function knownSession(client: LonghaulClient, id: string): Promise<SessionHandle> {
  // The handle could start a session, and needs the name of an agent for that.
  const { agentName } = await client.handle(id).status();
  return client.session(agentName, { id });
}
