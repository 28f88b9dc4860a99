// A user wants to be forgotten: their runs, conversations, large results, memories and archives are removed, and nobody else's.
import { connect, fileArchive, fileStore, type Forgotten, type LonghaulClient, type LonghaulClientOptions } from 'longhaul/client';
import { sqliteMemory } from 'longhaul/worker';

/** The stores of the workers, also for the client that forgets: once a run is removed, nothing points to its content. */
export function storesIn(directory: string): Required<Pick<LonghaulClientOptions, 'payloadStore' | 'archive' | 'memory'>> {
  return {
    payloadStore: fileStore({ directory: `${directory}/results` }),
    archive: fileArchive({ directory: `${directory}/archive` }),
    memory: sqliteMemory({ file: `${directory}/memory.db` }),
  };
}

/**
 * Removes everything of a user, and waits until the server no longer has it. Running runs are cancelled first. If it is interrupted, call
 * it again: a call that finds nothing is not an error. Start no runs for the user meanwhile.
 */
export async function forgetUser(client: LonghaulClient, tenant: string, user: string): Promise<Forgotten> {
  // No worker has live output in a sink. A store that is neither given nor named here is refused before anything is removed.
  const forgotten = await client.forget({ tenant, user, without: ['streams'] });
  for (const runId of forgotten.kept) console.warn(`Run id "${runId}" is now another user's: delete that run, too`);
  return forgotten;
}

/** A client that can forget: `await connectWith('/var/lib/agents')`. */
export function connectWith(directory: string): Promise<LonghaulClient> {
  return connect(storesIn(directory));
}
