import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorMessage, memberOf } from '../../core/domain/errors.ts';
import { withCodec } from '../../codec/with-codec.ts';
import type { RedisServer } from '../../streams/redis/redis-streams.ts';
import type { StreamSinkContext } from '../../streams/stream-sink.ts';
import type { AgentsModule } from '../input-files.ts';
import { withAgents } from './agent-checks.ts';
import { type CheckGroup, fail, type Finding, type Fix, ok, skipped, warn } from './check.ts';
import type { Examination } from './examination.ts';

export const STORE_CHECKS: CheckGroup = {
  heading: 'Stores',
  checks: [
    { name: 'payload-store', run: (examination) => withAgents(examination, (module) => checkPayloadStore(module, examination)) },
    { name: 'archive', run: (examination) => withAgents(examination, (module) => checkArchive(module, examination)) },
    { name: 'memory', run: (examination) => withAgents(examination, checkMemory) },
    { name: 'redis', run: (examination) => withAgents(examination, checkRedis) },
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
  const summary = (reason: string): string => `${subject} cannot ${step}: ${reason}.`;
  switch (cause === undefined ? undefined : memberOf(cause, 'code')) {
    case 'ENOSPC':
      return fail(summary('the disk is full'), `df -h ${folder ?? '.'}`);
    case 'EDQUOT':
      return fail(summary('the quota of the disk is used up'), `df -h ${folder ?? '.'}`);
    case 'EACCES':
    case 'EPERM':
      return fail(summary(`this user may not write to "${folder}"`), `ls -ld ${folder ?? '.'}`);
    case 'EROFS':
      return fail(summary('the file system is read-only'), `findmnt --target ${folder ?? '.'}`);
    case 'ENOENT':
      if (folder !== undefined) return fail(summary(`there is no folder "${folder}"`), `mkdir -p ${folder}`, folderFix(folder));
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
    undo: `rmdir ${folder}`,
    apply: async () => {
      await mkdir(folder, { recursive: true });
    },
  };
}

/** Returns the error of the operating system behind an error. */
function systemError(error: unknown): unknown {
  for (let cause = error; typeof cause === 'object' && cause !== null; cause = memberOf(cause, 'cause')) {
    if (typeof memberOf(cause, 'code') === 'string' && typeof memberOf(cause, 'syscall') === 'string') return cause;
    if (memberOf(cause, 'code') === 'ENOSPC') return cause;
  }
  return undefined;
}

/** The version of Redis whose streams are used. */
const OLDEST_REDIS = 7;

async function checkRedis({ streams: sink }: AgentsModule): Promise<Finding> {
  if (sink?.name !== 'redis') return skipped('The agents module has no sink in Redis.');
  const channel = sink.open({
    namespace: 'default',
    dataConverter: withCodec() as StreamSinkContext['dataConverter'],
    log: () => undefined,
  });
  try {
    await channel.health();
    if (!hasServer(channel)) return ok('Redis answers.');
    const { version, evictionPolicy } = await channel.server();
    if (Number.parseInt(version, 10) < OLDEST_REDIS)
      return fail(`Redis is ${version}, and ${OLDEST_REDIS} or newer is needed.`, 'redis-server --version');
    if (evictionPolicy !== 'noeviction' && !evictionPolicy.startsWith('volatile-')) {
      return warn(
        `Redis ${version} removes any key when its memory is full (${evictionPolicy}): the limits of providers and streams of open runs are then lost.`,
        'redis-cli config set maxmemory-policy noeviction',
      );
    }
    return ok(`Redis ${version} answers, with the eviction policy ${evictionPolicy}.`);
  } catch (error) {
    return fail(`${errorMessage(error).replace(/\.$/, '')}.`, 'redis-cli ping');
  } finally {
    await channel.close();
  }
}

/** The sink may be of another copy of this package. */
function hasServer(channel: object): channel is { server(): Promise<RedisServer> } {
  return typeof memberOf(channel, 'server') === 'function';
}
