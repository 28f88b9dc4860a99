import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { PackageManager, Provider, Template } from '../../../create-longhaul/src/choices.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const run = promisify(execFile);

/** Both packages as npm packs them, and TypeScript 6 next to them. */
export interface PackedPackages {
  folder: string;
  longhaul: string;
  createLonghaul: string;
  remove(): Promise<void>;
}

/** Packs both packages into a folder outside of the repository, from which `create-longhaul` is installed as a user does it. */
export async function packedPackages(): Promise<PackedPackages> {
  const folder = await mkdtemp(join(tmpdir(), 'first-hours-'));
  const pack = async (from: string): Promise<string> => {
    const { stdout } = await run('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder], { cwd: from });
    return join(folder, stdout.trim().split('\n').at(-1) ?? '');
  };
  await run(join(ROOT, 'node_modules/.bin/tsc'), ['-p', join(ROOT, 'create-longhaul')], { cwd: ROOT });
  const [longhaul, createLonghaul] = [await pack(ROOT), await pack(join(ROOT, 'create-longhaul'))];
  await mkdir(join(folder, 'tools'));
  await writeFile(join(folder, 'tools/package.json'), '{"private": true}');
  await run('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', createLonghaul, '@typescript/typescript6@6.0.2'], {
    cwd: join(folder, 'tools'),
  });
  return { folder, longhaul, createLonghaul, remove: () => rm(folder, { recursive: true, force: true }) };
}

/** A project that `create-longhaul` has begun, with the packed package in place of the published one. */
export class FreshProject {
  readonly path: string;
  readonly #packages: PackedPackages;

  private constructor(path: string, packages: PackedPackages) {
    this.path = path;
    this.#packages = packages;
  }

  static async create(
    packages: PackedPackages,
    { template, provider, packageManager }: { template: Template; provider: Provider; packageManager: PackageManager },
  ): Promise<FreshProject> {
    const name = `${template}-${provider}-${packageManager}`;
    const main = join(packages.folder, 'tools/node_modules/create-longhaul/dist/main.js');
    const args = [name, '--template', template, '--provider', provider, '--package-manager', packageManager];
    await run(process.execPath, [main, ...args, '--no-install', '--no-git', '--yes'], { cwd: packages.folder });
    const path = join(packages.folder, name);
    const file = join(path, 'package.json');
    const manifest = JSON.parse(await readFile(file, 'utf8')) as { dependencies: Record<string, string> };
    manifest.dependencies['longhaul'] = `file:${packages.longhaul}`;
    await writeFile(file, JSON.stringify(manifest, null, 2));
    await run(packageManager, ['install', ...(packageManager === 'npm' ? ['--no-audit', '--no-fund'] : []), '--prefer-offline'], {
      cwd: path,
    });
    return new FreshProject(path, packages);
  }

  /** Runs a command of the project, with its Node, and returns what it has printed. Rejects if it fails. */
  async call(command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<string> {
    const { stdout } = await run(command, [...args], { cwd: this.path, env: this.#env(env) });
    return stdout;
  }

  /** Checks the types, with TypeScript 7 and 6. */
  async typecheck(): Promise<void> {
    await this.call(join(this.path, 'node_modules/.bin/tsc'), ['--noEmit']);
    await this.call(process.execPath, [join(this.#packages.folder, 'tools/node_modules/@typescript/typescript6/bin/tsc6'), '--noEmit']);
  }

  /** Calls the command line of the project, which prints JSON. */
  async longhaul(args: readonly string[]): Promise<string> {
    return this.call(join(this.path, 'node_modules/.bin/longhaul'), args);
  }

  /** Starts a worker, and resolves when it polls. */
  async worker(args: readonly string[]): Promise<{ stop: () => Promise<number> }> {
    const child: ChildProcess = spawn(join(this.path, 'node_modules/.bin/longhaul'), ['worker', '--agents', './agents.ts', ...args], {
      cwd: this.path,
      env: this.#env({}),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    await new Promise<void>((resolve, reject) => {
      const read = (chunk: Buffer): void => {
        output += chunk.toString();
        if (output.includes('Polling task queue')) resolve();
      };
      child.stdout?.on('data', read);
      child.stderr?.on('data', read);
      child.once('exit', (code) => reject(new Error(`The worker ended with ${code}:\n${output}`)));
    });
    return {
      stop: async () => {
        child.kill('SIGTERM');
        const [code] = (await once(child, 'exit')) as [number];
        return code;
      },
    };
  }

  #env(more: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
    // `longhaul` begins with the Node of the PATH.
    return {
      ...process.env,
      PATH: `${dirname(process.execPath)}:${process.env['PATH']}`,
      LONGHAUL_LOG_LEVEL: '',
      NODE_COMPILE_CACHE: '',
      ...more,
    };
  }
}
