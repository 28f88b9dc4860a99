import type { TestProject } from 'vitest/node';
import { startDevServer } from '../src/dev-server/index.ts';
import { bundleWorkflows } from './server/testbed/bundle-workflows.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** `host:port` of the one Temporal server that all test files share. */
    temporalAddress: string;
    temporalNamespace: string;
    /** The CLI that the server was started with; undefined when `TEMPORAL_ADDRESS` names a server that ran already. */
    temporalCliPath: string | undefined;
    /** The workflows of Longhaul and of the tests, bundled once: every worker would otherwise do it again. */
    workflowBundlePath: string;
    /** The same for workers that encrypt. */
    encryptedBundlePath: string;
  }
}

/**
 * One server for the whole test run, headless and in memory. Search attributes are left out, because registering them is
 * a behaviour under test.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const start = performance.now();
  const server = await startDevServer({ say });
  const provisionSeconds = server.provisionMs / 1000;
  const startSeconds = (performance.now() - start) / 1000 - provisionSeconds;
  say(`the tests use the server at "${server.address}", ready after ${startSeconds.toFixed(1)} s`);
  if (provisionSeconds > 0) say(`getting the CLI took ${provisionSeconds.toFixed(0)} s, once: not part of the time of the tests`);

  project.provide('temporalAddress', server.address);
  project.provide('temporalNamespace', server.namespace);
  project.provide('temporalCliPath', server.cliPath);
  const bundles = await bundleWorkflows();
  project.provide('workflowBundlePath', bundles.path);
  project.provide('encryptedBundlePath', bundles.encryptedPath);
  return async () => {
    await bundles.remove();
    await server.stop();
  };
}

function say(line: string): void {
  process.stderr.write(`[temporal] ${line}\n`);
}
