import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { redisStreams, type RedisStreamsOptions } from '../../src/streams/redis/redis-streams.ts';
import { compareIds, isStreamId } from '../../src/streams/redis/stream-entries.ts';

const run = promisify(execFile);

describe('redisStreams()', () => {
  it('refuses addresses and bounds that it cannot use, and shows no password', () => {
    for (const url of ['http://me:secret@host', 'redis//me:secret@host', 'redis://me:secret@host/name', 'secret']) {
      expect(() => redisStreams({ url })).toThrow(/^redisStreams: "url" is not a Redis address(?!.*secret)/);
    }
    expect(() => redisStreams({} as RedisStreamsOptions)).toThrow('redisStreams: "url" is missing');
    expect(() => redisStreams({ url: 'redis://host', queuedEntries: 0 })).toThrow('redisStreams: "queuedEntries" is 0');
    expect(() => redisStreams({ url: 'redis://host', keepFor: 'long' as '1h' })).toThrow('redisStreams: "keepFor" is "long"');
    expect(() => redisStreams({ url: 'redis://host', host: 'h' } as RedisStreamsOptions)).toThrow('unknown option "host"');
    for (const url of ['redis://host', 'rediss://me:secret@host:1/2', 'redis://[::1]:6379']) {
      expect(redisStreams({ url }).name).toBe('redis');
    }
  });

  it('says how to install the package "redis" if it is missing, and fails no call', async () => {
    const module = fileURLToPath(new URL('../../src/streams/redis/redis-streams.ts', import.meta.url));
    const script = `
      import { registerHooks } from 'node:module';
      registerHooks({ resolve: (name, context, next) => {
        if (name !== 'redis') return next(name, context);
        throw Object.assign(new Error("Cannot find package 'redis'"), { code: 'ERR_MODULE_NOT_FOUND' });
      } });
      const { redisStreams } = await import(${JSON.stringify(module)});
      const { defaultPayloadConverter } = await import('@temporalio/common');
      const dataConverter = { payloadConverter: defaultPayloadConverter, payloadCodecs: [] };
      const log = (line) => console.log(line);
      const channel = redisStreams({ url: 'redis://127.0.0.1:1' }).open({ namespace: 'default', dataConverter, log });
      channel.publish('r', { type: 'recorded', executionId: 'e', events: 1, steps: 0, status: 'running' });
      await channel.health().catch((error) => console.log(error.name + ': ' + error.message));
      await channel.close();
    `;
    const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script], {
      cwd: fileURLToPath(new URL('.', import.meta.url)),
    });
    const says = 'redisStreams needs the package "redis", which is not installed: run "npm install redis"';
    expect(stdout).toContain(`redisStreams: Redis at "127.0.0.1:1" cannot be used: ${says}`);
    expect(stdout).toContain(`UsageError: ${says}`);
  });
});

describe('the ids of entries', () => {
  it('are compared as numbers of any size', () => {
    const ids = [
      '0-0',
      '0-1',
      '9-0',
      '10-0',
      '10-9',
      '10-10',
      '1764000000000-0',
      '99999999999999-2',
      '18446744073709551615-18446744073709551615',
    ];
    for (const [index, id] of ids.entries()) {
      expect(isStreamId(id)).toBe(true);
      for (const [other, otherId] of ids.entries()) expect(Math.sign(compareIds(id, otherId))).toBe(Math.sign(index - other));
    }
    for (const text of [
      '',
      '1',
      '-',
      '1-',
      '-1',
      '01-0',
      '1-0 ',
      '1-0-0',
      '18446744073709551616-0',
      '0-18446744073709551616',
      '1e3-0',
      '$',
      '+',
    ]) {
      expect(isStreamId(text)).toBe(false);
    }
  });
});
