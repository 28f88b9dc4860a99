import type { CommandIo, ServerFlags } from '../program/command.ts';
import { type ServerLocation, withClient } from '../with-client.ts';

/**
 * Checks within 5 s that a worker can run in the namespace, and returns the server. The worker's own connection takes
 * longer and its errors are hard to read. Throws `server_unreachable`, or the server's error for a namespace that it
 * does not have.
 */
export async function checkNamespace(io: CommandIo, flags: ServerFlags): Promise<ServerLocation> {
  return await withClient(io, flags, async ({ client, server }) => {
    await client.temporal.workflowService.describeNamespace({ namespace: server.namespace });
    return server;
  });
}
