import { connect, type LonghaulClient } from '../../src/client/index.ts';
import { startDevServer } from '../../src/dev-server/dev-server.ts';
import type { Say } from './command.ts';
import { bundleToFile } from './workflow-bundle.ts';

/** A fresh Temporal server with a client. What is deferred runs before they end, the last first. */
export interface Stage extends AsyncDisposable {
  address: string;
  namespace: string;
  client: LonghaulClient;
  defer(end: () => unknown): void;
}

/** What a stage is opened with. */
interface StageOptions {
  say: Say;
  /** True: runs may wait for a worker, which is expected and not reported. */
  isBusy?: boolean;
}

/** Starts a fresh dev server, in memory. A server that TEMPORAL_ADDRESS names is not used, because other runs may use it, with other flags. */
export async function openStage({ say, isBusy = false }: StageOptions): Promise<Stage> {
  const ends = new AsyncDisposableStack();
  const server = await startDevServer({ say, env: { ...process.env, TEMPORAL_ADDRESS: '' } });
  ends.defer(() => server.stop());
  const { address, namespace } = server;
  const client = await connect({ address, namespace, ...(isBusy ? { onNotice: () => undefined } : {}) });
  ends.defer(() => client.close());
  return {
    address,
    namespace,
    client,
    defer: (end) => ends.defer(async () => void (await end())),
    [Symbol.asyncDispose]: () => ends.disposeAsync(),
  };
}

/** Bundles the workflows for the workers of a stage, and returns the path of the file. */
export async function bundleFor(stage: Pick<Stage, 'defer'>, workflowsPath?: string): Promise<string> {
  const { path, remove } = await bundleToFile(workflowsPath);
  stage.defer(remove);
  return path;
}
