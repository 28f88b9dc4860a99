import { expect, test } from 'vitest';
import { heartbeatStreams } from '../../src/streams/heartbeat-streams.ts';
import { memoryStreams } from '../../src/streams/memory-streams.ts';
import { redisStreams } from '../../src/streams/redis/redis-streams.ts';
import { streamsNotice } from '../../src/streams/stream-sink.ts';

test.each([
  [
    'no sink',
    undefined,
    'worker',
    /^Readers in other processes get no live output, because there are no "streams".* redisStreams\(.*"live": true/,
  ],
  ['no sink', undefined, 'service', /^The runs of workers in other processes have no live output, because there are no "streams"/],
  [
    'a sink within the process',
    memoryStreams(),
    'worker',
    /no live output, because the sink "memory" is within this process\. Give workers/,
  ],
  ['heartbeats', heartbeatStreams(), 'service', /of the runs alone that are started with "live": true/],
] as const)('a process with %s (%o) that is a %s says at its start what its readers get', (_, sink, side, notice) => {
  expect(streamsNotice(sink, side)).toMatch(notice);
});

test('a process whose sink reaches all others says nothing', () => {
  const sink = redisStreams({ url: 'redis://127.0.0.1:6379' });
  expect([streamsNotice(sink, 'worker'), streamsNotice(sink, 'service')]).toEqual([undefined, undefined]);
});
