import { expect, test } from 'vitest';
import { connect, fold, newView } from '../../../../src/client/index.ts';
import { redisStreams } from '../../../../src/streams/redis/redis-streams.ts';
import { callTool, say, scriptedModel } from '../../../../src/testing/index.ts';
import { REDIS_MISSING, redisProgram, RedisServer } from '../../../streams/redis-server.ts';
import { assistant } from '../../testbed/agents.ts';
import { Testbed } from '../../testbed/testbed.ts';

test.skipIf(redisProgram === undefined)(
  `a run continues to its end while Redis does not answer, and its reader gets the whole record from the server${REDIS_MISSING}`,
  async () => {
    const redis = await RedisServer.start();
    await using stack = new AsyncDisposableStack();
    stack.defer(() => redis.stop());
    const testbed = stack.use(await Testbed.open());
    const client = await connect({ address: testbed.address, streams: redisStreams({ url: redis.url }) });
    stack.defer(() => client.close());
    const calls = ['c1', 'c2', 'c3'].map((id) => callTool('search', { query: id }, id));
    const model = scriptedModel([...calls, say('It is on its way.', { chunks: 10, every: 20 })]);
    await testbed.work({ agents: [assistant], streams: redisStreams({ url: redis.url }), providers: { scripted: model } });
    const run = await client.start(assistant, { input: 'Q', taskQueue: testbed.taskQueue });
    let view = newView();
    for await (const item of run.stream()) {
      if (view.events.length === 0) redis.pause();
      view = fold(view, item);
    }
    expect(view).toMatchObject({ live: [], result: { status: 'completed', output: 'It is on its way.' } });
    expect(view.events).toEqual(await Array.fromAsync(run.events()));
  },
);
