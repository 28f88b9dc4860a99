import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, inject } from 'vitest';
import { z } from 'zod';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const run = promisify(execFile);

/** The time limit for npm to install a project. */
export const INSTALL_TIMEOUT_MS = 300_000;

/** Fresh data of the registry is not needed: the cache of `npm ci` has it. */
const INSTALL = ['install', '--no-audit', '--no-fund', '--prefer-offline'];

/** A project that uses the packed package. */
export interface ConsumerProject {
  /** The folder of the project. */
  readonly path: string;
  remove(): Promise<void>;
}

/**
 * A project where npm has installed the package with all its dependencies and this version of Temporal's SDK. Takes seconds of CPU, and
 * hundreds of megabytes.
 */
export async function installedProject(sdk: string, { without = [] }: { without?: string[] } = {}): Promise<ConsumerProject> {
  const project = await newProject(tmpdir());
  const packed = await pack(project.path);
  const { packages } = await sdkPeers();
  const ofSdk = packages.filter((name) => !without.includes(name)).map((name) => `${name}@${sdk}`);
  await npm([...INSTALL, `./${packed}`, 'zod', ...ofSdk, ...(await pinned(['@types/node']))], project.path);
  return project;
}

/** A folder where the commands of a page have run, with the packed package in it. They find packages in the cache of npm. */
export async function projectOfCommands(commands: string[]): Promise<ConsumerProject> {
  const path = await mkdtemp(join(tmpdir(), 'longhaul-package-'));
  await pack(path);
  for (const command of commands) {
    const [program, ...args] = command.split(' ');
    if (program !== 'npm') throw new Error(`The page has a command that is none of npm: ${command}`);
    await npm(args[0] === 'install' ? [...args, ...INSTALL.slice(1)] : args, path);
  }
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}

/** Runs a module of the project, given as text, and returns its output. */
export async function runModule({ path }: ConsumerProject, text: string): Promise<string> {
  await writeFile(join(path, 'script.mjs'), text);
  const { stdout } = await run(process.execPath, ['script.mjs', inject('temporalAddress'), inject('temporalNamespace')], { cwd: path });
  return stdout;
}

/** A project with further packages of the registry, and with the package in place of its source files, as npm installs it. */
export async function projectWith(further: string[]): Promise<ConsumerProject> {
  const project = await emptyProject(tmpdir());
  const packed = await pack(project.path);
  const { packages } = await sdkPeers();
  const ours = await pinned([...packages, 'zod', 'protobufjs', 'react', 'react-dom']);
  await npm([...INSTALL, `./${packed}`, ...ours, ...further], project.path);
  return project;
}

/** The reason why a package cannot be had from the registry; empty if it can. */
export async function whyNotInstalled(name: string): Promise<string> {
  return npm(['view', '--prefer-offline', '--fetch-retries=1', name, 'version'], root).then(
    () => '',
    () => ` (skipped: the registry does not give ${name})`,
  );
}

/** The lowest and the newest published version of Temporal's SDK in the package's range; one version if they are the same. */
export async function sdkVersions(): Promise<string[]> {
  const { packages, range } = await sdkPeers();
  // The newest version that all packages have: they are not published at the same moment.
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

/** Changes the installed version of one SDK package in its manifest, without installing another. */
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

/** The packages of Temporal's SDK that the package depends on, and the range. */
async function sdkPeers(): Promise<{ packages: string[]; range: string }> {
  const { peerDependencies } = z
    .object({ peerDependencies: z.record(z.string(), z.string()) })
    .parse(JSON.parse(await readFile(join(root, 'package.json'), 'utf8')));
  const peers = Object.entries(peerDependencies).filter(([name]) => name.startsWith('@temporalio/'));
  const [range = '', ...others] = new Set(peers.map(([, one]) => one));
  if (others.length > 0) throw new Error(`The packages of the SDK have several ranges: ${[range, ...others].join(', ')}`);
  return { packages: peers.map(([name]) => name), range };
}

/** A project inside this one, with the package as npm packs it. It finds all dependencies in this project. */
export async function borrowingProject(): Promise<ConsumerProject> {
  const parent = join(root, '.cache');
  await mkdir(parent, { recursive: true });
  const project = await newProject(parent);
  const unpacked = join(project.path, 'node_modules/longhaul');
  await mkdir(unpacked, { recursive: true });
  await run('tar', ['-xzf', await pack(project.path), '-C', unpacked, '--strip-components=1'], { cwd: project.path });
  return project;
}

/** A folder with nothing but the package as npm packs it, and its command. It finds all dependencies in this project. */
export async function barePackage(): Promise<ConsumerProject> {
  const parent = join(root, '.cache');
  await mkdir(parent, { recursive: true });
  const path = await mkdtemp(join(parent, 'longhaul-bare-'));
  const unpacked = join(path, 'node_modules/longhaul');
  await mkdir(unpacked, { recursive: true });
  await mkdir(join(path, 'node_modules/.bin'));
  await run('tar', ['-xzf', await pack(path), '-C', unpacked, '--strip-components=1'], { cwd: path });
  await symlink('../longhaul/dist/src/cli/main.js', join(path, 'node_modules/.bin/longhaul'));
  // As npm does for the programs of a package that it installs.
  await chmod(join(unpacked, 'dist/src/cli/main.js'), 0o755);
  await writeFile(join(path, 'package.json'), JSON.stringify({ name: 'bare', type: 'module' }));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}

/** The output of the type checker on both streams. */
export async function typeCheck({ path }: ConsumerProject): Promise<{ stdout: string; stderr: string }> {
  const { stdout, stderr } = await run(join(root, 'node_modules/.bin/tsc'), ['-p', '.'], { cwd: path });
  return { stdout, stderr };
}

/** The result of `runAgents` if all is well. */
export const ALL_RAN = {
  summary: expect.stringContaining('surveyor') as string,
  toolCallsByName: { convert_miles: 1 },
  sorted: 'refund',
  outcome: { distance: '160.9 km', days: 4, statuses: ['completed', 'completed'] },
  replays: { host: 'replayed', run: 'replayed', tampered: 'DeterminismViolationError' },
};

/** Runs the project's agents from its own workflow and replays their histories; returns the results. */
export async function runAgents({ path }: ConsumerProject): Promise<unknown> {
  const { stdout } = await run(process.execPath, ['main.ts', inject('temporalAddress'), inject('temporalNamespace')], { cwd: path });
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
}

/** Runs the project's tests with Node's test runner, in memory and on the server; returns the report. */
export async function runTests({ path }: ConsumerProject): Promise<string> {
  const env = { ...process.env, TEMPORAL_ADDRESS: inject('temporalAddress'), TEMPORAL_NAMESPACE: inject('temporalNamespace') };
  const { stdout } = await run(process.execPath, ['--test', '--test-reporter=tap', 'agents.test.ts'], { cwd: path, env });
  return stdout;
}

/** Returns the help text of the package's command line. `binary` is its path in the project. */
export async function help({ path }: ConsumerProject, binary: string): Promise<string> {
  const { stdout } = await run(process.execPath, [join(path, binary), '--help'], { cwd: path });
  return stdout;
}

async function newProject(parent: string): Promise<ConsumerProject> {
  const project = await emptyProject(parent);
  await cp(join(root, 'test/package/consumer'), project.path, { recursive: true });
  return project;
}

async function emptyProject(parent: string): Promise<ConsumerProject> {
  const path = await mkdtemp(join(parent, 'longhaul-package-'));
  await writeFile(join(path, 'package.json'), JSON.stringify({ name: 'consumer', private: true, type: 'module' }));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}

/** Packs the built package into a folder; returns the name of the file. */
async function pack(into: string): Promise<string> {
  const { stdout } = await npm(['pack', '--json', '--ignore-scripts', '--pack-destination', into], root);
  const [packed] = z.tuple([z.object({ filename: z.string() })]).parse(JSON.parse(stdout.slice(stdout.indexOf('['))));
  return packed.filename;
}

/** Runs npm without the environment variables of the npm script that runs this test. */
async function npm(args: string[], cwd: string): Promise<{ stdout: string }> {
  const env = { ...process.env };
  delete env['npm_config_local_prefix'];
  return run('npm', args, { cwd, env, maxBuffer: 64 * 1024 * 1024 });
}

/** Packages at the versions that are installed in this project. */
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
