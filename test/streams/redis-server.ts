import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient, type RedisClientType } from 'redis';
import { freePorts } from '../../src/dev-server/start-flags.ts';

/** The program of Redis; undefined where it is not installed. */
export const redisProgram = (process.env['PATH'] ?? '')
  .split(delimiter)
  .map((folder) => join(folder, 'redis-server'))
  .find((file) => existsSync(file));

/** The reason in the name of tests that do not run without Redis. */
export const REDIS_MISSING = redisProgram === undefined ? ' (skipped: redis-server is not installed)' : '';

/** A Redis of a test, on a separate port, with its data in a separate folder. */
export class RedisServer {
  readonly port: number;
  readonly #folder = mkdtempSync(join(tmpdir(), 'redis-'));
  #process: ChildProcess | undefined;

  readonly #killAtExit = (): void => void this.#process?.kill('SIGKILL');

  private constructor(port: number) {
    this.port = port;
    // It must not outlive this process, however that ends.
    process.once('exit', this.#killAtExit);
  }

  /** Starts one on a port, or on any that is free. */
  static async start(on?: number): Promise<RedisServer> {
    const [port = 0] = await freePorts([on]);
    const server = new RedisServer(port);
    await server.start();
    return server;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** The file that has everything which Redis stores. */
  get dump(): string {
    return join(this.#folder, 'dump.rdb');
  }

  /** Starts it, with the data that it had. */
  async start(): Promise<void> {
    if (redisProgram === undefined) throw new Error('redis-server is not installed');
    const options = ['--port', String(this.port), '--dir', this.#folder, '--appendonly', 'yes', '--appendfsync', 'always', '--save', ''];
    this.#process = spawn(redisProgram, [...options, '--bind', '127.0.0.1', '--enable-debug-command', 'yes'], { stdio: 'ignore' });
    await this.use(async (client) => {
      // It answers with an error while it loads its data.
      while ((await client.ping().catch(() => '')) !== 'PONG') await sleep(20);
    });
  }

  /** Kills it, and resolves when it is gone. */
  async kill(): Promise<void> {
    const closed = this.#process === undefined ? undefined : once(this.#process, 'close');
    this.#process?.kill('SIGKILL');
    await closed;
    this.#process = undefined;
  }

  /** Returns the bytes of all its data files, which are not compressed. */
  async storedBytes(): Promise<Buffer> {
    await this.use(async (client) => {
      await client.configSet('rdbcompression', 'no');
      await client.sendCommand(['SAVE']);
    });
    const files = readdirSync(this.#folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    return Buffer.concat(files.map(({ parentPath, name }) => readFileSync(join(parentPath, name))));
  }

  /** Removes its data while it does not run. */
  wipe(): void {
    for (const name of readdirSync(this.#folder)) rmSync(join(this.#folder, name), { recursive: true });
  }

  /** Stops its process, which keeps its connections. */
  pause(): void {
    this.#process?.kill('SIGSTOP');
  }

  resume(): void {
    this.#process?.kill('SIGCONT');
  }

  /** Uses a client of the test's own. */
  async use<Value>(work: (client: RedisClientType) => Promise<Value>): Promise<Value> {
    const client: unknown = createClient({ url: this.url, socket: { reconnectStrategy: 20 } });
    const connected = client as RedisClientType;
    connected.on('error', () => undefined);
    await connected.connect();
    try {
      return await work(connected);
    } finally {
      connected.destroy();
    }
  }

  async stop(): Promise<void> {
    this.resume();
    await this.kill();
    process.off('exit', this.#killAtExit);
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
