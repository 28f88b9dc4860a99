import { loadClientConnectConfig } from '@temporalio/envconfig';

/** Where a Temporal server is and how to authenticate: from the caller, the environment, and the CLI's TOML profile. */
export interface ServerAddress {
  /** `host:port`. */
  address?: string;
  namespace?: string;
}

/** Connection options for client and worker alike. */
export type ServerConnectOptions = ReturnType<typeof loadClientConnectConfig>['connectionOptions'] & { address: string };

/** Resolves where to connect: what the caller says wins over `TEMPORAL_*` variables, which win over the profile. */
export function resolveServer(given: ServerAddress = {}): { connection: ServerConnectOptions; namespace: string } {
  const config = loadClientConnectConfig();
  const address = given.address ?? config.connectionOptions.address ?? 'localhost:7233';
  return {
    connection: { ...config.connectionOptions, address },
    namespace: given.namespace ?? config.namespace ?? 'default',
  };
}
