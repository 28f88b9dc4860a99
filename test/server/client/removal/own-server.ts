import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { inject } from 'vitest';
import { connect, fileArchive, fileStore, type LonghaulClient, memoryStreams, redisStreams } from '../../../../src/client/index.ts';
import { SEARCH_ATTRIBUTE_TYPES } from '../../../../src/core/protocol.ts';
import { type DevServer, startDevServer } from '../../../../src/dev-server/dev-server.ts';
import { createWorker, type CreateWorkerOptions, sqliteMemory } from '../../../../worker/index.ts';
import { redisProgram, RedisServer } from '../../../streams/redis-server.ts';
import { sharedBundle } from '../../testbed/testbed.ts';

export const cliPath = inject('temporalCliPath');

/** The places where a run leaves something. */
export type Place = 'database' | 'payloads' | 'archive' | 'memory' | 'streams';

/** A server with its own database, a payload store, an archive and a memory, each in a separate folder. */
export class OwnServer {
  readonly taskQueue = 'own';
  readonly directory: string;
  readonly client: LonghaulClient;
  readonly stores: Required<Pick<CreateWorkerOptions, 'payloadStore' | 'archive' | 'memory' | 'streams'>>;
  /** Undefined where Redis is not installed. */
  #redis: RedisServer | undefined;
  readonly #server: DevServer;
  #stopWorker: () => Promise<void> = async () => undefined;

  private constructor(directory: string, server: DevServer, client: LonghaulClient, stores: OwnServer['stores']) {
    this.directory = directory;
    this.#server = server;
    this.client = client;
    this.stores = stores;
  }

  static async open(): Promise<OwnServer> {
    const directory = await mkdtemp(join(tmpdir(), 'longhaul-forget-'));
    const server = await startDevServer({
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], TEMPORAL_CLI_PATH: cliPath },
      dbFile: join(directory, 'database.sqlite'),
      searchAttributes: SEARCH_ATTRIBUTE_TYPES,
    });
    const redis = redisProgram === undefined ? undefined : await RedisServer.start();
    const stores = {
      streams: redis === undefined ? memoryStreams() : redisStreams({ url: redis.url }),
      payloadStore: fileStore({ directory: join(directory, 'payloads') }),
      archive: fileArchive({ directory: join(directory, 'archive') }),
      memory: sqliteMemory({ file: join(directory, 'memory.db') }),
    };
    const client = await connect({ address: server.address, taskQueue: 'own', ...stores });
    const own = new OwnServer(directory, server, client, stores);
    own.#redis = redis;
    return own;
  }

  get address(): string {
    return this.#server.address;
  }

  async work(options: Pick<CreateWorkerOptions, 'agents' | 'providers'> & Partial<CreateWorkerOptions>): Promise<void> {
    const { address, taskQueue } = this;
    const worker = await createWorker({
      shutdownGrace: 500,
      heartbeatEvery: 500,
      ...this.stores,
      ...options,
      worker: { debugMode: true, workflowBundle: sharedBundle(undefined) },
      address,
      taskQueue,
    });
    const running = worker.run();
    this.#stopWorker = async () => {
      worker.shutdown();
      await running;
    };
  }

  /** Returns the places whose files contain a text, byte for byte, or have it in a name. */
  async placesOf(text: string): Promise<Place[]> {
    const names = await readdir(this.directory, { recursive: true, withFileTypes: true });
    const found = new Set<Place>();
    for (const entry of names) {
      const path = join(entry.parentPath, entry.name);
      const place = (['database', 'payloads', 'archive', 'memory'] as const).find((one) => path.startsWith(join(this.directory, one)));
      const content = entry.isFile() ? await readFile(path, 'latin1') : '';
      if (place !== undefined && (content.includes(text) || entry.name.includes(text))) found.add(place);
    }
    if (await this.#isInStreams(text)) found.add('streams');
    return [...found].toSorted();
  }

  /** True if the dump of Redis contains a text. Without Redis, the sink is in this process, where no file can be searched. */
  async #isInStreams(text: string): Promise<boolean> {
    if (this.#redis === undefined) return false;
    await this.#redis.use(async (redis) => {
      await redis.configSet('rdbcompression', 'no');
      await redis.sendCommand(['SAVE']);
    });
    return (await readFile(this.#redis.dump, 'latin1')).includes(text);
  }

  /** Returns the ids of the runs of a user that have content in a store, which may be compressed there. */
  async runsIn(place: 'payloads' | 'archive', user: string): Promise<string[]> {
    const names = await readdir(join(this.directory, place), { recursive: true, withFileTypes: true });
    const folders = names.filter((entry) => entry.isFile()).map((entry) => basename(entry.parentPath));
    return [...new Set(folders.map((name) => name.replace(/\.[0-9a-f]{16}$/, '')))].filter((name) => name.includes(user)).toSorted();
  }

  /** Stops the worker and the server, and moves the write-ahead log of its database into the file. */
  async stop(): Promise<void> {
    await this.#stopWorker();
    await this.client.close();
    await this.#server.stop();
    const database = new DatabaseSync(join(this.directory, 'database.sqlite'));
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    database.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await this.#redis?.stop();
    await rm(this.directory, { recursive: true });
  }
}
