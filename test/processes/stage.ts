import { startDevServer } from '../../src/dev-server/dev-server.ts';
import type { Say } from './command.ts';
import { bundleToFile } from './workflow-bundle.ts';

/** A fresh Temporal server. Deferred functions run before it ends, the last first. */
export interface Stage extends AsyncDisposable {
  address: string;
  namespace: string;
  defer(end: () => unknown): void;
}

/** Starts a fresh dev server, in memory. A server that TEMPORAL_ADDRESS names is not used, because other runs may use it, with other flags. */
export async function openStage(say: Say): Promise<Stage> {
  const ends = new AsyncDisposableStack();
  const server = await startDevServer({ say, env: { ...process.env, TEMPORAL_ADDRESS: '' } });
  ends.defer(() => server.stop());
  const { address, namespace } = server;
  return {
    address,
    namespace,
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
