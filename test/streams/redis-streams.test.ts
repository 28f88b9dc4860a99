import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { streamSinkConformance } from '../../src/streams/stream-sink-conformance.ts';
import { redisStreams, type RedisStreamsOptions } from '../../src/streams/redis/redis-streams.ts';
import { REDIS_MISSING, redisProgram, RedisServer } from './redis-server.ts';
import { sinkContext } from './sink-context.ts';

const SINKS: [string, Omit<RedisStreamsOptions, 'url'>][] = [
  ['redisStreams()', {}],
  ['redisStreams() with few entries of a run', { entriesPerRun: 500 }],
];

describe.skipIf(redisProgram === undefined).each(SINKS)(`%s${REDIS_MISSING}`, (_, options) => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await RedisServer.start();
  });
  afterAll(() => server.stop());

  it.each(streamSinkConformance)('$name', async ({ run }) => {
    const sink = redisStreams({ url: server.url, ...options });
    await expect(run({ open: (side) => sink.open(sinkContext(side)) })).resolves.toBeUndefined();
  });
});
