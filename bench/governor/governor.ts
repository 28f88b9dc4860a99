import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createClient } from 'redis';
import { connect, type LonghaulClient, type RunHandle } from '../../src/client/index.ts';
import type { DefaultOutput } from '../../src/index.ts';
import { startDevServer } from '../../src/dev-server/dev-server.ts';
import { redisGovernor } from '../../src/governor/governor.ts';
import { checkLimits } from '../../src/governor/limits.ts';
import { ProviderPermits } from '../../src/governor/provider-permits.ts';
import { runHistory } from '../../src/history/history-events.ts';
import { ProgramProcess } from '../../test/processes/program-process.ts';
import { bundleToFile } from '../../test/processes/workflow-bundle.ts';
import { describeMachine, type Machine } from '../figures/machine.ts';
import { percentile, rounded, sum } from '../figures/statistics.ts';
import type { GovernedSetting } from '../processes/governed.ts';
import { startRedis } from '../sides/redis-process.ts';
import { governedAgent, PacedProvider } from './paced-provider.ts';
import type { GovernorBenchOptions } from './governor-options.ts';

const TASK_QUEUE = 'bench-governor';
const WORKER = fileURLToPath(new URL('../processes/governed.ts', import.meta.url));
/** The first tenant has all runs that the others, with this many each, leave. */
const TENANTS = 10;
const RUNS_OF_A_SMALL_TENANT = 6;
/** A limit of tokens that is not reached: requests are the bound. */
const TOKENS_PER_MINUTE = 30_000_000;
const WARM_UP_MS = 15_000;
/** Sequential calls of one process that has the limit to itself. */
const LONE_CALLS = 400;
const LONE_PAUSE_MS = 20;
/** Runs whose histories are read. */
const READ_RUNS = 10;

/** The figures of `governor`. */
interface GovernorFigures {
  /** Requests that the provider has refused. */
  refusedPct: number;
  /** Requests that it has answered, as a part of those that it would have taken. */
  utilization: number;
  /** The fairness to the tenants by Jain: 1 if all have got the same. */
  jain: number;
  failed: number;
  /** Milliseconds to a permit if nobody else wants one. */
  acquireP50Ms: number;
  acquireP95Ms: number;
  /** Reports to Redis of all workers. */
  evalsPerSecond: number;
  /** Events of a model call that was parked beyond the three of any call. */
  eventsPerParkedCall: number;
  parkedCalls: number;
  perTenant: number[];
  runs: number;
  workers: number;
  rpm: number;
  claim: number;
  machine: Machine;
}

/** Measures runs of ten tenants in several workers, which share the key of a provider that refuses requests over its limit. */
export async function measureGovernor(options: GovernorBenchOptions, say: (line: string) => void): Promise<GovernorFigures> {
  const { runs, workers: count, rpm, claim, headers, seconds } = options;
  const redis = await startRedis();
  const dev = await startDevServer({ say, env: { ...process.env, TEMPORAL_ADDRESS: '' } });
  const { address, namespace } = dev;
  const bundle = await bundleToFile();
  const provider = new PacedProvider({ requestsPerMinute: rpm, tokensPerMinute: TOKENS_PER_MINUTE, headers });
  const limits = { requestsPerMinute: Math.round(rpm * claim), tokensPerMinute: TOKENS_PER_MINUTE };
  const lone = await measureLoneCalls(redis.url);
  const providerURL = await provider.start();
  const setting: GovernedSetting = {
    address,
    namespace,
    taskQueue: TASK_QUEUE,
    bundlePath: bundle.path,
    providerURL,
    redisURL: redis.url,
    limits,
  };
  const workers = Array.from({ length: count }, () => new ProgramProcess<{ type: 'stop' }, { type: 'ready' }>(WORKER, setting));
  const client = await connect({ address, namespace });
  try {
    await Promise.all(workers.map((worker) => worker.start()));
    const handles = await startRuns(client, runs);
    await sleep(WARM_UP_MS);
    say(`${runs} runs in ${count} workers have begun`);
    provider.count();
    const evals = await evalsOf(redis.url);
    const began = performance.now();
    await sleep(seconds * 1_000);
    const measuredS = (performance.now() - began) / 1_000;
    const evalsPerSecond = ((await evalsOf(redis.url)) - evals) / measuredS;
    const { asked, refused } = provider;
    const perTenant = Array.from({ length: TENANTS }, (_, index) => provider.answered.get(tenantName(index)) ?? 0);
    provider.end();
    say('the runs end');
    const results = await Promise.all(handles.map((handle) => handle.result()));
    const { parkedCalls, addedEvents } = await readHistories(client, handles.slice(0, READ_RUNS));
    return {
      refusedPct: rounded((100 * refused) / Math.max(1, asked), 2),
      utilization: rounded(sum(perTenant) / ((rpm / 60) * measuredS), 3),
      jain: rounded(sum(perTenant) ** 2 / (TENANTS * sum(perTenant.map((amount) => amount ** 2))), 4),
      failed: results.filter(({ status }) => status !== 'completed').length,
      acquireP50Ms: rounded(percentile(lone, 50), 3),
      acquireP95Ms: rounded(percentile(lone, 95), 3),
      evalsPerSecond: rounded(evalsPerSecond, 1),
      eventsPerParkedCall: parkedCalls === 0 ? 0 : addedEvents / parkedCalls,
      parkedCalls,
      perTenant,
      runs,
      workers: count,
      rpm,
      claim,
      machine: await describeMachine(client.temporal),
    };
  } finally {
    await Promise.all(workers.map((worker) => worker.stop({ type: 'stop' })));
    provider.close();
    await client.close();
    await bundle.remove();
    await dev.stop();
    await redis.stop();
  }
}

/** Returns how many scripts a Redis has run. */
async function evalsOf(url: string): Promise<number> {
  const client = await createClient({ url }).connect();
  try {
    const stats = await client.info('commandstats');
    return sum([...stats.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)].map(([, calls]) => Number(calls)));
  } finally {
    client.destroy();
  }
}

function tenantName(index: number): string {
  return `tenant-${index}`;
}

function tenantOf(run: number, runs: number): number {
  const ofFirst = runs - (TENANTS - 1) * RUNS_OF_A_SMALL_TENANT;
  return run < ofFirst ? 0 : 1 + ((run - ofFirst) % (TENANTS - 1));
}

async function startRuns(client: LonghaulClient, runs: number): Promise<RunHandle<DefaultOutput>[]> {
  return Promise.all(
    Array.from({ length: runs }, (_, run) => {
      const tenant = tenantName(tenantOf(run, runs));
      return client.start(governedAgent, { input: `Read for ${tenant}.`, principal: { tenant }, taskQueue: TASK_QUEUE });
    }),
  );
}

/** Measures the time to a permit in a process that has the limit to itself. */
async function measureLoneCalls(url: string): Promise<number[]> {
  const limits = checkLimits({ lone: { requestsPerMinute: 60_000 } }, ['lone']).get('lone');
  if (limits === undefined) throw new Error('There are no limits');
  const governor = redisGovernor({ url }).open({ log: () => undefined });
  const meter = { granted: () => undefined, refused: () => undefined, held: () => undefined };
  const permits = new ProviderPermits(limits, governor.ledger('lone', limits), meter);
  const { signal } = new AbortController();
  const times: number[] = [];
  await sleep(500);
  for (let index = 0; index < LONE_CALLS; index += 1) {
    const began = performance.now();
    const call = { call: `c${index}`, tenant: 't', priority: 3, since: 0, isBack: false, tokens: 0 };
    const granted = await permits.acquire(call, { holdMs: 5_000, signal });
    times.push(performance.now() - began);
    if (granted.type !== 'permit') throw new Error('A call alone has found no permit');
    granted.permit.settle(0);
    await sleep(LONE_PAUSE_MS);
  }
  await permits.close();
  governor.close();
  return times;
}

/** Reads how many model calls were parked, and how many events they have in addition to the events of any call. */
async function readHistories(
  client: LonghaulClient,
  handles: readonly RunHandle<DefaultOutput>[],
): Promise<{ parkedCalls: number; addedEvents: number }> {
  let parkedCalls = 0;
  let addedEvents = 0;
  for (const { runId } of handles) {
    const events = new Map<string, number>();
    const parked = new Set<string>();
    for await (const event of runHistory(client.temporal, runId)) {
      const scheduled = event.activityTaskScheduledEventAttributes;
      if (scheduled?.activityType?.name === 'callModel') events.set(String(event.eventId), 1);
      const { scheduledEventId } =
        event.activityTaskStartedEventAttributes ??
        event.activityTaskCompletedEventAttributes ??
        event.activityTaskFailedEventAttributes ??
        event.activityTaskTimedOutEventAttributes ??
        {};
      const id = String(scheduledEventId);
      if (!events.has(id)) continue;
      events.set(id, (events.get(id) ?? 0) + 1);
      if ((event.activityTaskStartedEventAttributes?.attempt ?? 1) > 1) parked.add(id);
    }
    parkedCalls += parked.size;
    for (const id of parked) addedEvents += (events.get(id) ?? 3) - 3;
  }
  return { parkedCalls, addedEvents };
}
