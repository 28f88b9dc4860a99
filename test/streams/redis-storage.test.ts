import type { PayloadCodec } from '@temporalio/common';
import { readFile } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { EncryptionCodec, Keyring } from '../../src/codec/encryption.ts';
import { deltaEntry, textEntry } from '../../src/streams/stream-sink-conformance.ts';
import { redisStreams, type RedisStreamsOptions } from '../../src/streams/redis/redis-streams.ts';
import type { StreamChannel } from '../../src/streams/stream-sink.ts';
import { key } from '../codec/payloads.ts';
import { collect } from './collected.ts';
import { REDIS_MISSING, redisProgram, RedisServer } from './redis-server.ts';
import { converterWith, sinkContext } from './sink-context.ts';

function encryption(byte: number): PayloadCodec {
  return new EncryptionCodec(new Keyring({ activeKeyId: `k${byte}`, keys: { [`k${byte}`]: key(byte) } }));
}

describe.skipIf(redisProgram === undefined)(`the streams of redisStreams()${REDIS_MISSING}`, () => {
  let server: RedisServer;
  const channels: StreamChannel[] = [];
  beforeAll(async () => {
    server = await RedisServer.start();
  });
  afterEach(async () => {
    await Promise.all(channels.splice(0).map((one) => one.close()));
    await server.use((redis) => redis.flushAll());
  });
  afterAll(() => server.stop());

  function open(side: 'worker' | 'client', codecs: PayloadCodec[] = [], options: Omit<RedisStreamsOptions, 'url'> = {}) {
    const context = sinkContext(side, { dataConverter: converterWith(...codecs), namespace: 'team:a' });
    const channel = redisStreams({ url: server.url, ...options }).open(context);
    channels.push(channel);
    return { channel, lines: context.lines };
  }

  it('show no clear text in a dump if a codec encrypts, and the payloads otherwise', async () => {
    const texts = ['a secret text', 'secret reasoning', '{"secret":"argument"}', 'secretly emitted'];
    const entries = [
      textEntry(0, texts[0]),
      deltaEntry(1, { type: 'reasoning', text: texts[1] ?? '' }),
      deltaEntry(2, { type: 'tool_input', callId: 'c', toolName: 'secretTool', text: texts[2] ?? '' }),
      deltaEntry(3, { type: 'data', callId: 'c', name: 'secretName', data: { note: texts[3] ?? null } }),
    ];
    const dumps: string[] = [];
    for (const codecs of [[encryption(1)], []]) {
      const { channel } = open('worker', codecs);
      for (const entry of entries) channel.publish('r', entry);
      const reading = collect(open('client', codecs).channel, 'r');
      await reading.until(3);
      expect(reading.reads.map((one) => (one.type === 'entry' ? one.entry : one))).toEqual(entries);
      await server.use(async (redis) => {
        await redis.configSet('rdbcompression', 'no');
        await redis.sendCommand(['SAVE']);
        await redis.flushAll();
      });
      dumps.push(await readFile(server.dump, 'latin1'));
    }
    const [encrypted = '', clear = ''] = dumps;
    for (const word of ['secret', 'reasoning', 'tool_input', 'delta', 'event']) {
      expect(encrypted).not.toContain(word);
      expect(clear).toContain(word);
    }
    expect(encrypted).toContain('longhaul:stream:team%3Aa:r');
  });

  it('are removed by Redis some time after the last entry, and keep about as many as they should', async () => {
    const { channel } = open('worker', [], { keepFor: '10m', entriesPerRun: 100 });
    for (let index = 0; index < 1_000; index += 1) channel.publish('r', textEntry(index));
    await channel.close();
    await server.use(async (redis) => {
      const [name = ''] = await redis.keys('*');
      expect(await redis.pTTL(name)).toBeGreaterThan(590_000);
      expect(await redis.pTTL(name)).toBeLessThanOrEqual(600_000);
      const length = await redis.xLen(name);
      expect(length).toBeGreaterThanOrEqual(100);
      expect(length).toBeLessThan(300);
    });
    const reading = collect(open('client').channel, 'r');
    await reading.until(999);
    expect(reading.shown[0]).toBe('lost');
    expect(reading.shown.at(1)).toBeGreaterThan(0);
  });

  it('have nothing left of a run that is removed, and everything of others', async () => {
    const { channel } = open('worker');
    for (const runId of ['ada', 'eve']) channel.publish(runId, textEntry(0, `MARK-of-${runId}`));
    const reading = collect(open('client').channel, 'eve');
    await reading.until(0);
    await open('client').channel.removeRun('ada');
    await open('client').channel.removeRun('never');
    await server.use(async (redis) => {
      expect(await redis.keys('*')).toEqual(['longhaul:stream:team%3Aa:eve']);
      await redis.configSet('rdbcompression', 'no');
      await redis.sendCommand(['SAVE']);
    });
    expect(await readFile(server.dump, 'latin1')).not.toContain('MARK-of-ada');
  });

  it('are not said to be removed if Redis is away', async () => {
    const channel = redisStreams({ url: 'redis://127.0.0.1:1' }).open(sinkContext('client'));
    channels.push(channel);
    await expect(channel.removeRun('ada')).rejects.toThrow('Redis at "127.0.0.1:1" does not answer');
  });

  it('are read over one connection, however many runs are read', async () => {
    const { channel: worker } = open('worker');
    const { channel: client } = open('client');
    const runs = Array.from({ length: 40 }, (_, index) => ({ runId: `r${index}`, reading: collect(client, `r${index}`) }));
    for (const { runId } of runs) worker.publish(runId, textEntry(0));
    await Promise.all(runs.map(({ reading }) => reading.until(0)));
    const late = collect(client, 'late');
    for (const { runId } of [...runs, { runId: 'late' }]) worker.publish(runId, textEntry(1));
    await Promise.all([...runs.map(({ reading }) => reading.until(1)), late.until(1)]);
    // One of the worker, and two of the client. Connections of earlier tests may close late.
    const connections = (): Promise<number> =>
      server.use(async (redis) => JSON.stringify(await redis.sendCommand(['CLIENT', 'LIST'])).split('name=longhaul-streams').length - 1);
    await vi.waitUntil(async () => (await connections()) === 3, { timeout: 5_000 });
    for (const { reading } of runs) expect(reading.shown).toEqual([0, 1]);
  });

  it('do not disturb each other if Redis refuses one of them', async () => {
    const { channel, lines } = open('worker');
    await server.use((redis) => redis.set('longhaul:stream:team%3Aa:taken', 'something else'));
    const reading = collect(open('client').channel, 'r');
    for (let index = 0; index < 3; index += 1) {
      channel.publish('taken', textEntry(index));
      channel.publish('r', textEntry(index));
    }
    await reading.until(2);
    expect(reading.shown).toEqual([0, 1, 2]);
    await vi.waitUntil(() => lines.length > 0);
    expect(lines[0]).toContain('WRONGTYPE');
    const refused = open('client');
    collect(refused.channel, 'taken');
    await vi.waitUntil(() => refused.lines.length > 0);
    expect(refused.lines[0]).toContain('the stream of a run cannot be read: WRONGTYPE');
  });

  it('get a mark where a codec has failed, and continue', async () => {
    let isBroken = true;
    const codec: PayloadCodec = {
      encode: async (payloads) => (isBroken ? Promise.reject(new Error('The key service is away')) : payloads),
      decode: async (payloads) => payloads,
    };
    const { channel, lines } = open('worker', [codec]);
    channel.publish('r', textEntry(0));
    await vi.waitUntil(() => lines.length > 0);
    isBroken = false;
    channel.publish('r', textEntry(1));
    const reading = collect(open('client').channel, 'r');
    await reading.until(1);
    expect(reading.shown).toEqual(['lost', 1]);
    await vi.waitUntil(() => lines.length === 2);
    expect(lines).toEqual([
      'redisStreams: live output is dropped: The key service is away. Runs continue.',
      'redisStreams: live output is carried again. Entries dropped meanwhile: 1.',
    ]);
  });

  it('yield "lost" for entries that the reader cannot decode', async () => {
    const [one, other] = [open('worker', [encryption(1)]), open('worker', [encryption(2)])];
    one.channel.publish('r', textEntry(0));
    await one.channel.close();
    other.channel.publish('r', textEntry(1));
    const reading = collect(open('client', [encryption(1)]).channel, 'r');
    await reading.until('lost');
    expect(reading.shown).toEqual([0, 'lost']);
  });

  it('yield "lost" for invalid entries', async () => {
    await server.use(async (redis) => {
      await redis.xAdd('longhaul:stream:team%3Aa:r', '*', { e: 'no payload' });
      await redis.xAdd('longhaul:stream:team%3Aa:r', '*', { other: 'field' });
    });
    const { channel } = open('worker');
    channel.publish('r', { type: 'of a newer release' as 'recorded', executionId: 'e', events: 1, steps: 0, status: 'running' });
    channel.publish('r', textEntry(1));
    const reading = collect(open('client').channel, 'r');
    await reading.until(1);
    expect(reading.shown).toEqual(['lost', 'lost', 'lost', 1]);
  });
});
