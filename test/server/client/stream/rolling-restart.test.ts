import { randomUUID } from 'node:crypto';
import { expect, inject, test } from 'vitest';
import { readingProblems, recordOf } from '../../../stream-storm/reading-problems.ts';
import { AGENT } from '../../../stream-storm/processes/streaming-agents.ts';
import { type StormTestbed, withStorm } from '../../../stream-storm/processes/storm-testbed.ts';
import { stay } from '../../../stream-storm/reading.ts';
import { REDIS_MISSING, redisProgram } from '../../../streams/redis-server.ts';
import { until } from '../../testbed/testbed.ts';

const RUNS = 10;
const READERS_OF_A_RUN = 20;
/** Rounds of calls: the runs take longer than the restart. */
const ROUNDS = 30;

/** The time within which all readers connect. */
const ARRIVED_MS = 4_000;

/** Ends an instance as a deploy does, and starts it again. Its readers continue at the other one. */
async function restart({ services, urls, proxy }: StormTestbed, index: number): Promise<number | null | undefined> {
  const port = Number(new URL(urls[index] ?? '').port);
  const code = await services[index]?.end('SIGTERM');
  await services[index]?.start();
  await until(() => proxy.ready.includes(port), 'the instance takes requests again');
  return code;
}

test.skipIf(redisProgram === undefined)(
  `200 readers follow their runs over a rolling restart of both instances: nothing is missing, and nothing comes twice${REDIS_MISSING}`,
  async () => {
    const place = {
      address: inject('temporalAddress'),
      namespace: inject('temporalNamespace'),
      taskQueue: `rolling-${randomUUID()}`,
      bundlePath: inject('workflowBundlePath'),
      workers: 1,
    };
    await withStorm(place, async (testbed) => {
      const { client, taskQueue, proxy, urls } = testbed;
      testbed.onWaiting = ({ runId, callId, digest }) => void client.handle(runId).approve({ callId, digest }, { id: callId });
      await until(() => proxy.ready.length === urls.length, 'both instances take requests');
      const signal = AbortSignal.timeout(100_000);
      const runs = await Promise.all(
        Array.from({ length: RUNS }, (_, number) =>
          client.start(AGENT, { runId: `${taskQueue}-${number}`, taskQueue, input: JSON.stringify({ number, rounds: ROUNDS }) }),
        ),
      );
      const readings = runs.flatMap(({ runId }) => Array.from({ length: READERS_OF_A_RUN }, () => stay({ url: proxy.url, runId, signal })));
      // A reader that is not there yet would not be cut.
      await new Promise((resolve) => setTimeout(resolve, ARRIVED_MS));
      expect([await restart(testbed, 0), await restart(testbed, 1)]).toEqual([0, 0]);
      const stillRunning = await Promise.all(runs.map((run) => run.status()));
      expect(stillRunning.map(({ status }) => status)).not.toContain('completed');
      const read = await Promise.all(readings);
      const recorded = new Map(await Promise.all(runs.map(async (run) => [run.runId, await recordOf(run)] as const)));
      for (const [index, { items, problem, cuts }] of read.entries()) {
        const record = recorded.get(runs[Math.floor(index / READERS_OF_A_RUN)]?.runId ?? '');
        if (record === undefined) throw new Error('A run has no record');
        expect({ problem, problems: readingProblems(items, record), isCut: cuts > 0 }).toEqual({
          problem: undefined,
          problems: [],
          isCut: true,
        });
      }
      expect(read).toHaveLength(RUNS * READERS_OF_A_RUN);
    });
  },
  150_000,
);
