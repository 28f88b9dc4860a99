import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePorts } from '../../src/dev-server/start-flags.ts';
import { CACHE, TOOLS } from './tools.ts';
import { hasEnded } from './two-terminals.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);

/** The packages of this project, in the registry as they would be published now. */
const OWN = ['longhaul', 'create-longhaul'];

const STARTED_WITHIN_MS = 60_000;

/** A registry on this machine: it has both packages of the project, and passes other names on to the registry that npm uses here. */
export class LocalRegistry implements AsyncDisposable {
  readonly url: string;
  /** The environment of a person who has never used the project: an empty home, and this registry. */
  readonly env: NodeJS.ProcessEnv;
  /** The package as published. */
  tarball = '';
  readonly #child: ChildProcess;

  private constructor(url: string, env: NodeJS.ProcessEnv, child: ChildProcess) {
    this.url = url;
    this.env = env;
    this.#child = child;
  }

  /** Starts the registry, packs both packages and publishes them. The home is made in `folder`, the folder of the test. */
  static async start(folder: string): Promise<LocalRegistry> {
    const [port] = await freePorts([undefined]);
    const url = `http://127.0.0.1:${port}/`;
    const storage = `${CACHE}/storage`;
    // Packages published by an earlier run are gone; its downloads stay.
    for (const name of OWN) await rm(join(storage, name), { recursive: true, force: true });
    await mkdir(storage, { recursive: true });
    const [upstream, cafile] = await Promise.all([npmSetting('registry'), npmSetting('cafile')]);
    const config = join(folder, 'verdaccio.yaml');
    await writeFile(config, configuration({ storage, upstream, own: OWN }));
    const trusted = cafile === '' ? {} : { NODE_EXTRA_CA_CERTS: cafile };
    const env = await freshEnvironment(folder, url);
    const child = spawn(process.execPath, [TOOLS.verdaccio, '--config', config, '--listen', `127.0.0.1:${port}`], {
      cwd: folder,
      env: { ...process.env, ...trusted },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const registry = new LocalRegistry(url, env, child);
    try {
      await registry.#answers();
      await registry.#publish(folder);
      return registry;
    } catch (error) {
      await registry[Symbol.asyncDispose]();
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (hasEnded(this.#child)) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    await ended;
  }

  async #answers(): Promise<void> {
    let printed = '';
    for (const stream of [this.#child.stdout, this.#child.stderr]) stream?.on('data', (piece: Buffer) => (printed += piece.toString()));
    const deadline = Date.now() + STARTED_WITHIN_MS;
    for (;;) {
      const answers = await fetch(`${this.url}-/ping`).then(
        ({ ok }) => ok,
        () => false,
      );
      if (answers) return;
      if (hasEnded(this.#child) || Date.now() > deadline) throw new Error(`The local registry does not answer:\n${printed}`);
      await sleep(200);
    }
  }

  async #publish(folder: string): Promise<void> {
    const packed = join(folder, 'packed');
    await mkdir(packed);
    await run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', 'create-longhaul'], { cwd: root });
    await run(process.execPath, [join(root, 'dist/worker/write-packaged-bundle-main.js')], { cwd: root });
    // The project is built: its own "prepack" would rebuild it.
    for (const at of [root, join(root, 'create-longhaul')])
      await run('npm', ['pack', '--ignore-scripts', '--pack-destination', packed], { cwd: at, maxBuffer: 64 * 1024 * 1024 });
    const files = await readdir(packed);
    this.tarball = join(packed, files.find((file) => file.startsWith('longhaul-')) ?? '');
    for (const file of files) await run('npm', ['publish', join(packed, file)], { cwd: folder, env: this.env });
  }
}

async function npmSetting(name: string): Promise<string> {
  const { stdout } = await run('npm', ['config', 'get', name], { cwd: root });
  return ['null', 'undefined'].includes(stdout.trim()) ? '' : stdout.trim();
}

/** JSON is YAML. */
function configuration({ storage, upstream, own }: { storage: string; upstream: string; own: readonly string[] }): string {
  const anyone = { access: '$all', publish: '$all', unpublish: '$all' };
  return JSON.stringify({
    storage,
    web: { enable: false },
    max_body_size: '200mb',
    uplinks: { upstream: { url: upstream, cache: true, maxage: '12h', timeout: '120s', max_fails: 20 } },
    packages: {
      ...Object.fromEntries(own.map((name) => [name, anyone])),
      '@*/*': { ...anyone, proxy: 'upstream' },
      '**': { ...anyone, proxy: 'upstream' },
    },
    log: { type: 'stdout', format: 'json', level: 'error' },
  });
}

/** A home with only the address of the registry. Downloads are kept: they are not under test. */
async function freshEnvironment(folder: string, url: string): Promise<NodeJS.ProcessEnv> {
  const home = join(folder, 'home');
  await mkdir(home);
  const host = url.replace(/^http:/, '');
  await writeFile(
    join(home, '.npmrc'),
    `registry=${url}\n${host}:_authToken=anyone\nstore-dir=${CACHE}/pnpm-store\naudit=false\nfund=false\nupdate-notifier=false\n`,
  );
  const kept = Object.fromEntries(Object.entries(process.env).filter(([name]) => /^(?:LANG|LC_\w+|TZ|TERM|TMPDIR)$/.test(name)));
  return {
    ...kept,
    HOME: home,
    PATH: [
      dirname(process.execPath),
      TOOLS.bin,
      ...(process.env['PATH'] ?? '').split(':').filter((one) => !one.endsWith('node_modules/.bin')),
    ].join(':'),
    npm_config_cache: await npmSetting('cache'),
    npm_config_registry: url,
    npm_config_yes: 'true',
    pnpm_config_registry: url,
    pnpm_config_store_dir: `${CACHE}/pnpm-store`,
    CI: 'true',
  };
}
