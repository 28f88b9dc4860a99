import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { textEntry } from '../../src/streams/stream-sink-conformance.ts';
import { redisStreams, type RedisStreamsOptions } from '../../src/streams/redis/redis-streams.ts';
import type { StreamChannel } from '../../src/streams/stream-sink.ts';
import { collect } from './collected.ts';
import { REDIS_MISSING, redisProgram, RedisServer } from './redis-server.ts';
import { sinkContext } from './sink-context.ts';

const KEY = 'longhaul:stream:default:r';

describe.skipIf(redisProgram === undefined)(`redisStreams() while Redis is away${REDIS_MISSING}`, () => {
  let server: RedisServer;
  let channels: StreamChannel[] = [];
  let lines: string[] = [];
  beforeEach(async () => {
    server = await RedisServer.start();
  });
  afterEach(async () => {
    server.resume();
    await Promise.all(channels.map((one) => one.close()));
    channels = [];
    await server.stop();
  });

  function open(options: Omit<RedisStreamsOptions, 'url'> = {}): { worker: StreamChannel; client: StreamChannel } {
    const sink = redisStreams({ url: server.url, ...options });
    const context = sinkContext('worker');
    ({ lines } = context);
    const opened = { worker: sink.open(context), client: sink.open(sinkContext('client')) };
    channels.push(...Object.values(opened));
    return opened;
  }

  it('sends what waited, and yields "lost", after a restart with its data', async () => {
    const { worker, client } = open();
    const reading = collect(client, 'r');
    publish(worker, 0, 5);
    await reading.until(4);
    await server.kill();
    await vi.waitUntil(() => lines.length === 1);
    publish(worker, 5, 20);
    await server.start();
    await reading.until(19);
    // Its newest entries may be gone, and the reader cannot know.
    expect(reading.shown).toEqual([0, 1, 2, 3, 4, 'lost', ...range(5, 20)]);
    expect(lines).toEqual([
      expect.stringMatching(/^redisStreams: Redis at "127\.0\.0\.1:\d+" cannot be used: .+runs continue\.$/),
      'redisStreams: live output is carried again. Entries dropped meanwhile: 0.',
    ]);
    const again = collect(client, 'r', positionOf(reading.reads[2]));
    await again.until(19);
    expect(again.shown).toEqual([3, 4, ...range(5, 20)]);
  });

  it('yields "lost", and then new entries, after a restart without its data', async () => {
    const { worker, client } = open();
    const [reading, other] = [collect(client, 'r'), collect(client, 'without entries')];
    publish(worker, 0, 5);
    await reading.until(4);
    await server.kill();
    server.wipe();
    await server.start();
    await Promise.all([reading.until('lost'), other.until('lost')]);
    publish(worker, 5, 8);
    await reading.until(7);
    expect(reading.shown).toEqual([0, 1, 2, 3, 4, 'lost', 5, 6, 7]);
    const again = collect(client, 'r', positionOf(reading.reads[2]));
    await again.until(7);
    expect(again.shown).toEqual(['lost', 5, 6, 7]);
  });

  it('notices that a stream started over with smaller ids', async () => {
    const { worker, client } = open();
    await server.use((redis) => redis.xAdd(KEY, '99999999999999-0', { lost: '' }));
    const reading = collect(client, 'r');
    await reading.until('lost');
    publish(worker, 0, 2);
    await reading.until(1);
    const position = positionOf(reading.reads.at(-1));
    expect(position).toBe('99999999999999-2');
    await server.kill();
    server.wipe();
    await server.start();
    publish(worker, 2, 4);
    await reading.until(3);
    expect(reading.shown).toEqual(['lost', 0, 1, 'lost', 2, 3]);
    const again = collect(client, 'r', position);
    await again.until(3);
    expect(again.shown).toEqual(['lost', 2, 3]);
  });

  it('yields no "lost" if only its connections were lost', async () => {
    const { worker, client } = open();
    const [reading, other] = [collect(client, 'r'), collect(client, 'without entries')];
    publish(worker, 0, 5);
    await reading.until(4);
    for (let round = 0; round < 3; round += 1) {
      await server.use((redis) => redis.sendCommand(['CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes']));
      const next = 5 + round;
      await vi.waitUntil(() =>
        worker.health().then(
          () => true,
          () => false,
        ),
      );
      publish(worker, next, next + 1);
      await reading.until(next);
    }
    expect(reading.shown).toEqual(range(0, 8));
    expect(other.shown).toEqual([]);
  });

  it('keeps entries that are published while Redis is paused, and is not healthy meanwhile', async () => {
    const { worker, client } = open();
    const reading = collect(client, 'r');
    publish(worker, 0, 1);
    await reading.until(0);
    server.pause();
    publish(worker, 1, 500);
    await expect(worker.health()).rejects.toThrow(/^Redis at "127\.0\.0\.1:\d+" does not answer/);
    server.resume();
    await reading.until(499);
    expect(reading.shown).toEqual(range(0, 500));
    await worker.health();
  });

  it('announces nothing while Redis leaves a command unanswered, and nothing is lost', async () => {
    const { worker, client } = open();
    const reading = collect(client, 'r');
    publish(worker, 0, 1);
    await reading.until(0);
    // Earlier entries are read over the other connection.
    await vi.waitUntil(() => client.announces);
    server.pause();
    await vi.waitUntil(() => !client.announces, { timeout: 10_000 });
    const late = collect(client, 'r');
    publish(worker, 1, 5);
    server.resume();
    await Promise.all([reading.until(4), late.until(4)]);
    await vi.waitUntil(() => client.announces);
    expect([reading.shown, late.shown]).toEqual([range(0, 5), range(0, 5)]);
  });

  it('keeps order while Redis is busy with a command', async () => {
    const { worker, client } = open();
    const reading = collect(client, 'r');
    publish(worker, 0, 100);
    const busy = server.use((redis) => redis.sendCommand(['DEBUG', 'SLEEP', '0.5']));
    publish(worker, 100, 600);
    await Promise.all([busy, reading.until(599)]);
    expect(reading.shown).toEqual(range(0, 600));
  });

  it('drops what its queue cannot hold, marks the place, and reports the number once', async () => {
    for (const bounds of [{ queuedEntries: 10 }, { queuedBytes: 10 * 600 }]) {
      const { worker, client } = open(bounds);
      const runId = JSON.stringify(bounds);
      await worker.health();
      const reading = collect(client, runId);
      server.pause();
      // The first batch is on its way before the queue fills.
      worker.publish(runId, textEntry(0));
      await new Promise((resolve) => setTimeout(resolve, 50));
      for (let index = 1; index < 100; index += 1) worker.publish(runId, textEntry(index));
      await vi.waitUntil(() => lines.length === 1);
      server.resume();
      await reading.until('lost');
      await vi.waitUntil(() => lines.length === 2);
      worker.publish(runId, textEntry(100));
      await reading.until(100);
      const kept = reading.shown.indexOf('lost');
      expect(reading.shown).toEqual([...range(0, kept), 'lost', 100]);
      expect(kept).toBeLessThan(40);
      expect(lines).toEqual([
        'redisStreams: live output is dropped: the queue is full. Runs continue.',
        `redisStreams: live output is carried again. Entries dropped meanwhile: ${100 - kept}.`,
      ]);
    }
  });

  it('marks the runs of a batch whose answer got lost with the connection', async () => {
    const { worker, client } = open();
    const reading = collect(client, 'r');
    publish(worker, 0, 1);
    await reading.until(0);
    server.pause();
    publish(worker, 1, 3);
    await new Promise((resolve) => setTimeout(resolve, 50));
    publish(worker, 3, 5);
    await server.kill();
    await server.start();
    await reading.until(4);
    expect(reading.shown.filter((one) => one !== 'lost')).toEqual([0, 3, 4]);
    expect(reading.shown[1]).toBe('lost');
    expect(lines).toEqual([expect.any(String), 'redisStreams: live output is carried again. Entries dropped meanwhile: 2.']);
  });

  it('works as soon as Redis is there, if it was away from the beginning', async () => {
    await server.kill();
    const { worker, client } = open();
    const reading = collect(client, 'r');
    publish(worker, 0, 3);
    await expect(worker.health()).rejects.toThrow('does not answer: connect ECONNREFUSED');
    await server.start();
    await reading.until(2);
    expect(reading.shown).toEqual([0, 1, 2]);
  });
});

function publish(worker: StreamChannel, from: number, to: number): void {
  for (const index of range(from, to)) worker.publish('r', textEntry(index));
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, index) => from + index);
}

function positionOf(read: { position?: string } | undefined): string {
  return read?.position ?? '';
}
