import type { LonghaulClient } from '../../client/longhaul-client.ts';
import type { SessionHandle } from '../../client/session-handle.ts';

/** Returns the handle of a session that has begun, by its id alone. Throws `run_not_found`. */
export async function sessionHandle(client: LonghaulClient, sessionId: string): Promise<SessionHandle> {
  // The handle can start a session, and needs the name of the agent for that.
  const { agentName } = await client.handle(sessionId).status();
  return client.session(agentName, { id: sessionId });
}
