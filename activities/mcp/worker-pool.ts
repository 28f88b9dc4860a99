import type { SecretVault } from '../secrets/secret-vault.ts';
import { McpPool } from './mcp-pool.ts';

/** Creates the pool of a worker. The protocol's client is loaded with the first connection: most workers need none. */
export function workerPool(secrets: Pick<SecretVault, 'resolve' | 'redact'>, log: (line: string) => void): McpPool {
  return new McpPool(async (server, stop) => {
    const { openConnection } = await import('./open-connection.ts');
    return openConnection(server, { secrets, log }, stop);
  });
}
