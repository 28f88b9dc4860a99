import type { LonghaulClient } from '../../src/client/index.ts';
import { percentile, rounded, sum } from '../figures/statistics.ts';
import { quietRuntime } from '../../test/processes/quiet-runtime.ts';
import { measureAdded } from './added-history.ts';
import type { StreamOptions } from './stream-options.ts';
import { completed, readTokens, startScript } from './stream-run.ts';
import { withStreams } from './stream-surroundings.ts';
import { measureSteps } from './step-ratios.ts';

/** Answers of each run: all but the last call a tool. */
const ANSWERS = 2;

/** The figures of the way of tokens. */
interface Delivery {
  deltas: number;
  p50Ms: number;
  p95Ms: number;
  lost: number;
  duplicated: number;
}

/** Measures the way of tokens from the provider to readers, and the cost of it. Returns the object of the last line. */
export async function measureStream(options: StreamOptions, say: (line: string) => void): Promise<object> {
  const { sink, runs, rate, seconds, steps, rounds } = options;
  quietRuntime();
  return withStreams(sink, say, async ({ client, machine }) => {
    const added = await measureAdded(client);
    say(`a sink and a reader add ${added.eventsAdded} events and ${added.historyBytesAdded} bytes to a history`);
    const delivery = await measureDelivery(client, options);
    say(`${delivery.deltas} tokens: p50 ${delivery.p50Ms} ms, p95 ${delivery.p95Ms} ms`);
    const { msPerStep, ...ratios } = await measureSteps(client, { runs, steps, rounds, rate }, say);
    const unpaced = await measureSteps(client, { runs: 1, steps, rounds, rate: 0 }, say);
    return { sink, ...delivery, ...added, ...ratios, msPerStep, unpaced, runs, rate, seconds, steps, rounds, machine };
  });
}

async function measureDelivery(client: LonghaulClient, { runs, rate, seconds }: StreamOptions): Promise<Delivery> {
  const tokens = Math.ceil((rate * seconds) / ANSWERS);
  const read = await Promise.all(
    Array.from({ length: runs }, async (_, index) => {
      const phaseMs = (index * 1_000) / rate / runs;
      const run = await startScript(client, `tokens-${index}`, { steps: ANSWERS - 1, tokens, rate, phaseMs }, 'with');
      const [received] = await Promise.all([readTokens(run), completed(run)]);
      return received;
    }),
  );
  const delays = read.flatMap((one) => one.delays);
  return {
    deltas: delays.length,
    p50Ms: rounded(percentile(delays, 50), 2),
    p95Ms: rounded(percentile(delays, 95), 2),
    lost: sum(read.map(({ lost }) => lost)),
    duplicated: sum(read.map(({ duplicated }) => duplicated)),
  };
}
