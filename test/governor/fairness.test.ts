import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Ledger } from '../../src/governor/ledger.ts';
import { NO_LIMIT, type ProviderLimits } from '../../src/governor/limits.ts';
import { MemoryLedger } from '../../src/governor/memory-ledger.ts';
import { RedisLedger } from '../../src/governor/redis/redis-ledger.ts';
import { RedisConnection } from '../../src/streams/redis/redis-connection.ts';
import { propertyRuns } from '../property-runs.ts';
import { REDIS_MISSING, redisProgram, RedisServer } from '../streams/redis-server.ts';
import { type PlannedCall, randomNumbers, simulate, type SimulatedCall, unusedSlots, worstUnfairness } from './simulation.ts';

/** By how many permits two tenants may differ, over any span of time in which both have calls that wait or are parked. */
const FAIR = 2;
/** The same if nobody knows when permits come: calls that make room end at any time. */
const VAGUELY_FAIR = 5;
/** The part of the permits that may be lost because calls are parked. */
const LOST = 0.02;
/** The time from a permit to the next report of a process. */
const REPORT_MS = 250;

function limitsOf(given: Partial<ProviderLimits>): ProviderLimits {
  const none = { requestsPerMinute: NO_LIMIT, tokensPerMinute: NO_LIMIT, concurrency: NO_LIMIT };
  return { ...none, learn: true, share: 'tenant', holdSlotMs: 5_000, ...given };
}

/** An account in Redis of several processes, with the time of the simulation. It can be lost. */
class SimulatedRedis {
  isLost = false;
  readonly #connection: RedisConnection;
  readonly #limits: ProviderLimits;
  readonly #prefix: string;
  readonly #pending = new Set<Promise<unknown>>();

  constructor(connection: RedisConnection, limits: ProviderLimits, prefix: string) {
    this.#connection = connection;
    this.#limits = limits;
    this.#prefix = prefix;
  }

  open(): Ledger {
    const isLost = (): boolean => this.isLost;
    const connection = {
      ready: () => Promise.resolve(),
      get isReady() {
        return !isLost();
      },
      get answers() {
        return !isLost();
      },
      problem: new Error('lost'),
      send: (args: string[]) => {
        const answer = this.#connection.send([...args.slice(0, -1), String(1_000_000 + Math.floor(performance.now()))]);
        this.#pending.add(answer);
        const forget = (): void => void this.#pending.delete(answer);
        answer.then(forget, forget);
        return answer;
      },
    };
    const nothing = (): void => undefined;
    const account = { connection, prefix: this.#prefix, provider: 'p', limits: this.#limits, onAlone: nothing, onBack: nothing };
    return new RedisLedger(account);
  }

  async settled(): Promise<void> {
    do {
      await Promise.allSettled(this.#pending);
      await nextTurn();
    } while (this.#pending.size > 0);
  }
}

function calls(count: number, tenant: string, at: number, over: Partial<PlannedCall> = {}): PlannedCall[] {
  return Array.from({ length: count }, (_, index) => ({ tenant, at: at + index, ...over }));
}

/** Calls whose durations are distributed exponentially: nobody knows when they end. */
function callsOfAnyLength(count: number, tenant: string, at: number, meanMs: number): PlannedCall[] {
  const random = randomNumbers(count);
  return calls(count, tenant, at).map((call) => ({ ...call, lastsMs: -meanMs * Math.log(1 - random()) }));
}

/** A ledger in memory that several processes use as often as they would use Redis. */
function sharedMemory(limits: ProviderLimits): Ledger {
  const memory = new MemoryLedger(limits);
  return { tickMs: 100, gatherMs: 5, exchange: (report) => memory.exchange(report) };
}

function inMemory(limits: ProviderLimits, planned: readonly PlannedCall[], over: { processes?: number; seed?: number } = {}) {
  const ledger = sharedMemory(limits);
  return simulate({ limits, processes: 3, ledger: () => ledger, calls: planned, ...over });
}

/** The time within which calls with a limit of requests get their permits if none is lost. */
function idealEnd(planned: readonly PlannedCall[], requestsPerMinute: number): number {
  let end = -Infinity;
  for (const { at } of planned.toSorted((one, other) => one.at - other.at)) end = Math.max(at, end + 60_000 / requestsPerMinute);
  return end;
}

function endOf(served: readonly SimulatedCall[]): number {
  return Math.max(...served.map(({ servedAt }) => servedAt));
}

/** How often a call may begin to wait: it comes back once a minute, before its turn, and if others come meanwhile. */
function mostAttempts({ at, servedAt }: SimulatedCall): number {
  return 6 + Math.ceil((servedAt - at) / (LONGEST_PARK_MS * 0.9));
}
const LONGEST_PARK_MS = 60_000;

const BY_REQUESTS: [what: string, requestsPerMinute: number, planned: PlannedCall[]][] = [
  ['few calls begin after many', 30, [...calls(14, 'acme', 0), ...calls(4, 'globex', 1_500)]],
  ['the later tenant has the greater name', 30, [...calls(14, 'acme', 0), ...calls(4, 'zeta', 1_500)]],
  ['one call begins after two hundred', 120, [...calls(200, 'acme', 0), ...calls(1, 'globex', 1_500), ...calls(1, 'zeta', 21_500)]],
  ['two tenants have many calls', 60, [...calls(60, 'acme', 0), ...calls(60, 'globex', 700)]],
  ['permits are rare', 6, [...calls(8, 'acme', 0), ...calls(8, 'globex', 2_000)]],
  [
    'permits are rarer than past usage is remembered',
    1,
    [...calls(3, 'acme', 0), ...calls(3, 'globex', 2_000), ...calls(2, 'zeta', 5_000)],
  ],
  ['permits are frequent', 600, [...calls(400, 'acme', 0), ...calls(200, 'globex', 700)]],
  ['there are a hundred tenants', 30, Array.from({ length: 100 }, (_, index) => calls(2, `t${index}`, index * 10)).flat()],
  ['tenants come one by one', 60, Array.from({ length: 12 }, (_, index) => calls(5, `t${index}`, index * 4_000)).flat()],
];

describe.each(BY_REQUESTS)('%s', (_, requestsPerMinute, planned) => {
  const limits = limitsOf({ requestsPerMinute });

  test('permits alternate between tenants, none is lost, and no call returns often', async () => {
    const served = await inMemory(limits, planned);
    expect(worstUnfairness(served)).toBeLessThanOrEqual(FAIR);
    expect(endOf(served)).toBeLessThanOrEqual(idealEnd(planned, requestsPerMinute) * (1 + LOST) + REPORT_MS);
    for (const one of served) expect(one.attempts).toBeLessThanOrEqual(mostAttempts(one));
  });
});

test('any tenants with calls are served equally, whenever they come, without a lost permit', async () => {
  const tenants = fc.array(fc.record({ at: fc.nat({ max: 60_000 }), count: fc.integer({ min: 1, max: 40 }) }), {
    minLength: 2,
    maxLength: 5,
  });
  const scenario = fc.record({
    tenants,
    requestsPerMinute: fc.integer({ min: 5, max: 600 }),
    processes: fc.integer({ min: 1, max: 4 }),
    holdSlotMs: fc.integer({ min: 4_000, max: 10_000 }),
    seed: fc.nat(),
  });
  await fc.assert(
    fc.asyncProperty(scenario, async ({ tenants: all, requestsPerMinute, processes, holdSlotMs, seed }) => {
      // All calls of a tenant begin at the same time.
      const planned = all.flatMap(({ at, count }, index) => calls(count, `t${index}`, at).map((call) => ({ ...call, at })));
      const served = await inMemory(limitsOf({ requestsPerMinute, holdSlotMs }), planned, { processes, seed });
      expect(worstUnfairness(served)).toBeLessThanOrEqual(FAIR);
      expect(endOf(served)).toBeLessThanOrEqual(idealEnd(planned, requestsPerMinute) * (1 + LOST) + REPORT_MS);
      for (const one of served) expect(one.attempts).toBeLessThanOrEqual(mostAttempts(one) + all.length);
    }),
    { numRuns: propertyRuns(100) },
  );
}, 120_000);

test('calls of a lower priority number come first, also if the others have been parked for long', async () => {
  const planned = [
    ...calls(20, 'acme', 0, { priority: 4 }),
    ...calls(20, 'globex', 100, { priority: 3 }),
    ...calls(3, 'acme', 8_000, { priority: 1 }),
  ];
  const served = await inMemory(limitsOf({ requestsPerMinute: 60 }), planned);
  expect(worstUnfairness(served)).toBeLessThanOrEqual(FAIR);
  const urgent = served.filter(({ priority }) => priority === 1).map(({ servedAt }) => servedAt);
  // Every other permit is theirs, a second each.
  expect(Math.max(...urgent)).toBeLessThanOrEqual(8_000 + 7_000);
});

describe.each<[what: string, limits: Partial<ProviderLimits>, planned: PlannedCall[]]>([
  [
    'calls of the same length',
    { concurrency: 4 },
    [...calls(60, 'acme', 0, { lastsMs: 20_000 }), ...calls(30, 'globex', 3_000, { lastsMs: 20_000 })],
  ],
  [
    'calls of any length',
    { concurrency: 4 },
    [...callsOfAnyLength(60, 'acme', 0, 20_000), ...callsOfAnyLength(30, 'globex', 3_000, 20_000)],
  ],
  ['one at a time', { concurrency: 1 }, [...callsOfAnyLength(20, 'acme', 0, 15_000), ...callsOfAnyLength(10, 'globex', 3_000, 15_000)]],
  ['long calls', { concurrency: 2 }, [...callsOfAnyLength(40, 'acme', 0, 30_000), ...callsOfAnyLength(20, 'globex', 3_000, 30_000)]],
  ['many at a time', { concurrency: 20 }, [...callsOfAnyLength(200, 'acme', 0, 30_000), ...callsOfAnyLength(100, 'globex', 3_000, 30_000)]],
])('concurrency, with %s', (_, given, planned) => {
  test('tenants share it, and parking leaves hardly any of it unused', async () => {
    const limits = limitsOf(given);
    const served = await inMemory(limits, planned);
    const held = await inMemory({ ...limits, holdSlotMs: 3_600_000 }, planned);
    expect(worstUnfairness(served)).toBeLessThanOrEqual(VAGUELY_FAIR);
    for (const one of served) expect(one.attempts).toBeLessThanOrEqual(2 * mostAttempts(one));
    expect(unusedSlots(served, limits.concurrency)).toBeLessThanOrEqual(unusedSlots(held, limits.concurrency) + LOST);
  });
});

test('tokens that decide the rate are shared as well', async () => {
  const planned = [...calls(50, 'acme', 0, { tokens: 2_000 }), ...calls(20, 'globex', 700, { tokens: 2_000 })];
  const served = await inMemory(limitsOf({ tokensPerMinute: 60_000 }), planned);
  expect(worstUnfairness(served)).toBeLessThanOrEqual(FAIR);
  expect(endOf(served)).toBeLessThanOrEqual(69 * 2_500 * (1 + LOST) + REPORT_MS);
});

test('a wait that the provider asks for delays all calls equally', async () => {
  const planned = [...calls(1, 'acme', 0, { refusedForMs: 30_000 }), ...calls(20, 'acme', 100), ...calls(20, 'globex', 700)];
  const served = await inMemory(limitsOf({ requestsPerMinute: 60, learn: false }), planned);
  expect(worstUnfairness(served)).toBeLessThanOrEqual(FAIR);
  expect(endOf(served)).toBeLessThanOrEqual((30_000 + 41_000) * (1 + LOST) + REPORT_MS);
  for (const one of served) expect(one.attempts).toBeLessThanOrEqual(mostAttempts(one));
});

test('parked calls that never come back take no permits: the others come at the latest when it would have been their turn', async () => {
  const planned = [...calls(100, 'acme', 0, { isCancelled: true }), ...calls(20, 'globex', 1_000)];
  const served = await inMemory(limitsOf({ requestsPerMinute: 60 }), planned);
  const times = served.filter(({ tenant }) => tenant === 'globex').map(({ servedAt }) => servedAt);
  expect(Math.max(...times)).toBeLessThanOrEqual(1_000 + 2 * 20_000);
  for (const one of served) expect(one.attempts).toBeLessThanOrEqual(mostAttempts({ ...one, servedAt: Math.min(one.servedAt, 1e6) }));
});

describe.skipIf(redisProgram === undefined)(`by an account in Redis${REDIS_MISSING}`, () => {
  let server: RedisServer;
  let connection: RedisConnection;
  beforeAll(async () => {
    server = await RedisServer.start();
    const quiet = (): void => undefined;
    connection = new RedisConnection({ url: server.url, owner: 'redisGovernor', onAway: quiet, onReady: quiet });
    await connection.ready(new AbortController().signal);
  });
  afterAll(async () => {
    connection.close();
    await server.stop();
  });

  test.each([...BY_REQUESTS.slice(0, 2), ...BY_REQUESTS.slice(-1)])(
    'tenants are served equally: %s',
    async (what, requestsPerMinute, planned) => {
      const limits = limitsOf({ requestsPerMinute });
      const redis = new SimulatedRedis(connection, limits, what);
      const served = await simulate({
        limits,
        processes: 3,
        ledger: () => redis.open(),
        calls: planned,
        settled: () => redis.settled(),
      });
      expect(worstUnfairness(served)).toBeLessThanOrEqual(FAIR);
      expect(endOf(served)).toBeLessThanOrEqual(idealEnd(planned, requestsPerMinute) * (1 + LOST) + REPORT_MS);
      for (const one of served) expect(one.attempts).toBeLessThanOrEqual(mostAttempts(one));
    },
  );

  test('while Redis is lost, processes use their shares, and afterwards tenants are served equally again', async () => {
    const limits = limitsOf({ requestsPerMinute: 60 });
    const planned = [...calls(80, 'acme', 0), ...calls(80, 'globex', 700)];
    const redis = new SimulatedRedis(connection, limits, 'lost');
    const events = [
      { at: 15_000, happens: () => void (redis.isLost = true) },
      { at: 40_000, happens: () => void (redis.isLost = false) },
    ];
    const served = await simulate({
      limits,
      processes: 3,
      ledger: () => redis.open(),
      calls: planned,
      settled: () => redis.settled(),
      events,
    });
    const within = (from: number, to: number): SimulatedCall[] => served.filter(({ servedAt }) => servedAt >= from && servedAt < to);
    // The permits of 25 seconds, and one that each process has saved up, or has been given just before.
    expect(within(15_000, 40_000).length).toBeLessThanOrEqual(25 + 2 * 3);
    for (const one of served) expect(one.attempts).toBeLessThanOrEqual(2 * mostAttempts(one));
    // Calls that were parked meanwhile are back after a minute.
    expect(worstUnfairness(within(100_000, Infinity))).toBeLessThanOrEqual(FAIR);
  });
});
