import { createServer, type Server } from 'node:net';
import { errorMessage } from '../core/domain/errors.ts';
import { DevServerError } from './dev-server-error.ts';
import { SERVER_IP } from './start-flags.ts';

/**
 * Returns free ports, one for each requested: a number is checked, `undefined` accepts any. Throws a `DevServerError` for a
 * number that is taken: the server would fail there, and the program that uses the port would be taken for it.
 */
export async function freePorts(requested: readonly (number | undefined)[]): Promise<number[]> {
  const held: Server[] = [];
  try {
    // All ports are held until the last one is chosen, so that no port is chosen twice.
    for (const port of requested) held.push(await hold(port));
    return held.map(portOf);
  } finally {
    await Promise.all(held.map((server) => new Promise((resolve) => server.close(resolve))));
  }
}

/** Returns the port that a listening server received. */
export function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new DevServerError('The server does not listen on a port.');
  return address.port;
}

async function hold(port: number | undefined): Promise<Server> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) =>
      reject(
        new DevServerError(`Port "${port ?? 0}" cannot be used: ${errorMessage(error)}. Choose another, or end the program that uses it.`, {
          cause: error,
        }),
      ),
    );
    server.listen({ host: SERVER_IP, port: port ?? 0 }, resolve);
  });
  return server;
}
