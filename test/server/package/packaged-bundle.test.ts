import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { Replayer } from '../../../worker/index.ts';
import { startCli, untilSaid } from '../../cli/cli-process.ts';
import { barePackage, type ConsumerProject, runModule } from './consumer-project.ts';

let project: ConsumerProject;

beforeAll(async () => {
  project = await barePackage();
});

afterAll(() => project.remove());

/** An agent, and the model that answers it. */
const AGENTS = `
  import { defineAgent } from 'longhaul';
  import { say, scriptedModel } from 'longhaul/testing';
  export const agents = [defineAgent({ name: 'clerk', model: 'scripted/m' })];
  export const providers = { scripted: scriptedModel([say('A')]) };
`;

/**
 * Runs a worker with these options and an agent on it; returns the output, and whether the bundler has run. The history of the run is in
 * `history.json` of the project.
 */
async function runWith(options: string): Promise<unknown> {
  const printed = await runModule(
    project,
    `${AGENTS}
    import { createRequire } from 'node:module';
    import { writeFileSync } from 'node:fs';
    import { connect } from 'longhaul/client';
    import { createWorker } from 'longhaul/worker';
    import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
    const [address, namespace] = process.argv.slice(2);
    const options = ${options};
    const taskQueue = 'packaged-' + process.pid + '-' + Date.now();
    const worker = await createWorker({ address, namespace, taskQueue, agents, providers, logLevel: 'ERROR', ...options });
    // The SDK loads webpack itself in any case, and its compiler when it bundles.
    const bundled = Object.keys(createRequire(import.meta.url).cache).some((path) => path.endsWith('/webpack/lib/Compiler.js'));
    const running = worker.run();
    const client = await connect({ address, namespace, taskQueue, codec: options.codec });
    const { runId, output } = await client.run(agents[0], { input: 'Q' });
    writeFileSync('history.json', historyToJSON(await client.temporal.workflow.getHandle(runId).fetchHistory()));
    worker.shutdown();
    await running;
    await client.close();
    console.log(JSON.stringify({ bundled, output }));
    process.exit();
    `,
  );
  return JSON.parse(printed.trim().split('\n').at(-1) ?? '');
}

test('a worker of the package runs agents without the bundler, and their histories equal the histories of bundled workflows', async () => {
  expect(await runWith('{}')).toEqual({ bundled: false, output: 'A' });
  const replayer = new Replayer();
  expect(await replayer.replay('run', JSON.parse(await readFile(join(project.path, 'history.json'), 'utf8')))).toEqual({ type: 'ok' });
  await replayer.close();
});

test.each([
  ['that encrypts', "{ codec: { encryption: { activeKeyId: 'k1', keys: { k1: Buffer.alloc(32, 1) } } } }"],
  ['with stack traces', '{ workflowStackTraces: true }'],
  ['with options of the bundler', '{ worker: { bundlerOptions: { ignoreModules: [] } } }'],
])('a worker %s bundles', async (_kind, options) => {
  expect(await runWith(options)).toEqual({ bundled: true, output: 'A' });
});

test.each([[[]], [['--watch']]])('"longhaul dev" of the package does not say that it bundles: %j', async (more) => {
  await writeFile(join(project.path, 'agents.mjs'), AGENTS);
  const env = { TEMPORAL_ADDRESS: inject('temporalAddress'), TEMPORAL_NAMESPACE: inject('temporalNamespace') };
  const args = ['dev', '--agents', 'agents.mjs', '--task-queue', `dev-${process.pid}-${Date.now()}`, '--no-http', '--json', ...more];
  const dev = startCli(args, env, project.path, join(project.path, 'node_modules/longhaul/dist/src/cli/main.js'));
  try {
    await untilSaid(dev, () => dev.stdout().includes('\n'), 'the line that says that all is ready');
    expect(dev.stderr()).not.toContain('Bundling');
    dev.child.kill('SIGINT');
    expect(await dev.ended).toBe(0);
  } finally {
    dev.child.kill('SIGKILL');
  }
});
