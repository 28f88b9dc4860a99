import { describe, expect, test } from 'vitest';
import { openai } from '../../../activities/models/openai/openai.ts';
import { defineAgent } from '../../../src/index.ts';
import { prometheusMetrics, redisGovernor, telemetry } from '../../../worker/index.ts';
import { says } from '../../fakes/openai-answers.ts';
import { startFakeOpenAI } from '../../fakes/openai-server.ts';
import { REDIS_MISSING, redisProgram, RedisServer } from '../../streams/redis-server.ts';
import { Testbed } from '../testbed/testbed.ts';

const agent = defineAgent({ name: 'clerk', model: 'paced/m' });
const KEY = 'sk-nobody-may-see-this';

describe.skipIf(redisProgram === undefined)(`workers that share a limit by Redis${REDIS_MISSING}`, () => {
  test('keep to it together, measure it, and tell Redis no key, no tenant, no user and no run', async () => {
    const redis = await RedisServer.start();
    const provider = await startFakeOpenAI(says('done'));
    try {
      await using testbed = await Testbed.open();
      const page = prometheusMetrics();
      const options = {
        agents: [agent],
        providers: { paced: openai({ baseURL: provider.url, apiKey: KEY, api: 'chat' as const }) },
        governor: redisGovernor({ url: redis.url }),
        limits: { paced: { requestsPerMinute: 120, concurrency: 3, holdSlotFor: '1s' as const } },
        telemetry: await telemetry({ tracerProvider: 'none', meterProvider: page }),
      };
      await testbed.work(options);
      await testbed.work(options);
      const began = performance.now();
      const runs = await Promise.all(
        Array.from({ length: 9 }, (_, index) => {
          const principal = { tenant: `tenant-of-${index % 3}`, user: 'ada-the-user' };
          return testbed.client.start(agent, {
            input: 'Q',
            principal,
            runId: `named-run-${testbed.taskQueue}-${index}`,
            taskQueue: testbed.taskQueue,
          });
        }),
      );
      for (const run of runs) expect(await run.result()).toMatchObject({ status: 'completed', output: 'done' });
      // One is saved up, and two become free in a second.
      expect(provider.requests.length).toBeLessThanOrEqual(1 + ((performance.now() - began) * 120) / 60_000 + 1);
      const stored = await redis.use(async (client) => {
        const keys = await client.keys('*');
        const values = await Promise.all(
          keys.map(async (key) => {
            const type = await client.type(key);
            if (type === 'hash') return client.sendCommand(['HGETALL', key]);
            return client.sendCommand(['ZRANGE', key, '0', '-1']);
          }),
        );
        return JSON.stringify([keys, values]);
      });
      expect(stored).toContain('longhaul:governor:{paced}:state');
      for (const secret of [KEY, 'tenant-of', 'ada-the-user', 'named-run', 'clerk']) expect(stored).not.toContain(secret);
      const text = page.text();
      expect(text).toMatch(/longhaul_governor_permits_total\{[^}]*gen_ai_provider_name="paced"[^}]*\} \d/);
      expect(text).toContain('longhaul_governor_wait_seconds_count');
      expect(text).not.toContain('tenant-of');
    } finally {
      await provider.close();
      await redis.stop();
    }
  });
});
