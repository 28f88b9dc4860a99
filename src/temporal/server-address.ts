import { loadClientConnectConfig } from '@temporalio/envconfig';

/**
 * The address and namespace of a Temporal server. Unset fields come from the environment and the CLI's TOML profile.
 */
export interface ServerAddress {
  /** `host:port`. */
  address?: string;
  namespace?: string;
}

/** Connection options for both client and worker. */
export type ServerConnectOptions = ReturnType<typeof loadClientConnectConfig>['connectionOptions'] & { address: string };

/**
 * Resolves the server to connect to: the caller's options take precedence over `TEMPORAL_*` variables, which take
 * precedence over the profile.
 */
export function resolveServer(chosen: ServerAddress = {}): { connection: ServerConnectOptions; namespace: string } {
  const config = loadClientConnectConfig();
  const address = chosen.address ?? config.connectionOptions.address ?? 'localhost:7233';
  return {
    connection: { ...config.connectionOptions, address },
    namespace: chosen.namespace ?? config.namespace ?? 'default',
  };
}
