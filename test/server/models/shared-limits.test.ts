import { createClient } from 'redis';
import { describe, expect, test } from 'vitest';
import { openai } from '../../../activities/models/openai/openai.ts';
import { defineAgent } from '../../../src/index.ts';
import { idGenerator } from '../../../src/telemetry/ids.ts';
import { prometheusMetrics, redisGovernor, telemetry } from '../../../worker/index.ts';
import { says } from '../../fakes/openai-answers.ts';
import { startFakeOpenAI } from '../../fakes/openai-server.ts';
import { REDIS_MISSING, redisProgram, RedisServer } from '../../streams/redis-server.ts';
import { RecordingSdk } from '../../telemetry/recording-sdk.ts';
import { Testbed, until } from '../testbed/testbed.ts';

const agent = defineAgent({ name: 'clerk', model: 'paced/m' });
const KEY = 'sk-nobody-may-see-this';

/** What neither Redis, nor a metric, nor a span may have. */
const NAMED = [KEY, 'tenant-of', 'ada-the-user'];

describe.skipIf(redisProgram === undefined)(`workers that share a limit by Redis${REDIS_MISSING}`, () => {
  test('keep to it together, measure it, and send no key, tenant, user or run to Redis, and no key or user to metrics or spans', async () => {
    const redis = await RedisServer.start();
    const provider = await startFakeOpenAI(says('done'));
    const monitor = createClient({ url: redis.url });
    try {
      await using testbed = await Testbed.open();
      const page = prometheusMetrics();
      const sdk = new RecordingSdk(idGenerator);
      const told: string[] = [];
      await monitor.connect();
      await monitor.monitor((command) => told.push(command));
      const options = {
        agents: [agent],
        providers: { paced: openai({ baseURL: provider.url, apiKey: KEY, api: 'chat' as const }) },
        governor: redisGovernor({ url: redis.url }),
        limits: { paced: { requestsPerMinute: 120, concurrency: 3, holdSlotFor: '1s' as const } },
        telemetry: await telemetry({ tracerProvider: sdk, meterProvider: page }),
        captureContent: 'redacted' as const,
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
      const stored = await redis.storedBytes();
      expect(stored.includes('longhaul:governor:{paced}:state')).toBe(true);
      expect(told.join('\n')).toMatch(/evalsha.*"waiting/i);
      for (const word of [...NAMED, 'named-run', 'clerk']) {
        expect([word, stored.includes(word)]).toEqual([word, false]);
        expect(told.filter((command) => command.includes(word))).toEqual([]);
      }
      const text = page.text();
      expect(text).toMatch(/longhaul_governor_permits_total\{[^}]*gen_ai_provider_name="paced"[^}]*\} \d/);
      expect(text).toContain('longhaul_governor_wait_seconds_count');
      await until(() => sdk.exported.filter(({ name }) => name === 'invoke_agent clerk').length === runs.length, 'the spans of the runs');
      for (const word of NAMED) expect(text + JSON.stringify(sdk.exported)).not.toContain(word);
    } finally {
      monitor.destroy();
      await provider.close();
      await redis.stop();
    }
  });
});
