import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, inject } from 'vitest';
import { z } from 'zod';

const root = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);

/** What npm needs to install a project anew. */
export const INSTALL_TIMEOUT_MS = 300_000;

/** The newest registry data is not needed: what `npm ci` brought is. */
const INSTALL = ['install', '--no-audit', '--no-fund', '--prefer-offline'];

/** A project of a team that uses the packed package. */
export interface ConsumerProject {
  /** Its folder. */
  readonly path: string;
  remove(): Promise<void>;
}

/**
 * A project where npm has installed the package with all that it needs, and Temporal's SDK at that version: seconds of CPU,
 * and hundreds of megabytes.
 */
export async function installedProject(sdk: string): Promise<ConsumerProject> {
  const project = await newProject(tmpdir());
  const packed = await pack(project.path);
  const { packages } = await sdkPeers();
  await npm(
    [...INSTALL, `./${packed}`, 'zod', ...packages.map((name) => `${name}@${sdk}`), ...(await pinned(['@types/node']))],
    project.path,
  );
  return project;
}

/** The lowest and the newest published version of Temporal's SDK that the package takes; one version if they are the same. */
export async function sdkVersions(): Promise<string[]> {
  const { packages, range } = await sdkPeers();
  // The newest that all packages have: they are not published in one moment.
  const published = await Promise.all(
    packages.map(async (name) => {
      const { stdout } = await npm(['view', '--json', '--prefer-online', `${name}@${range}`, 'version'], root);
      return z.union([z.string().transform((one) => [one]), z.array(z.string())]).parse(JSON.parse(stdout));
    }),
  );
  const [first = [], ...others] = published;
  const common = first.filter((version) => others.every((versions) => versions.includes(version)));
  return [...new Set([common[0], common.at(-1)])].filter((version) => version !== undefined);
}

/** Says that another version of one package of the SDK is installed, without installing it. */
export async function pretendVersion({ path }: ConsumerProject, name: string, version: string): Promise<void> {
  const file = join(path, 'node_modules', name, 'package.json');
  const manifest = z.record(z.string(), z.unknown()).parse(JSON.parse(await readFile(file, 'utf8')));
  await writeFile(file, JSON.stringify({ ...manifest, version }));
}

/** Standard error of the start of a worker and a client; empty if it succeeds. */
export async function startError({ path }: ConsumerProject): Promise<string> {
  return run(process.execPath, ['main.ts', inject('temporalAddress'), inject('temporalNamespace')], { cwd: path }).then(
    () => '',
    (error: unknown) => z.object({ stderr: z.string() }).parse(error).stderr,
  );
}

/** The packages of Temporal's SDK that the package needs, and the range that it takes. */
async function sdkPeers(): Promise<{ packages: string[]; range: string }> {
  const { peerDependencies } = z
    .object({ peerDependencies: z.record(z.string(), z.string()) })
    .parse(JSON.parse(await readFile(join(root, 'package.json'), 'utf8')));
  const peers = Object.entries(peerDependencies).filter(([name]) => name.startsWith('@temporalio/'));
  const [range = '', ...others] = new Set(peers.map(([, one]) => one));
  if (others.length > 0) throw new Error(`The packages of the SDK have several ranges: ${[range, ...others].join(', ')}`);
  return { packages: peers.map(([name]) => name), range };
}

/** A project inside of this one, which has the package as it is packed, and finds all that it needs here. */
export async function borrowingProject(): Promise<ConsumerProject> {
  const parent = join(root, '.cache');
  await mkdir(parent, { recursive: true });
  const project = await newProject(parent);
  const unpacked = join(project.path, 'node_modules/longhaul');
  await mkdir(unpacked, { recursive: true });
  await run('tar', ['-xzf', await pack(project.path), '-C', unpacked, '--strip-components=1'], { cwd: project.path });
  return project;
}

/** What the type checker says of the project, and on which stream. */
export async function typeCheck({ path }: ConsumerProject): Promise<{ stdout: string; stderr: string }> {
  const { stdout, stderr } = await run(join(root, 'node_modules/.bin/tsc'), ['-p', '.'], { cwd: path });
  return { stdout, stderr };
}

/** What `runAgents` gives where all is well. */
export const ALL_RAN = {
  summary: expect.stringContaining('surveyor') as string,
  toolCallsByName: { convert_miles: 1 },
  sorted: 'refund',
  outcome: { distance: '160.9 km', days: 4, statuses: ['completed', 'completed'] },
  replays: { host: 'replayed', run: 'replayed', tampered: 'DeterminismViolationError' },
};

/** What comes of its agents, run from its own workflow, and of the replays of their histories. */
export async function runAgents({ path }: ConsumerProject): Promise<unknown> {
  const { stdout } = await run(process.execPath, ['main.ts', inject('temporalAddress'), inject('temporalNamespace')], { cwd: path });
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
}

/** What Node's test runner says of its tests, which run its agents in memory and on the server. */
export async function runTests({ path }: ConsumerProject): Promise<string> {
  const env = { ...process.env, TEMPORAL_ADDRESS: inject('temporalAddress'), TEMPORAL_NAMESPACE: inject('temporalNamespace') };
  const { stdout } = await run(process.execPath, ['--test', '--test-reporter=tap', 'agents.test.ts'], { cwd: path, env });
  return stdout;
}

/** What the command line that the package brings says of itself. `binary` is its path in the project. */
export async function help({ path }: ConsumerProject, binary: string): Promise<string> {
  const { stdout } = await run(process.execPath, [join(path, binary), '--help'], { cwd: path });
  return stdout;
}

async function newProject(parent: string): Promise<ConsumerProject> {
  const path = await mkdtemp(join(parent, 'longhaul-package-'));
  await cp(join(root, 'test/package/consumer'), path, { recursive: true });
  await writeFile(join(path, 'package.json'), JSON.stringify({ name: 'consumer', private: true, type: 'module' }));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}

/** Packs the package as it is built into a folder; returns the name of the file. */
async function pack(into: string): Promise<string> {
  const { stdout } = await npm(['pack', '--json', '--ignore-scripts', '--pack-destination', into], root);
  const [packed] = z.tuple([z.object({ filename: z.string() })]).parse(JSON.parse(stdout.slice(stdout.indexOf('['))));
  return packed.filename;
}

/** npm, without what an npm script that runs this test has put into its environment about this project. */
async function npm(args: string[], cwd: string): Promise<{ stdout: string }> {
  const env = { ...process.env };
  delete env['npm_config_local_prefix'];
  return run('npm', args, { cwd, env, maxBuffer: 64 * 1024 * 1024 });
}

/** Packages at the versions that this project has. */
async function pinned(names: string[]): Promise<string[]> {
  return Promise.all(
    names.map(async (name) => {
      const { version } = z
        .object({ version: z.string() })
        .parse(JSON.parse(await readFile(join(root, 'node_modules', name, 'package.json'), 'utf8')));
      return `${name}@${version}`;
    }),
  );
}
