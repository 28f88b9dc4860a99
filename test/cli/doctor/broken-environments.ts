import { execFileSync } from 'node:child_process';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { startCodecServer } from '../../../src/cli/serve/codec-server.ts';
import type { CheckStatus } from '../../../src/cli/doctor/examination.ts';
import { scriptedExecutor } from '../../../src/testing/index.ts';
import { startFakeOpenAI } from '../../fakes/openai-server.ts';
import { RedisServer } from '../../streams/redis-server.ts';
import { afterCommand, type Environment } from './environment.ts';
import { ALL_ATTRIBUTES, type FakeTemporalOptions } from './fake-temporal.ts';

/** A defect of an installation, and the one check that must report it. */
export interface BrokenEnvironment {
  name: string;
  check: string;
  status?: Extract<CheckStatus, 'warn' | 'fail'>;
  /** What the sentence or the command must name. */
  names: RegExp;
  /** A program without which it cannot be made. */
  needs?: { redis: true };
  server?: FakeTemporalOptions;
  break?: (environment: Environment) => unknown;
  /** `fix`: `--fix` repairs it. `command`: the command of the report does. */
  repair?: 'fix' | ((command: string, environment: Environment) => unknown);
}

const KEY = Buffer.alloc(32, 7).toString('base64');
const OTHER_KEY = Buffer.alloc(32, 9).toString('base64');
const CLERK = `export const agents = [defineAgent({ name: 'clerk', model: 'scripted/m' })];
export const providers = { scripted: scriptedModel([say('ok')]) };`;
const PYTHON_CLERK = CLERK.replace(
  "'scripted/m'",
  "'scripted/m', tools: [defineTool({ name: 't', description: 'd', parameters: z.object({}), execute: () => 1 })], code: { executor: python() }",
);

/** A command that sets or removes a variable repairs the environment that the program is called in. */
const inShell = (command: string, environment: Environment): void => {
  environment.machine.env = afterCommand(command, environment);
};

export const BROKEN: readonly BrokenEnvironment[] = [
  { name: 'Node 20', check: 'node', names: /20\.19\.1/, break: ({ machine }) => (machine.nodeVersion = '20.19.1') },
  {
    name: 'a native core for another machine',
    check: 'native-core',
    names: /does not load/,
    break: async (environment) => {
      await environment.install();
      await environment.write('node_modules/@temporalio/core-bridge/index.js', "module.exports = require('./core.node');");
      await environment.write('node_modules/@temporalio/core-bridge/core.node', 'not a library');
    },
  },
  {
    name: "a second copy of Temporal's SDK below another package",
    check: 'sdk-copies',
    names: /1\.22\.0 in node_modules\/@temporalio\/external-storage-s3\/node_modules\/@temporalio\/common/,
    break: async (environment) => {
      await environment.install();
      const nested = 'node_modules/@temporalio/external-storage-s3/node_modules/@temporalio/common';
      await environment.write(
        'node_modules/@temporalio/external-storage-s3/package.json',
        '{"name": "@temporalio/external-storage-s3", "version": "1.24.0"}',
      );
      await environment.copyPackage('@temporalio/common', nested, '1.22.0');
    },
  },
  {
    name: "packages of Temporal's SDK at two versions",
    check: 'sdk-copies',
    names: /@temporalio\/client 1\.23\.2/,
    break: (environment) => environment.install({ '@temporalio/client': '1.23.2' }),
  },
  {
    name: "no package of Temporal's SDK",
    check: 'sdk-copies',
    names: /npm install .*@temporalio\/worker@/,
    break: async (environment) => {
      await environment.write('package.json', '{"name": "project"}');
      await environment.write('node_modules/protobufjs/package.json', '{"name": "protobufjs", "version": "8.8.1"}');
      environment.machine.folder = environment.folder;
    },
  },
  {
    name: 'an old protobufjs',
    check: 'protobufjs',
    names: /7\.5\.0/,
    break: (environment) => environment.install({ protobufjs: '7.5.0' }),
  },
  {
    name: 'no protobufjs',
    check: 'protobufjs',
    names: /not installed/,
    break: (environment) => environment.install({ protobufjs: undefined }),
  },
  {
    name: "a separate protobufjs of Temporal's SDK",
    check: 'protobufjs',
    names: /separate protobufjs/,
    break: (environment) => environment.install({ '@temporalio/proto/node_modules/protobufjs': '8.8.1' }),
  },
  {
    name: 'TypeScript turned off by NODE_OPTIONS',
    check: 'typescript',
    names: /NODE_OPTIONS/,
    break: async (environment) => {
      await environment.agents(CLERK);
      environment.machine.env['NODE_OPTIONS'] = '--no-experimental-strip-types';
      environment.machine.loadsTypeScript = false;
    },
    repair: (command, environment) => {
      inShell(command, environment);
      environment.machine.loadsTypeScript = environment.machine.env['NODE_OPTIONS'] === undefined;
    },
  },
  {
    name: 'no server at the address',
    check: 'server',
    names: /nothing listens|no answer/,
    break: ({ flags }) => (flags.address = '127.0.0.1:9'),
  },
  {
    name: 'a server that accepts connections and does not answer',
    check: 'server',
    names: /No Temporal server answers/,
    break: async (environment) => (environment.flags.address = `127.0.0.1:${await silentServer(environment)}`),
  },
  { name: 'an old server', check: 'server', status: 'warn', names: /1\.20\.4/, server: { version: '1.20.4' } },
  {
    name: 'the wrong namespace',
    check: 'namespace',
    names: /no namespace "prod"[^]*namespace create/,
    break: ({ flags }) => (flags.namespace = 'prod'),
  },
  {
    name: 'credentials without access to the namespace',
    check: 'namespace',
    names: /may not read/,
    server: { refuses: ['DescribeNamespace'] },
  },
  { name: 'a retention of hours', check: 'retention', status: 'warn', names: /6 h[^]*--retention/, server: { retentionDays: 0.25 } },
  { name: 'credentials that may read alone', check: 'rights', names: /send to runs/, server: { refuses: ['SignalWorkflowExecution'] } },
  {
    name: 'a namespace without search attributes',
    check: 'search-attributes',
    // The CLI leaves out a name that has no type.
    names: /LonghaulAgent[^]*search-attribute create(?: --name Longhaul\w+ --type (?:Keyword|KeywordList|Datetime)){8} --address/,
    server: { attributes: {} },
    repair: 'fix',
  },
  {
    name: 'a namespace without the newest search attribute',
    check: 'search-attributes',
    names: /LonghaulUser[^]*search-attribute create/,
    server: { attributes: { ...ALL_ATTRIBUTES, LonghaulUser: undefined as unknown as number } },
    repair: 'fix',
  },
  {
    name: 'a search attribute of another type',
    check: 'search-attributes',
    names:
      /LonghaulTag \(must be KeywordList\)[^]*remove --name LonghaulTag [^]* && temporal [^]*create --name LonghaulTag --type KeywordList /,
    server: { attributes: { ...ALL_ATTRIBUTES, LonghaulTag: 2 } },
  },
  { name: 'a clock that is 10 minutes behind', check: 'clock', names: /\b(?:599|600|601) s behind/, server: { aheadMs: 600_000 } },
  { name: 'a clock that is 10 minutes ahead', check: 'clock', names: /\b(?:599|600|601) s ahead of/, server: { aheadMs: -600_000 } },
  {
    name: 'a clock that is seconds ahead',
    check: 'clock',
    status: 'warn',
    names: /\b(?:19|20|21) s ahead of/,
    server: { aheadMs: -20_000 },
  },
  { name: 'no worker', check: 'pollers', status: 'warn', names: /No worker polls/, server: { pollers: [] } },
  {
    name: 'workers of a build that is not current',
    check: 'builds',
    status: 'warn',
    names: /set-current-version .*--build-id b7/,
    server: { pollers: [{ identity: '1@host', deploymentOptions: { deploymentName: 'shop', buildId: 'b7' } }] },
  },
  {
    name: 'tasks that wait for minutes',
    check: 'backlog',
    status: 'warn',
    names: /30 workflow tasks[^]*240 s: there are too few workers/,
    server: { backlog: { count: 30, ageSeconds: 240 } },
  },
  {
    name: 'open runs of an agent that the module lacks',
    check: 'known-agents',
    status: 'warn',
    names: /Runs of ghost/,
    server: { openAgents: ['clerk', 'ghost'] },
    break: (environment) => environment.agents(CLERK),
  },
  {
    name: 'open runs that need a key which this process lacks',
    check: 'codec-keys',
    status: 'warn',
    names: /need the keys "2025" \(2 runs\), "2026" \(1 run\), and this process lacks "2025", "2026": .*"clerk-1", "clerk-2"/,
    server: { openRuns: { 'clerk-1': ['2025', '2026'], 'clerk-2': ['2025'] } },
  },
  {
    name: 'an agents module that is not there',
    check: 'agents',
    names: /does not exist/,
    break: ({ flags, folder }) => (flags.agents = join(folder, 'lost.ts')),
  },
  {
    name: 'an agents module that throws',
    check: 'agents',
    names: /no pool/,
    break: (environment) => environment.agents("throw new Error('no pool');"),
  },
  {
    name: 'an agents module that never loads',
    check: 'agents',
    names: /does not load within/,
    break: (environment) => environment.agents(`await new Promise((resolve) => setTimeout(resolve, 8_000));\n${CLERK}`),
  },
  {
    name: 'an agents module in a package that npm declares as CommonJS',
    check: 'agents',
    names: /npm pkg set type=module/,
    break: async (environment) => {
      await environment.write('package.json', '{"name": "project", "type": "commonjs"}');
      await environment.agents(CLERK);
    },
    repair: inShell,
  },
  {
    name: 'two agents of one name',
    check: 'agent-names',
    names: /"clerk"/,
    break: (environment) => environment.agents(`${CLERK}\nagents.push(defineAgent({ name: 'clerk', model: 'scripted/m' }));`),
  },
  {
    name: 'a schema that JSON cannot represent',
    check: 'schemas',
    names: /dates cannot|cannot be represented in JSON/,
    break: (environment) =>
      environment.agents(
        `defineTool({ name: 't', description: 'd', parameters: z.object({ when: z.date() }), execute: () => 1 });\n${CLERK}`,
      ),
  },
  {
    name: 'a model without its provider',
    check: 'models',
    names: /no provider "anthropic"/,
    break: (environment) => environment.agents(CLERK.replace("'scripted/m'", "'anthropic/claude'")),
  },
  {
    name: 'no API key of the usual provider',
    check: 'secrets',
    names: /Missing: OPENAI_API_KEY[^]*export OPENAI_API_KEY/,
    break: (environment) => environment.agents("export const agents = [defineAgent({ name: 'clerk', model: 'openai/gpt-5.2' })];"),
    repair: (command, environment) => inShell(command.replace('…', 'sk-a-real-one-of-the-user'), environment),
  },
  {
    name: 'no secret of an MCP server',
    check: 'secrets',
    names: /Missing: crm-token[^]*export CRM_TOKEN/,
    break: (environment) =>
      environment.agents(
        CLERK.replace(
          "'scripted/m'",
          "'scripted/m', mcp: [mcpServer({ name: 'crm', url: 'http://127.0.0.1:9/mcp', headers: { authorization: secret('crm-token', { prefix: 'Bearer ' }) } })]",
        ),
      ),
    repair: (command, environment) => inShell(command.replace('…', 'a-token'), environment),
  },
  {
    name: 'a provider that refuses the key',
    check: 'providers',
    names: /openai\/gpt-5\.2 does not answer/,
    break: async (environment) => {
      const provider = await startFakeOpenAI((reply) => reply.json(401, { error: { message: 'Incorrect API key' } }));
      environment.defer(() => provider.close());
      environment.flags.live = true;
      environment.machine.ask = async () => true;
      await environment.agents(
        `export const agents = [defineAgent({ name: 'clerk', model: 'openai/gpt-5.2' })];
export const providers = { openai: openai({ baseURL: '${provider.url}', apiKey: 'sk-1234567890123456' }) };`,
      );
    },
  },
  {
    name: 'a QuickJS that does not run code',
    check: 'quickjs',
    names: /JavaScript does not run: out of order\.[^]*npm install --force longhaul/,
    break: ({ machine }) => (machine.javascript = scriptedExecutor([{ error: { kind: 'runtime', message: 'out of order' } }])),
    repair: (_, { machine }) => {
      delete machine.javascript;
    },
  },
  {
    name: 'no bubblewrap',
    check: 'python-sandbox',
    names: /bubblewrap is not installed[^]*apt-get install bubblewrap/,
    break: async (environment) => {
      environment.machine.isolation = { bubblewrap: join(environment.folder, 'bwrap') };
      await environment.agents(PYTHON_CLERK);
    },
    repair: (_, environment) => {
      // The package is installed on this machine: what the command installs is where it looks by default.
      delete environment.machine.isolation;
    },
  },
  {
    name: 'no user namespaces',
    check: 'python-sandbox',
    names: /user namespaces are not allowed/,
    break: async (environment) => {
      const script = await environment.write('bwrap', '#!/bin/sh\necho "bwrap: No permissions to create new namespace" >&2\nexit 1\n');
      await chmod(script, 0o755);
      environment.machine.isolation = { bubblewrap: script, program: () => ({ file: script, args: [], env: {} }) };
      await environment.agents(PYTHON_CLERK);
    },
  },
  {
    name: 'a payload store on a full disk',
    check: 'payload-store',
    names: /the disk is full[^]*df -h/,
    break: async (environment) => {
      const disk = join(environment.folder, 'disk');
      const store = (await fullDisk(disk, environment))
        ? `fileStore({ directory: ${JSON.stringify(disk)} })`
        : "{ name: 'full', type: 'full', store: async () => { throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC', syscall: 'write' }); }, retrieve: async () => [], deleteRun: async () => undefined }";
      await environment.agents(`${CLERK}\nexport const payloadStore = ${store};`);
    },
  },
  {
    name: 'a payload store that loses its payloads',
    check: 'payload-store',
    names: /does not return what was written/,
    break: (environment) =>
      environment.agents(
        `${CLERK}\nexport const payloadStore = { name: 'forgetful', type: 'none', store: async () => [{ claimData: {} }], retrieve: async () => [], deleteRun: async () => undefined };`,
      ),
  },
  {
    name: 'an archive at a place where a file is',
    check: 'archive',
    names: /cannot write/,
    break: async (environment) => {
      const file = await environment.write('archive', 'a file');
      await environment.agents(`${CLERK}\nexport const archive = fileArchive({ directory: ${JSON.stringify(file)} });`);
    },
  },
  {
    name: 'a memory in a folder that is not there',
    check: 'memory',
    names: /no folder ".*above\/lost"[^]*mkdir -p/,
    break: (environment) =>
      environment.agents(memoryIn(join(environment.folder, 'above', 'lost')), "import { writeFile } from 'node:fs/promises';"),
    repair: 'fix',
  },
  {
    name: 'a memory in a folder that is not there, made by hand, with a space in its name',
    check: 'memory',
    names: /mkdir -p/,
    break: (environment) =>
      environment.agents(memoryIn(join(environment.folder, 'not here')), "import { writeFile } from 'node:fs/promises';"),
    repair: inShell,
  },
  {
    name: 'a dead Redis',
    check: 'redis',
    names: /Redis at "127\.0\.0\.1:9"[^]*redis-cli -u redis:\/\/127\.0\.0\.1:9 ping$/,
    break: (environment) =>
      environment.agents(`${CLERK}\nexport const streams = redisStreams({ url: 'redis://:s3cret-password@127.0.0.1:9' });`),
  },
  {
    name: 'a dead Redis of the governor',
    check: 'governor',
    names: /"governor": Redis at "127\.0\.0\.1:9"[^]*redis-cli -u redis:\/\/127\.0\.0\.1:9 ping$/,
    break: (environment) =>
      environment.agents(`${CLERK}\nexport const governor = redisGovernor({ url: 'redis://:s3cret-password@127.0.0.1:9' });`),
  },
  {
    name: 'a Redis that removes any key',
    check: 'redis',
    status: 'warn',
    needs: { redis: true },
    names: /removes any key[^]*\(allkeys-lru\)[^]*config set maxmemory-policy noeviction/,
    break: async (environment) => {
      const redis = await RedisServer.start();
      environment.defer(() => redis.stop());
      await redis.use((client) => client.configSet('maxmemory-policy', 'allkeys-lru'));
      await environment.agents(`${CLERK}\nexport const streams = redisStreams({ url: '${redis.url}' });`);
    },
    repair: inShell,
  },
  {
    name: 'an old Redis',
    check: 'redis',
    names: /Redis is 6\.2\.14, and 7 or newer is needed/,
    break: async (environment) => {
      const url = await fakeRedis('redis_version:6.2.14\r\nmaxmemory_policy:noeviction', environment);
      await environment.agents(`${CLERK}\nexport const streams = redisStreams({ url: '${url}' });`);
    },
  },
  {
    name: 'a key that is too short',
    check: 'codec',
    names: /not 32 bytes[^]*openssl rand/,
    break: ({ machine }) => (machine.env['LONGHAUL_ENCRYPTION_KEYS'] = '2026:c2hvcnQ='),
    repair: (command, environment) => {
      inShell(command, environment);
      environment.flags.codecEndpoint = '';
    },
  },
  {
    name: 'no codec server',
    check: 'codec-server',
    names: /No codec server answers[^]*longhaul codec-server/,
    break: (environment) => {
      environment.machine.env['LONGHAUL_ENCRYPTION_KEYS'] = `2026:${KEY}`;
      environment.flags.codecEndpoint = 'http://127.0.0.1:9';
    },
    repair: (_, environment) => codecServer(environment, KEY),
  },
  {
    name: 'a codec server that does not let the Temporal UI call it',
    check: 'codec-server',
    names: /CORS[^]*--allow-origin https:\/\/temporal\.example/,
    break: async (environment) => {
      await codecServer(environment, KEY);
      environment.machine.env['LONGHAUL_ENCRYPTION_KEYS'] = `2026:${KEY}`;
      environment.machine.env['LONGHAUL_UI_URL'] = 'https://temporal.example/ui';
    },
    repair: (command, environment) => codecServer(environment, KEY, command.split(' ').at(-1)),
  },
  {
    name: 'a codec server with other keys',
    check: 'codec-server',
    names: /does not decode|other keys/,
    break: async (environment) => {
      await codecServer(environment, OTHER_KEY);
      environment.machine.env['LONGHAUL_ENCRYPTION_KEYS'] = `2026:${KEY}`;
    },
  },
  {
    name: 'another program at a port of the dev server',
    check: 'ports',
    status: 'warn',
    names: /Another program listens on port \d+/,
    break: async (environment) => (environment.machine.ports = [await silentServer(environment)]),
  },
  {
    name: 'a proxy between this machine and its own server',
    check: 'proxy',
    names: /https_proxy[^]*no_proxy/,
    break: ({ machine }) => (machine.env['https_proxy'] = 'http://proxy.example:3128'),
    repair: (command, environment) => {
      inShell(`${command} && export NODE_USE_ENV_PROXY=1`, environment);
    },
  },
  {
    name: 'a proxy that Node does not use',
    check: 'proxy',
    status: 'warn',
    names: /NODE_USE_ENV_PROXY/,
    break: ({ machine }) => Object.assign(machine.env, { HTTPS_PROXY: 'http://proxy.example:3128' }),
    repair: inShell,
  },
  {
    name: 'a file of certificates that is not there',
    check: 'extra-certificates',
    names: /cannot be read/,
    break: ({ machine, folder }) => (machine.env['NODE_EXTRA_CA_CERTS'] = join(folder, 'ca.pem')),
  },
  {
    name: 'a file of certificates without one',
    check: 'extra-certificates',
    names: /no certificate in PEM/,
    break: async (environment) => (environment.machine.env['NODE_EXTRA_CA_CERTS'] = await environment.write('ca.pem', 'hello')),
  },
];

function memoryIn(folder: string): string {
  const file = JSON.stringify(join(folder, 'memory.json'));
  return `${CLERK}
const kept = new Map();
export const memory = {
  remember: async (entry) => { await writeFile(${file}, '{}'); kept.set(entry.key, entry.value); return entry; },
  recall: async () => [...kept.values()].map((value) => ({ value })),
  forget: async () => 1,
  list: async () => ({ entries: [] }),
};`;
}

/** Starts a server that accepts connections and says nothing, and returns its port. */
async function silentServer(environment: Environment): Promise<number> {
  const sockets = new Set<{ destroy(): void }>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  environment.defer(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as { port: number }).port;
}

async function codecServer(environment: Environment, key: string, origin = 'http://localhost:8233'): Promise<void> {
  const server = await startCodecServer({
    codec: { encryption: { activeKeyId: '2026', keys: { '2026': Buffer.from(key, 'base64') } } },
    allowsOrigin: (one) => one === origin,
  });
  environment.defer(() => server.stop());
  environment.flags.codecEndpoint = server.url;
}

/** Starts a Redis that knows only the commands of a greeting, and describes itself with `info`. Returns its address. */
async function fakeRedis(info: string, environment: Environment): Promise<string> {
  const sockets = new Set<{ destroy(): void }>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    // Each command is an array of texts, whose first one is its name.
    socket.on('data', (piece: Buffer) => {
      for (const [, name = ''] of piece.toString().matchAll(/\*\d+\r\n\$\d+\r\n(\w+)\r\n/g)) {
        if (/^hello$/i.test(name)) socket.write('%1\r\n$5\r\nproto\r\n:3\r\n');
        else
          socket.write(
            /^info$/i.test(name) ? `$${Buffer.byteLength(info)}\r\n${info}\r\n` : /^ping$/i.test(name) ? '+PONG\r\n' : '+OK\r\n',
          );
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  environment.defer(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `redis://127.0.0.1:${(server.address() as { port: number }).port}`;
}

/** Mounts a tiny file system and fills it. False where this user may not mount: a store that refuses then takes its place. */
async function fullDisk(path: string, environment: Environment): Promise<boolean> {
  await mkdir(path);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k,nr_inodes=64', 'tmpfs', path], { stdio: 'ignore' });
  } catch {
    return false;
  }
  environment.defer(() => execFileSync('umount', [path]));
  await writeFile(join(path, 'fill'), Buffer.alloc(256 * 1024)).catch(() => undefined);
  return true;
}
