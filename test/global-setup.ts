import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import type { TestProject } from 'vitest/node';
import { startDevServer } from '../src/dev-server/dev-server.ts';
import { LonghaulPlugin, type LonghaulPluginOptions } from '../worker/index.ts';
import { withoutSources } from '../worker/write-packaged-bundle.ts';
import { codecWith } from './server/codec/codec-agents.ts';

/** The paths of the workflow bundles of a test run. */
interface WorkflowBundles {
  readonly path: string;
  /** For workers that encrypt: they refuse the other bundle. */
  readonly encryptedPath: string;
  remove(): Promise<void>;
}

/** Bundles Longhaul's workflows together with the test workflows, once without encryption and once with it, into separate files. */
async function bundleWorkflows(): Promise<WorkflowBundles> {
  const directory = await mkdtemp(join(tmpdir(), 'longhaul-test-'));
  const path = await bundle(directory, 'workflow-bundle.js', {});
  const encryptedPath = await bundle(directory, 'encrypted-workflow-bundle.js', { codec: codecWith('k1', 1) });
  return { path, encryptedPath, remove: () => rm(directory, { recursive: true }) };
}

async function bundle(directory: string, name: string, options: Pick<LonghaulPluginOptions, 'codec'>): Promise<string> {
  const { code } = await bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL('./server/testbed/host-workflows.ts', import.meta.url)),
    plugins: [new LonghaulPlugin({ agents: [], providers: {}, ...options })],
    logger: new DefaultLogger('ERROR'),
  });
  const path = join(directory, name);
  await writeFile(path, withoutSources(code));
  return path;
}

declare module 'vitest' {
  interface ProvidedContext {
    /** `host:port` of the Temporal server that all test files share. */
    temporalAddress: string;
    temporalNamespace: string;
    /** The CLI that started the server; undefined if `TEMPORAL_ADDRESS` names a running server. */
    temporalCliPath: string | undefined;
    /** The path of one bundle with the workflows of Longhaul and of the tests: otherwise every worker would make its own. */
    workflowBundlePath: string;
    /** The path of the same bundle for workers that encrypt. */
    encryptedBundlePath: string;
  }
}

/** Otherwise the server lets a second pass between the starts of two executions of a run, and many of these runs continue as new often. */
const NO_PAUSE = ['history.workflowIdReuseMinimalInterval="10ms"'];

/**
 * Starts one server for the whole test run, headless and in memory. It has no search attributes, because registering them is a
 * tested behavior.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const start = performance.now();
  // The server begins in its process while this one bundles.
  const [server, bundles] = await Promise.all([startDevServer({ say, dynamicConfig: NO_PAUSE }), bundleWorkflows()]);
  const provisionSeconds = server.provisionMs / 1000;
  const startSeconds = (performance.now() - start) / 1000 - provisionSeconds;
  say(`the tests use the server at "${server.address}"; it and the bundles were ready after ${startSeconds.toFixed(1)} s`);
  if (provisionSeconds > 0) say(`getting the CLI took ${provisionSeconds.toFixed(0)} s, once: not part of the time of the tests`);

  project.provide('temporalAddress', server.address);
  project.provide('temporalNamespace', server.namespace);
  project.provide('temporalCliPath', server.cliPath);
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
