import type { SecretVault } from '../secrets/secret-vault.ts';
import { McpPool } from './mcp-pool.ts';

/** The pool of a worker. The client of the protocol is loaded with the first connection: most workers need none. */
export function workerPool(secrets: Pick<SecretVault, 'resolve' | 'redact'>, log: (line: string) => void): McpPool {
  return new McpPool(async (server, stop) => {
    const { openConnection } = await import('./open-connection.ts');
    return openConnection(server, { secrets, log }, stop);
  });
}
