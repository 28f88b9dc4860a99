import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { withCodec } from '../../codec/with-codec.ts';
import { agentModels, summaryModelsOf } from '../../core/domain/agent.ts';
import { isSecretReference, type SecretReference } from '../../core/domain/deps.ts';
import { errorMessage, memberOf } from '../../core/domain/errors.ts';
import type { Credential, ModelClient } from '../../core/domain/model.ts';
import { counted, shellQuoted } from '../../core/domain/text.ts';
import { type AnyAgent, withSubAgents } from '../../define/agent-definition.ts';
import { modelsOfParts } from '../../define/all-parts.ts';
import type { RedisServer } from '../../streams/redis/redis-server.ts';
import type { StreamSinkContext } from '../../streams/stream-sink.ts';
import type { AgentsModule } from '../input-files.ts';
import { CHECK_MS, type CheckGroup, type Examination, fail, type Finding, type Fix, ok, pathWord, skipped, warn } from './examination.ts';

export const STORE_CHECKS: CheckGroup = {
  heading: 'Stores',
  checks: [
    { name: 'payload-store', run: (examination) => withAgents(examination, (module) => checkPayloadStore(module, examination)) },
    { name: 'archive', run: (examination) => withAgents(examination, (module) => checkArchive(module, examination)) },
    { name: 'memory', run: (examination) => withAgents(examination, checkMemory) },
    { name: 'redis', run: (examination) => withAgents(examination, checkStreams) },
    { name: 'governor', run: (examination) => withAgents(examination, checkGovernor) },
  ],
};

/** The text that is written, read and deleted. */
const PROBE = 'longhaul doctor';

function probeRun({ flags }: Examination): { namespace: string; runId: string } {
  return { namespace: flags.namespace ?? 'default', runId: `longhaul-doctor-${randomUUID()}` };
}

async function checkPayloadStore({ payloadStore: store }: AgentsModule, examination: Examination): Promise<Finding> {
  if (store === undefined) return skipped('The agents module exports no payload store.');
  const run = probeRun(examination);
  const payload = { metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from(JSON.stringify(PROBE)) };
  return tried(`The payload store "${store.name}"`, {
    write: () => store.store({ target: { kind: 'workflow', namespace: run.namespace, id: run.runId } }, [payload]),
    read: async (claims) => Buffer.from((await store.retrieve({}, [...claims]))[0]?.data ?? '').toString() === JSON.stringify(PROBE),
    remove: () => store.deleteRun(run),
  });
}

async function checkArchive({ archive }: AgentsModule, examination: Examination): Promise<Finding> {
  if (archive === undefined) return skipped('The agents module exports no archive.');
  const run = probeRun(examination);
  const timestamp = new Date().toISOString();
  const content = [{ type: 'message' as const, role: 'user' as const, content: PROBE }];
  const records = [{ type: 'event' as const, offset: 0, id: randomUUID(), executionId: run.runId, timestamp, author: 'user', content }];
  return tried('The archive', {
    write: () => archive.append({ run, from: 0, through: 1, records }),
    read: async () => {
      for await (const one of archive.read(run)) return one.type === 'event' && one.offset === 0;
      return false;
    },
    remove: () => archive.deleteRun(run),
  });
}

async function checkMemory({ memory }: AgentsModule): Promise<Finding> {
  if (memory === undefined) return skipped('The agents module exports no memory.');
  const namespace = `longhaul-doctor-${randomUUID()}`;
  return tried('The memory', {
    write: () => memory.remember({ namespace, key: 'probe', value: PROBE }),
    read: async () => (await memory.recall({ namespace, text: 'probe' }))[0]?.value === PROBE,
    remove: () => memory.forget({ namespace }),
  });
}

/** The three steps of a store. `read` returns true if it has read what was written. */
interface StoreSteps<Written> {
  write: () => Promise<Written>;
  read: (written: Written) => Promise<boolean>;
  remove: () => Promise<unknown>;
}

async function tried<Written>(subject: string, { write, read, remove }: StoreSteps<Written>): Promise<Finding> {
  let step = 'write';
  try {
    const written = await write();
    step = 'read';
    const isSame = await read(written);
    step = 'delete';
    await remove();
    if (isSame) return ok(`${subject} writes, reads and deletes.`);
    return fail(`${subject} does not return what was written.`, 'longhaul doctor --agents ./agents.ts');
  } catch (error) {
    if (step !== 'delete') await remove().catch(() => undefined);
    return storeProblem(subject, step, error);
  }
}

function storeProblem(subject: string, step: string, error: unknown): Finding {
  const cause = systemError(error);
  const path = cause === undefined ? undefined : memberOf(cause, 'path');
  const folder = typeof path === 'string' ? dirname(path) : undefined;
  const word = pathWord(folder ?? '.');
  const summary = (reason: string): string => `${subject} cannot ${step}: ${reason}.`;
  switch (cause === undefined ? undefined : memberOf(cause, 'code')) {
    case 'ENOSPC':
      return fail(summary('the disk is full'), `df -h ${word}`);
    case 'EDQUOT':
      return fail(summary('the quota of the disk is used up'), `df -h ${word}`);
    case 'EACCES':
    case 'EPERM':
      return fail(summary(`this user may not write to "${folder}"`), `ls -ld ${word}`);
    case 'EROFS':
      return fail(summary('the file system is read-only'), `findmnt --target ${word}`);
    case 'ENOENT':
      if (folder !== undefined) return fail(summary(`there is no folder "${folder}"`), `mkdir -p ${word}`, folderFix(folder));
      return fail(summary(errorMessage(error)), 'longhaul doctor --agents ./agents.ts');
    case 'ECONNREFUSED':
      return fail(summary('nothing listens at its address'), 'longhaul doctor --agents ./agents.ts');
    default:
      return fail(summary(errorMessage(error).replace(/\.$/, '')), 'longhaul doctor --agents ./agents.ts');
  }
}

function folderFix(folder: string): Fix {
  return {
    done: `Made the folder "${folder}".`,
    undo: `rmdir ${missingFolders(folder).map(pathWord).join(' ')}`,
    apply: async () => {
      await mkdir(folder, { recursive: true });
    },
  };
}

/** Returns a folder and its missing ancestors, the innermost first. */
function missingFolders(folder: string): string[] {
  return existsSync(folder) || folder === dirname(folder) ? [] : [folder, ...missingFolders(dirname(folder))];
}

/** Returns the error of the operating system behind an error. */
function systemError(error: unknown): unknown {
  for (let cause = error; typeof cause === 'object' && cause !== null; cause = memberOf(cause, 'cause')) {
    if (typeof memberOf(cause, 'code') === 'string' && typeof memberOf(cause, 'syscall') === 'string') return cause;
    if (memberOf(cause, 'code') === 'ENOSPC') return cause;
  }
  return undefined;
}

/** The oldest Redis version with the required streams. */
const OLDEST_REDIS = 7;

async function checkStreams({ streams: sink }: AgentsModule): Promise<Finding> {
  if (sink?.name !== 'redis') return skipped('The agents module has no sink in Redis.');
  const channel = sink.open({
    namespace: 'default',
    dataConverter: withCodec() as StreamSinkContext['dataConverter'],
    log: () => undefined,
  });
  const use = { of: 'streams', lost: 'streams of open runs are then lost' };
  try {
    return await checkRedis(channel, use);
  } finally {
    await channel.close();
  }
}

async function checkGovernor({ governor }: AgentsModule): Promise<Finding> {
  if (governor?.name !== 'redis') return skipped('The agents module has no governor in Redis.');
  const accounts = governor.open({ log: () => undefined });
  const use = { of: 'governor', lost: 'the limits of providers are then lost' };
  try {
    return await checkRedis(accounts, use);
  } finally {
    accounts.close();
  }
}

/** A use of Redis: the export that has it, and the damage if Redis removes its keys. */
interface RedisUse {
  of: string;
  lost: string;
}

async function checkRedis(user: object, { of: name, lost }: RedisUse): Promise<Finding> {
  try {
    if (!hasServer(user)) return skipped(`The version of longhaul that made "${name}" says nothing about its Redis.`);
    const { version, evictionPolicy } = await user.server();
    if (Number.parseInt(version, 10) < OLDEST_REDIS)
      return fail(`Redis is ${version}, and ${OLDEST_REDIS} or newer is needed for "${name}".`, redisCommand(user, 'info server'));
    if (evictionPolicy !== 'noeviction' && !evictionPolicy.startsWith('volatile-')) {
      return warn(
        `Redis ${version} of "${name}" removes any key when its memory is full (${evictionPolicy}): ${lost}.`,
        redisCommand(user, 'config set maxmemory-policy noeviction'),
      );
    }
    return ok(`Redis ${version} of "${name}" answers, with the eviction policy ${evictionPolicy}.`);
  } catch (error) {
    return fail(`"${name}": ${errorMessage(error).replace(/\.$/, '')}.`, redisCommand(user, 'ping'));
  }
}

/** Returns a command for the examined Redis, which is rarely the default of `redis-cli`. */
function redisCommand(user: object, words: string): string {
  const address = memberOf(user, 'address');
  return typeof address === 'string' ? `redis-cli -u ${shellQuoted(address)} ${words}` : `redis-cli ${words}`;
}

/** Checks by shape, because the sink or the governor may come from another copy of this package. */
function hasServer(user: object): user is { server(): Promise<RedisServer> } {
  return typeof memberOf(user, 'server') === 'function';
}

export const AGENT_CHECKS: CheckGroup = {
  heading: 'Agents',
  checks: [
    { name: 'agents', run: checkModule },
    { name: 'agent-names', run: (examination) => withAgents(examination, checkNames) },
    { name: 'schemas', run: checkSchemas },
    { name: 'models', run: (examination) => withAgents(examination, checkModels) },
    { name: 'secrets', run: (examination) => withAgents(examination, (module) => checkSecrets(module, examination)) },
    { name: 'providers', run: (examination) => withAgents(examination, (module) => checkProviders(module, examination)) },
  ],
};

/** What the conversion of a schema says if JSON cannot represent it. */
const OF_SCHEMA = /cannot be represented in JSON/;

async function checkModule({ agents, agentsPath }: Examination): Promise<Finding> {
  const loaded = await agents;
  if (loaded.state === 'absent') {
    return skipped(
      agentsPath === undefined ? 'There is no agents.ts here: name yours with --agents.' : 'This Node does not load the agents module.',
    );
  }
  if (loaded.state === 'loaded') {
    const { module, path, notices } = loaded;
    if (notices.length > 0) return warn(notices.map(oneSentence).join(' '));
    return ok(`${counted(module.agents.length, 'agent')} and ${counted(module.programs.length, 'program')} in "${path}".`);
  }
  if (OF_SCHEMA.test(loaded.reason)) return skipped('The agents module does not load because of a schema.');
  // The message about a module that npm has declared as CommonJS names the remedy.
  const [, remedy] = /: run (npm pkg set type=module)/.exec(loaded.reason) ?? [];
  return fail(oneSentence(loaded.reason), remedy ?? `node ${pathWord(loaded.path)}`);
}

/** Runs a check of the module; it is skipped without one. */
async function withAgents(examination: Examination, check: (module: AgentsModule) => Finding | Promise<Finding>): Promise<Finding> {
  const loaded = await examination.agents;
  if (loaded.state === 'loaded') return check(loaded.module);
  return skipped(loaded.state === 'absent' ? 'There is no agents module.' : 'The agents module does not load.');
}

function oneSentence(text: string): string {
  const line = text.split('\n')[0] ?? '';
  return /[.!?]$/.test(line) ? line : `${line}.`;
}

function checkNames({ agents, programs }: AgentsModule): Finding {
  const names = [...agents, ...programs].map(({ name }) => name);
  const twice = [...new Set(names.filter((name, index) => names.indexOf(name) !== index))];
  if (twice.length === 0) return ok('Every agent and program has a separate name.');
  return fail(
    `Several agents are named ${twice.map((name) => `"${name}"`).join(', ')}: give each a separate name.`,
    'longhaul doctor --agents ./agents.ts',
  );
}

async function checkSchemas({ agents }: Examination): Promise<Finding> {
  const loaded = await agents;
  if (loaded.state === 'failed' && OF_SCHEMA.test(loaded.reason)) return fail(oneSentence(loaded.reason), `node ${pathWord(loaded.path)}`);
  if (loaded.state !== 'loaded') return skipped('There is no agents module that loads.');
  const tools = withSubAgents(loaded.module.agents).flatMap((agent) => agent.tools.map((tool) => ({ agent: agent.name, tool })));
  const loose = tools.filter(({ tool }) => tool.agent === undefined && !tool.strict);
  if (loose.length === 0) return ok(`${counted(tools.length, 'schema')} of tools can be converted, and providers can enforce each.`);
  const [{ tool } = { tool: undefined }] = loose;
  return ok(
    `${counted(tools.length, 'schema')} of tools can be converted; ${loose.length} of them are not enforced while a model writes, such as "${tool?.name}" (${tool?.strictProblem}).`,
  );
}

/** The models of an agent, each `provider/model`. */
function modelsOf(agent: AnyAgent): string[] {
  return [...agentModels(agent), ...summaryModelsOf(agent), ...modelsOfParts(agent)];
}

function providerOf(model: string): string {
  return model.slice(0, model.indexOf('/'));
}

/** Returns a worker's providers: the module's, or else `openai`, as in every command that runs a worker. */
async function providersOf({ providers }: AgentsModule): Promise<Record<string, ModelClient>> {
  if (providers !== undefined) return providers;
  const { openai } = await import('../../../activities/models/openai/openai.ts');
  return { openai: openai() };
}

async function checkModels(module: AgentsModule): Promise<Finding> {
  const providers = await providersOf(module);
  const agents = withSubAgents(module.agents);
  for (const agent of agents) {
    const lost = modelsOf(agent).find((model) => providers[providerOf(model)] === undefined);
    if (lost === undefined) continue;
    const has = Object.keys(providers).join(', ') || 'none';
    return fail(
      `Agent "${agent.name}" uses the model "${lost}", and there is no provider "${providerOf(lost)}" (there is: ${has}): add it to "providers" of the module.`,
      'longhaul doctor --agents ./agents.ts',
    );
  }
  const models = [...new Set(agents.flatMap(modelsOf))];
  return ok(
    `Each of ${counted(models.length, 'model')} has a provider: ${models.slice(0, 5).join(', ')}${models.length > 5 ? ', …' : ''}.`,
  );
}

/** Checks the secrets. Shows names, never values. */
async function checkSecrets(module: AgentsModule, examination: Examination): Promise<Finding> {
  const needed = await neededCredentials(module);
  if (needed.length === 0) return skipped('No provider and no MCP server names a secret.');
  const missing: string[] = [];
  for (const one of needed) {
    try {
      const value = one.kind === 'variable' ? examination.machine.env[one.name] : await secretValue(module, one.name, examination);
      if (!value) missing.push(one.name);
    } catch (error) {
      return fail(`The secret "${one.name}" cannot be read: ${errorMessage(error)}.`, 'longhaul doctor --agents ./agents.ts');
    }
  }
  if (missing.length === 0) return ok(`Present, by name: ${needed.map(({ name }) => name).join(', ')}.`);
  const [first = ''] = missing;
  return fail(
    `Missing: ${missing.join(', ')}. Set ${missing.length === 1 ? 'it' : 'them'} where the worker runs.`,
    `export ${variableOf(first)}=…`,
  );
}

/** Returns the value of a secret: from the sources of the module, or else from the environment, as a worker reads it. */
async function secretValue({ secrets }: AgentsModule, name: string, { machine, secrets: read }: Examination): Promise<string | undefined> {
  if (secrets === undefined) return machine.env[variableOf(name)];
  for (const source of [secrets].flat()) {
    const value = await (typeof source === 'function' ? source(name) : source.read(name));
    if (!value) continue;
    // A provider may quote the value in its error.
    read[`secret "${name}"`] = value;
    return value;
  }
  return undefined;
}

function variableOf(name: string): string {
  return name.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_');
}

async function neededCredentials(module: AgentsModule): Promise<Credential[]> {
  const agents = withSubAgents(module.agents);
  const providers = await providersOf(module);
  const used = new Set(agents.flatMap(modelsOf).map(providerOf));
  const ofProviders = Object.entries(providers).flatMap(([name, client]) => (used.has(name) ? (client.credentials?.() ?? []) : []));
  const ofServers = agents.flatMap(({ mcp = [] }) =>
    mcp.flatMap(({ transport }) =>
      Object.values(transport.type === 'http' ? transport.headers : transport.env).flatMap((value) =>
        isSecretReference(value) ? [{ kind: 'secret' as const, name: value.name }] : [],
      ),
    ),
  );
  return [...new Map([...ofProviders, ...ofServers].map((one) => [`${one.kind} ${one.name}`, one])).values()];
}

/** The most tokens that a `--live` call may cost. */
const LIVE_TOKENS = 10;

async function checkProviders(module: AgentsModule, examination: Examination): Promise<Finding> {
  const { flags, machine } = examination;
  const models = [
    ...new Map(
      withSubAgents(module.agents)
        .flatMap(modelsOf)
        .map((model) => [providerOf(model), model]),
    ).values(),
  ];
  if (flags.live !== true) return skipped('No model is called without --live.');
  if (models.length === 0) return skipped('No agent has a model.');
  if (machine.ask === undefined) return skipped('Calls to models cost money, and there is no terminal to ask at.');
  const may = await machine.ask(`Call ${models.join(', ')}, once each, for at most ${LIVE_TOKENS} tokens? [y/N] `);
  if (!may) return skipped('No model was called.');
  const providers = await providersOf(module);
  const secret = async (one: string | SecretReference): Promise<string> => {
    const { name, prefix = '' } = typeof one === 'string' ? { name: one } : one;
    const value = await secretValue(module, name, examination);
    if (value === undefined) throw new Error(`the secret "${name}" is missing`);
    return prefix + value;
  };
  const outcomes = await Promise.all(
    models.map(async (model) => ({ model, problem: await problemOfCall(providers[providerOf(model)], model, secret) })),
  );
  const failed = outcomes.filter(({ problem }) => problem !== undefined);
  if (failed.length === 0) return ok(`Each provider answers: ${models.join(', ')}.`);
  return fail(
    failed.map(({ model, problem }) => `${model} does not answer: ${problem}`).join('; '),
    'longhaul doctor --live --agents ./agents.ts',
  );
}

async function problemOfCall(
  client: ModelClient | undefined,
  model: string,
  secret: (one: string | SecretReference) => Promise<string>,
): Promise<string | undefined> {
  if (client === undefined) return 'there is no such provider';
  const request = {
    model: model.slice(model.indexOf('/') + 1),
    instructions: [],
    conversation: [{ author: 'user', content: [{ type: 'message' as const, role: 'user' as const, content: 'Say ok.' }] }],
    tools: [],
    settings: { maxOutputTokens: LIVE_TOKENS },
  };
  try {
    await client.call(request, { signal: AbortSignal.timeout(CHECK_MS - 200), secret });
    return undefined;
  } catch (error) {
    return oneSentence(errorMessage(error));
  }
}
