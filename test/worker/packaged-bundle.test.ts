import { bundleWorkflowCode, DefaultLogger, type WorkerPlugin } from '@temporalio/worker';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { LonghaulPlugin } from '../../worker/index.ts';
import { type BundleParts, type BundleRecord, PACKAGED_BUNDLE_FILES, packagedBundle } from '../../worker/packaged-bundle.ts';
import { withoutSources, writePackagedBundle } from '../../worker/write-packaged-bundle.ts';
import { key } from '../codec/payloads.ts';

// Building a bundle takes a while on a busy machine.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const root = fileURLToPath(new URL('../../', import.meta.url));
const { code, record } = PACKAGED_BUNDLE_FILES;
let folder = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'longhaul-packaged-bundle-'));
  await writePackagedBundle(folder);
});

afterAll(() => rm(folder, { recursive: true }));

test('it has the code that a worker without its own workflows would bundle, and no path of this machine', async () => {
  const plugin = new LonghaulPlugin({ agents: [], providers: {} });
  const { workflowsPath = '' } = plugin.configureWorker({ taskQueue: 'q' });
  const bundled = await bundleWorkflowCode({ workflowsPath, plugins: [plugin], logger: new DefaultLogger('ERROR') });
  const packaged = await readFile(join(folder, code), 'utf8');
  // An assertion of equality would print both.
  expect(packaged === withoutSources(bundled.code)).toBe(true);
  expect(packaged.includes(root)).toBe(false);
});

test('it was made from the files of the loop, of the workflows and of the SDK', async () => {
  const { origin } = await recordIn(folder);
  expect(origin.versions).toHaveProperty('@temporalio/worker');
  expect(origin.files['longhaul']).toEqual(expect.arrayContaining(['src/core/kernel/run-loop.ts', 'workflows/runs.ts']));
  expect(origin.files['@temporalio/workflow']).toContain('lib/workflow.js');
});

const otherPlugin: WorkerPlugin = { name: 'other', configureWorker: (options) => options };
const bundlerPlugin = { name: 'bundler', configureBundler: (options: object) => options };
const runningPlugin = { name: 'running', runWorker: () => Promise.resolve() };

describe('a worker uses it', () => {
  test.each<[string, BundleParts]>([
    ['without its own workflows', {}],
    ['with a codec that compresses', { codec: { compression: true } }],
    ['with payload codecs', { dataConverter: { payloadCodecs: [] } }],
    ['with interceptors of activities', { interceptors: { activity: [], workflowModules: [] } }],
    ['with a plugin that only runs the worker', { plugins: [runningPlugin] }],
    ['without stack traces, as asked', { workflowStackTraces: false }],
  ])('%s', (_kind, parts) => {
    expect(packagedBundle(parts, folder)).toEqual({ codePath: join(folder, code) });
  });
});

describe('a worker bundles', () => {
  test.each<[string, BundleParts]>([
    ['with workflows of the user', { workflowsPath: '/workflows.ts' }],
    ['with interceptors of workflows', { interceptors: { workflowModules: ['/interceptor.ts'] } }],
    ['with options of the bundler', { bundlerOptions: {} }],
    ['with a plugin that configures workers', { plugins: [otherPlugin] }],
    ['with a plugin that configures bundles', { plugins: [bundlerPlugin] }],
    ['with a payload converter', { dataConverter: { payloadConverterPath: '/converter.js' } }],
    ['with a failure converter', { dataConverter: { failureConverterPath: '/converter.js' } }],
    ['with a codec that encrypts', { codec: { encryption: { activeKeyId: 'k1', keys: { k1: key(1) } } } }],
    ['with stack traces', { workflowStackTraces: true }],
    ['for a debugger', { debugMode: true }],
  ])('%s', (_kind, parts) => {
    expect(packagedBundle(parts, folder)).toBeUndefined();
  });

  test.each(['1', 'T', 'true'])('for a debugger that is set in the environment (%s)', (value) => {
    vi.stubEnv('TEMPORAL_DEBUG', value);
    expect(packagedBundle({}, folder)).toBeUndefined();
    vi.stubEnv('TEMPORAL_DEBUG', '0');
    expect(packagedBundle({}, folder)).toBeDefined();
    vi.unstubAllEnvs();
  });
});

/** Copies the bundle, changes the copy, and returns its folder. */
async function changed(change: (copy: string) => Promise<void>): Promise<string> {
  const copy = join(folder, `copy-${Math.random()}`);
  for (const file of [code, record]) await cp(join(folder, file), join(copy, file));
  await change(copy);
  return copy;
}

async function recordIn(at: string): Promise<BundleRecord> {
  return JSON.parse(await readFile(join(at, record), 'utf8')) as BundleRecord;
}

/** A bundle that was made from something else. */
function madeFrom(other: (origin: BundleRecord['origin']) => Partial<BundleRecord['origin']>): (copy: string) => Promise<void> {
  return async (copy) => {
    const { origin, ...rest } = await recordIn(copy);
    await writeFile(join(copy, record), JSON.stringify({ ...rest, origin: { ...origin, ...other(origin) } }));
  };
}

describe('a worker bundles if the bundle of the package', () => {
  test.each<[string, (copy: string) => Promise<void>]>([
    ['has lost its code', (copy) => rm(join(copy, code))],
    ['has lost its record', (copy) => rm(join(copy, record))],
    ['has damaged code', (copy) => writeFile(join(copy, code), '// half of it')],
    ['has a damaged record', (copy) => writeFile(join(copy, record), '{')],
    ['has a record of another shape', (copy) => writeFile(join(copy, record), '{}')],
    ['has another loop', madeFrom(() => ({ loop: 'another' }))],
    ['is of another version of the SDK', madeFrom(({ versions }) => ({ versions: { ...versions, '@temporalio/workflow': '1.0.0' } }))],
    ['is of another bundler', madeFrom(({ versions }) => ({ versions: { ...versions, '@temporalio/worker': '1.0.0' } }))],
    ['was made from files that are changed', madeFrom(() => ({ content: 'other' }))],
    ['was made from a file that is gone', madeFrom(({ files }) => ({ files: { ...files, ms: ['gone.js'] } }))],
    ['was made from a package that is gone', madeFrom(({ files }) => ({ files: { ...files, gone: [] } }))],
  ])('%s', async (_kind, change) => {
    expect(packagedBundle({}, await changed(change))).toBeUndefined();
  });

  test('is unchanged: then it does not', async () => {
    const copy = await changed(madeFrom(() => ({})));
    expect(packagedBundle({}, copy)).toEqual({ codePath: join(copy, code) });
  });
});
