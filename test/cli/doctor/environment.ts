import { execFileSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type DoctorReport, examine } from '../../../src/cli/doctor/doctor.ts';
import type { CheckStatus, ExaminationFlags, Machine } from '../../../src/cli/doctor/examination.ts';
import { type FakeTemporalOptions, startFakeTemporal } from './fake-temporal.ts';

/** The root of the project, whose packages are installed correctly. */
export const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

const SDK = ['client', 'common', 'worker', 'workflow', 'activity', 'proto', 'core-bridge'];

/** What checks and agents modules import when they need it: the first would spend its seconds on waiting until these are translated. */
const translated = Promise.all([
  import('../../../activities/executors/index.ts'),
  import('../../../activities/executors/python/check-python.ts'),
  import('../../../activities/executors/python/python-executor.ts'),
  import('../../../activities/models/openai/openai.ts'),
  import('../../../worker/index.ts'),
]);

/** An installation in a temporary folder, and its defects. By default there are none. */
export class Environment implements AsyncDisposable {
  readonly folder: string;
  readonly machine: Machine;
  readonly flags: { -readonly [Name in keyof ExaminationFlags]: ExaminationFlags[Name] };
  readonly #cleanups: (() => unknown)[] = [];

  private constructor(folder: string, address: string) {
    this.folder = folder;
    this.flags = { address };
    this.machine = {
      env: {},
      folder: ROOT,
      nodeVersion: process.versions.node,
      loadsTypeScript: true,
      ports: [],
      ask: undefined,
    };
  }

  static async open(temporal: FakeTemporalOptions = {}): Promise<Environment> {
    await translated;
    const server = await startFakeTemporal(temporal);
    const environment = new Environment(await mkdtemp(join(tmpdir(), 'longhaul-doctor-')), server.address);
    environment.defer(() => rm(environment.folder, { recursive: true, force: true }));
    environment.defer(() => server[Symbol.asyncDispose]());
    return environment;
  }

  /** Does this at the end, the last one first. */
  defer(cleanup: () => unknown): void {
    this.#cleanups.unshift(cleanup);
  }

  /** Writes a file of the folder, and returns its path. */
  async write(path: string, text: string): Promise<string> {
    const file = join(this.folder, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
    return file;
  }

  /** Writes the agents module, which imports the source of the product. */
  async agents(text: string, imports = ''): Promise<string> {
    const from = (path: string): string => JSON.stringify(join(ROOT, path));
    const file = await this.write(
      'agents.ts',
      `import { defineAgent, defineTool, mcpServer, secret, python } from ${from('src/index.ts')};\n` +
        `import { scriptedModel, say } from ${from('src/testing/index.ts')};\n` +
        `import { openai, fileStore, fileArchive, fileMemory, redisGovernor, redisStreams } from ${from('worker/index.ts')};\n` +
        `import { z } from ${JSON.stringify(join(ROOT, 'node_modules/zod/index.js'))};\n${imports}\n${text}\n`,
    );
    this.flags.agents = file;
    return file;
  }

  /** Installs Temporal's packages at the right versions and these packages into the folder, and examines it as the project. */
  async install(packages: Readonly<Record<string, string | undefined>> = {}): Promise<void> {
    const all = { ...Object.fromEntries(SDK.map((name) => [`@temporalio/${name}`, '1.24.0'])), protobufjs: '8.8.1', ...packages };
    await this.write('package.json', '{"name": "project"}');
    for (const [path, version] of Object.entries(all)) {
      if (version === undefined) continue;
      const name = path.replace(/^.*node_modules\//, '');
      await this.write(`node_modules/${path}/package.json`, JSON.stringify({ name, version, main: 'index.js' }));
      await this.write(`node_modules/${path}/index.js`, '');
    }
    this.machine.folder = this.folder;
  }

  /** Copies a package that is installed, as a real one. */
  async copyPackage(name: string, to: string, version: string): Promise<void> {
    await cp(join(ROOT, 'node_modules', name), join(this.folder, to), { recursive: true, dereference: true });
    await this.write(join(to, 'package.json'), JSON.stringify({ name, version }));
  }

  examine(options: { fix?: boolean } = {}): Promise<DoctorReport> {
    return examine(this.machine, this.flags, { ...options, longhaul: '0.1.0' });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const cleanup of this.#cleanups) await cleanup();
  }
}

/** Returns the checks that warn or fail. */
export function troubles({ checks }: DoctorReport): Record<string, CheckStatus> {
  return Object.fromEntries(
    checks.filter(({ status }) => status === 'warn' || status === 'fail').map(({ name, status }) => [name, status]),
  );
}

/** Runs a command of a report in a shell, and returns the environment that it leaves. */
export function afterCommand(command: string, { folder, machine }: Environment): NodeJS.ProcessEnv {
  const text = execFileSync('bash', ['-c', `${command} && env -0`], {
    cwd: folder,
    env: { PATH: process.env['PATH'], HOME: folder, ...machine.env },
  });
  return Object.fromEntries(
    text
      .toString()
      .split('\0')
      .filter((line) => line.includes('='))
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );
}
