import type { CommandIo, ServerFlags } from '../program/command.ts';
import { type ServerPlace, withClient } from '../with-client.ts';

/**
 * Finds out within 5 s whether a worker can run there, and returns the place: a worker's own connection takes its time,
 * and its errors are not for people. Throws `server_unreachable`, or the server's word on a namespace it does not have.
 */
export async function checkNamespace(io: CommandIo, flags: ServerFlags): Promise<ServerPlace> {
  return await withClient(io, flags, async ({ client, server }) => {
    await client.temporal.workflowService.describeNamespace({ namespace: server.namespace });
    return server;
  });
}
