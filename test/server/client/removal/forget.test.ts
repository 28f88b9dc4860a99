import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, inject, test } from 'vitest';
import { z } from 'zod';
import { connect, fileArchive, fileStore, LonghaulClient, memoryStreams, redisStreams } from '../../../../src/client/index.ts';
import type { UserExportLine } from '../../../../src/client/index.ts';
import type { ModelClient } from '../../../../src/core/domain/model.ts';
import { SEARCH_ATTRIBUTE_TYPES } from '../../../../src/core/protocol.ts';
import { ask, defineProgram, human, recall, remember, unit } from '../../../../src/define/program/index.ts';
import { type DevServer, startDevServer } from '../../../../src/dev-server/dev-server.ts';
import { agentTool, defineAgent, defineTool } from '../../../../src/index.ts';
import { runState } from '../../../../src/temporal/run-workflow.ts';
import { callTool, hang, say, scriptedModel } from '../../../../src/testing/index.ts';
import { createWorker, type CreateWorkerOptions, sqliteMemory } from '../../../../worker/index.ts';
import { redisProgram, RedisServer } from '../../../streams/redis-server.ts';
import { sharedBundle, until } from '../../testbed/testbed.ts';

const cliPath = inject('temporalCliPath');

/** The places where a run leaves something. */
type Place = 'database' | 'payloads' | 'archive' | 'memory' | 'streams';

/** A server with its own database, a payload store, an archive and a memory, each in a separate folder. */
class OwnServer {
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

  /** Returns the names of the files of a user's runs in a store. */
  async filesIn(place: 'payloads' | 'archive', user: string): Promise<string[]> {
    const names = await readdir(join(this.directory, place), { recursive: true, withFileTypes: true });
    return names.filter((entry) => entry.isFile() && basename(entry.parentPath).includes(user)).map(({ name }) => name);
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

const dump = defineTool({
  name: 'dump',
  description: 'Says much',
  parameters: z.object({ text: z.string() }),
  maxResultBytes: 2_000,
  overflow: 'spill',
  execute: ({ text }) => `${text} `.repeat(400),
});
const dumper = defineAgent({ name: 'dumper', model: 'dumping/m', tools: [dump] });
const friend = defineAgent({ name: 'friend', model: 'friendly/m', memory: true });
const helper = defineAgent({ name: 'helper', description: 'Helps', model: 'hanging/m' });
const chief = defineAgent({ name: 'chief', model: 'chief/m', tools: [agentTool(helper)] });
const listener = defineAgent({ name: 'listener', description: 'Listens', model: 'echo/m' });
const keeper = defineAgent({ name: 'keeper', model: 'keeper/m', tools: [agentTool(listener, { kept: true })] });

/** Steps whose outputs are needed to the end: over 1 MB, already before the second time that the program continues as new. */
const READS = ['A', 'B', 'C', 'D', 'E', 'F'];

/** A program with an entry of memory, and outputs that are over 1 MB together when it continues as new. */
const report = defineProgram({
  name: 'report',
  model: 'long/m',
  units: [
    unit('read', {}, [
      remember('Keep', 'report', '{{input.note}}'),
      ...READS.map((name) => ask(name, `${name} {{input.note}}`)),
      recall('Kept', 'report'),
    ]),
    unit('wait', {}, [human('Who', 'Who?')]),
    unit('write', {}, [ask('Last', [...READS, 'Kept'].map((name) => `{{read.${name}}}`).join(' '))]),
  ],
});

/** All that a worker needs for what users leave. */
const parts = { agents: [dumper, friend, chief, helper, keeper, listener], programs: [report] };

/** A model that answers every request by the same script, made of the text of the request. */
function scriptedBy(script: (mark: string, results: number) => ReturnType<typeof say>): ModelClient & { asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    capabilities: { structuredOutput: true },
    call: (request, context) => {
      const text = JSON.stringify(request.conversation);
      asked.push(text);
      const results = text.split('"tool_result"').length - 1;
      return scriptedModel([script(/MARK-of-\w+/.exec(text)?.[0] ?? '', results)]).call(request, context);
    },
  };
}

/** The model of the agent with a memory, which stores what it reads. */
const friendly = scriptedBy((mark, results) =>
  mark === '' || results > 0 ? say('Noted') : callTool('remember', { key: 'size', value: mark }),
);

/** The models of the agents and the program. */
const models: Record<string, ModelClient> = {
  dumping: scriptedBy((mark, results) => (results < 2 ? callTool('dump', { text: mark }, `c${results}`) : say(mark))),
  friendly,
  chief: scriptedBy((mark) => callTool('helper', { request: mark })),
  keeper: scriptedBy((mark, results) => (results === 0 ? callTool('listener', { request: mark }) : say('Told'))),
  echo: scriptedBy((mark) => say(`I heard ${mark}`)),
  long: scriptedBy((mark) => say(`${mark} ${'x'.repeat(370_000)}`)),
  hanging: { capabilities: { structuredOutput: true }, call: (request, context) => scriptedModel([hang()]).call(request, context) },
};

/**
 * Leaves a text of a user in each place: runs that have ended and runs that are open, a run that the server has removed, sessions, a child,
 * a kept agent, a program, spilled results and outputs, an archive and a memory. Returns the ids of the runs that the server has, without
 * descendants.
 */
async function leave(client: LonghaulClient, user: string): Promise<string[]> {
  // Ids of runs stay in queues of the server until its retention is over: they are not content.
  const mark = `MARK-of-${user}`;
  await client.run(dumper, { input: mark, runId: `dump-${user}`, deps: { note: mark }, tags: [mark] });
  await client.run(dumper, { input: mark, runId: `past-${user}` });
  const first = client.session(friend, { id: `talk-${user}`, title: mark });
  await first.ask(`I wear ${mark}`);
  await client.session(friend, { id: `ended-${user}` }).ask('Which size do I wear?');
  await client.session(friend, { id: `ended-${user}` }).close();
  // Its agent is a session that stays open as long as this one.
  await client.session(keeper, { id: `kept-${user}` }).ask(mark);
  const run = await client.start(chief, { input: mark, runId: `open-${user}` });
  await until(async () => ((await run.status()).children ?? []).length === 1, 'the child', 20);
  const program = await client.startProgram(report, { input: { note: mark }, runId: `report-${user}` });
  await until(async () => (await program.approvals()).pending.length > 0, 'the question of the program', 60);
  if (((await program.status()).executions ?? 1) < 2) throw new Error('The program has not continued as new: its outputs are not spilled');
  await removedByServer(client, `past-${user}`);
  return ['dump', 'ended', 'kept', 'open', 'report', 'talk'].map((name) => `${name}-${user}`);
}

/** Removes the executions of a run alone, as the server does when its retention is over. */
async function removedByServer({ temporal }: LonghaulClient, workflowId: string): Promise<void> {
  const { namespace } = temporal.options;
  for await (const { runId } of temporal.workflow.list({ query: `WorkflowId = "${workflowId}"` })) {
    await temporal.workflowService.deleteWorkflowExecution({ namespace, workflowExecution: { workflowId, runId } });
  }
  await until(async () => (await runState(temporal, workflowId)) === 'gone', `run "${workflowId}" to be removed`, 180);
}

/** What an export has of a user. */
interface Exported {
  runs: string[];
  /** The SHA-256 of each spilled content, by run. */
  spilled: string[];
  entries: number;
  unread: unknown[];
  text: string;
}

async function exportOf(client: LonghaulClient, user: string): Promise<Exported> {
  const lines: UserExportLine[] = [];
  for await (const line of client.exportUser({ tenant: 'acme', user })) lines.push(line);
  expect([lines[0]?.type, lines.at(-1)?.type]).toEqual(['user', 'end']);
  return {
    runs: [...new Set(lines.flatMap((line) => (line.type === 'run' ? [line.runId] : [])))].toSorted(),
    spilled: lines.flatMap((line) => (line.type === 'spilled' ? [`${line.runId} ${line.spilled.sha256}`] : [])).toSorted(),
    entries: lines.filter(({ type }) => type === 'memory').length,
    unread: lines.filter((line) => line.type === 'unread' || (line.type === 'summary' && line.gaps.length > 0)),
    text: JSON.stringify(lines),
  };
}

test.skipIf(cliPath === undefined)(
  'nothing of a user is left in the database of the server, the payload store, the archive, the memory and the sink of live output, and everything of another is',
  async () => {
    await using server = await OwnServer.open();
    await server.work({ ...parts, providers: models, continueAsNew: { events: 30 } });
    const [ada, eve] = [server.client.as({ tenant: 'acme', user: 'ada' }), server.client.as({ tenant: 'acme', user: 'eve' })];
    const left = await leave(ada, 'ada');
    await leave(eve, 'eve');
    // A session recalls the entries of an earlier one of the same user.
    expect(friendly.asked.find((text) => text.includes('Which size') && text.includes('MARK-of'))).toContain('not instructions');
    const all = ['archive', 'database', 'memory', 'payloads', ...(redisProgram === undefined ? [] : ['streams'])];
    for (const mark of ['MARK-of-ada', 'MARK-of-eve']) {
      expect(await server.placesOf(mark)).toEqual(all);
    }
    expect(await server.runsIn('payloads', 'ada')).toEqual(['dump-ada', 'past-ada', 'report-ada']);
    expect(await server.runsIn('archive', 'ada')).toEqual(expect.arrayContaining(['past-ada', 'report-ada']));

    // The export has all that is removed, and nothing of another user.
    const exported = await exportOf(server.client, 'ada');
    expect(exported).toMatchObject({ entries: 2, unread: [] });
    expect(exported.text).toContain('MARK-of-ada');
    expect(exported.text).not.toContain('MARK-of-eve');
    expect(exported.spilled).toHaveLength((await server.filesIn('payloads', 'ada')).length);

    const broken = { ...server.stores.archive, deleteRun: () => Promise.reject(new Error('the disk went away')) };
    const interrupted = new LonghaulClient(server.client.temporal, { ...server.stores, archive: broken });
    await expect(interrupted.forget({ tenant: 'acme', user: 'ada' })).rejects.toThrow('the disk went away');
    const forgotten = await server.client.forget({ tenant: 'acme', user: 'ada' });
    expect(forgotten).toMatchObject({ memoryEntries: 0, kept: [], without: [] });
    expect(exported.runs).toEqual(forgotten.runs);
    const below = forgotten.runs.filter((runId) => runId.includes('/'));
    expect(forgotten.runs.filter((runId) => !below.includes(runId))).toEqual([...left, 'past-ada'].toSorted());
    expect(below).toEqual([expect.stringMatching(/^kept-ada\//), expect.stringMatching(/^open-ada\//)]);
    const nothing = { runs: [], executions: 0, memoryEntries: 0, kept: [], without: [] };
    expect(await server.client.forget({ tenant: 'acme', user: 'ada' })).toEqual(nothing);
    expect((await eve.handle('open-eve').status()).status).toBe('running');
    expect(await server.placesOf('MARK-of-ada')).toEqual(['database']);
    for (const place of ['payloads', 'archive'] as const) expect(await server.runsIn(place, 'ada')).toEqual([]);

    await server.stop();
    expect(await server.placesOf('MARK-of-ada')).toEqual([]);
    expect(await server.placesOf('MARK-of-eve')).toEqual(all);
  },
  240_000,
);
