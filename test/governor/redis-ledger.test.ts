import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Ledger, LedgerAnswer, LedgerReport } from '../../src/governor/ledger.ts';
import { LEDGER } from '../../src/governor/ledger.ts';
import { type OpenGovernor, redisGovernor } from '../../src/governor/governor.ts';
import { type KeptLimits, MemoryLedger } from '../../src/governor/memory-ledger.ts';
import { ACCOUNT_KEYS, runGrantScript } from '../../src/governor/redis/redis-ledger.ts';
import { ProviderPermits } from '../../src/governor/provider-permits.ts';
import { RedisConnection } from '../../src/streams/redis/redis-connection.ts';
import { ProgramProcess } from '../processes/program-process.ts';
import { REDIS_MISSING, redisProgram, RedisServer } from '../streams/redis-server.ts';
import type { HoldingSetting } from './holding-process.ts';
import { KEPT, PlayedProcess, QUIET, STEPS } from './ledgers.ts';
import { propertyRuns } from '../property-runs.ts';

const LIMITS = {
  requestsPerMinute: 1_200,
  tokensPerMinute: 1e12,
  concurrency: 1e12,
  learn: true,
  share: 'tenant' as const,
  holdSlotMs: 5_000,
};
const HOLDING = fileURLToPath(new URL('./holding-process.ts', import.meta.url));
/** The key with the workers that share the limit of the killed one. */
const KILLED_WORKERS = 'killed:governor:{held}:workers';
/** How long a busy machine may take until something that must come is there. */
const WAITS = { timeout: 15_000 };

describe.skipIf(redisProgram === undefined)(`the ledger in Redis${REDIS_MISSING}`, () => {
  let server: RedisServer;
  let connection: RedisConnection;
  let count = 0;
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

  /** A ledger whose time the test sets. */
  function scripted(limits: KeptLimits): (report: LedgerReport, now: number) => Promise<LedgerAnswer> {
    count += 1;
    const keys = ACCOUNT_KEYS.map((part) => `test:{${count}}:${part}`);
    const text = JSON.stringify(limits);
    return (report, now) => runGrantScript((args) => connection.send(args), keys, { report, limits: text, now });
  }

  test('never grants more than the limits, whoever reports when, and answers as the ledger in memory does', async () => {
    await fc.assert(
      fc.asyncProperty(KEPT, STEPS, async (limits, steps) => {
        let now = 1_000_000;
        const memory = new MemoryLedger(limits, () => now);
        const redis = scripted(limits);
        const processes = new Map<number, PlayedProcess>();
        const grants: { at: number; count: number }[] = [];
        for (const [index, step] of steps.entries()) {
          now += step.afterMs;
          const known = processes.get(step.process);
          const process = known ?? new PlayedProcess(`p${step.process}-${index}`);
          processes.set(step.process, process);
          if (step.dies) {
            processes.delete(step.process);
            continue;
          }
          const report = process.report(step, now);
          const answer = await redis(report, now);
          expect(answer).toEqual(memory.exchangeNow(report));
          process.take(answer.granted, answer.lent);
          grants.push({ at: now, count: answer.granted.reduce((sum, one) => sum + one, answer.lent) - report.returned });
          // Over every span of time, at most the saved and the newly freed permits.
          let total = 0;
          const perMinute = limits.requestsPerMinute;
          const most = Math.max(1 + perMinute * LEDGER.betweenReports, perMinute * LEDGER.savedRequests);
          for (const { at, count: granted } of grants.toReversed()) {
            total += granted;
            expect(total).toBeLessThanOrEqual(most + (perMinute * (now - at)) / 60_000 + 1e-6 + returnedWithin(grants, at));
          }
        }
      }),
      { numRuns: propertyRuns(150) },
    );
  }, 60_000);

  test('answers as the ledger in memory does if so many tenants have parked calls that they are counted together', async () => {
    const limits = { requestsPerMinute: 600, tokensPerMinute: 1e12, concurrency: 1e12 };
    let now = 1_000_000;
    const memory = new MemoryLedger(limits, () => now);
    const redis = scripted(limits);
    const tenants = LEDGER.mostTenants + 50;
    const placed = Array.from({ length: 2 * tenants }, (_, index) => ({
      call: `t${index % tenants} c${index}`,
      priority: 3,
      since: now + index,
    }));
    const waiting = ['t3', 't7', 'new'].map((tenant) => ({ tenant, priority: 3, since: now, count: 5, tokens: 0 }));
    const places = ['t3', 't7', 'new'].map((tenant) => ({ call: `${tenant} mine`, priority: 3, since: now + 1_000 }));
    const parked = placed.map((call) => ({ ...call, forMs: 20_000 }));
    let ahead: number[] = [];
    for (const [process, over] of [
      ['p0', { parked }],
      ['p1', { waiting }],
      ['p1', { waiting, places }],
    ] as const) {
      now += 20;
      const report = { ...QUIET, process, ...over };
      const answer = await redis(report, now);
      expect(answer).toEqual(memory.exchangeNow(report));
      ahead = answer.ahead;
    }
    // A third call of a tenant waits for calls of each of the others.
    expect(ahead).toHaveLength(places.length);
    expect(Math.min(...ahead)).toBeGreaterThanOrEqual(tenants - 1);
  });

  test('a process that ends with permits blocks the others for less than a second', async () => {
    const exchange = scripted({ requestsPerMinute: 1e6, tokensPerMinute: 1e12, concurrency: 8 });
    const waiting = [{ tenant: 't', priority: 3, since: 0, count: 8, tokens: 0 }];
    expect((await exchange({ ...QUIET, process: 'dead', waiting }, 0)).granted).toEqual([8]);
    expect((await exchange({ ...QUIET, process: 'alive', waiting }, 500)).granted).toEqual([0]);
    expect((await exchange({ ...QUIET, process: 'alive', waiting }, 1_000)).granted).toEqual([8]);
  });

  test('a tenant with many calls gets no more than a tenant with few, and low priorities and old calls come first', async () => {
    const exchange = scripted({ requestsPerMinute: 600, tokensPerMinute: 1e12, concurrency: 1e12 });
    const groups = [
      { tenant: 'many', priority: 3, since: -9_000, count: 500, tokens: 0 },
      { tenant: 'few', priority: 3, since: -10, count: 500, tokens: 0 },
      { tenant: 'few', priority: 1, since: 0, count: 2, tokens: 0 },
    ];
    const granted = [0, 0, 0];
    for (let now = 0; now < 4_000; now += 100) {
      const waiting = groups.map((group, index) => ({ ...group, count: group.count - (granted[index] ?? 0) }));
      const answer = await exchange({ ...QUIET, waiting }, now);
      for (const [index, amount] of answer.granted.entries()) granted[index] = (granted[index] ?? 0) + amount;
    }
    const [many = 0, few = 0, first = 0] = granted;
    expect(first).toBe(2);
    expect(Math.abs(many - few - first)).toBeLessThanOrEqual(1);
    expect(many + few + first).toBeGreaterThan(40);
  });

  test('past service to a tenant no longer counts after a minute', async () => {
    const exchange = scripted({ requestsPerMinute: 600, tokensPerMinute: 1e12, concurrency: 1e12 });
    const ask = async (tenants: readonly string[], now: number): Promise<number[]> => {
      const waiting = tenants.map((tenant) => ({ tenant, priority: 3, since: 0, count: 100, tokens: 0 }));
      return (await exchange({ ...QUIET, waiting }, now)).granted;
    };
    await ask(['served', 'other'], 0);
    for (let now = 1_000; now <= 10_000; now += 100) await ask(['served'], now);
    // Soon afterwards, all permits are for the other one.
    expect(await ask(['served', 'other'], 11_000)).toEqual([0, 5]);
    const [served = 0, other = 0] = await ask(['served', 'other'], 71_100);
    expect(Math.abs(served - other)).toBeLessThanOrEqual(1);
    expect(served + other).toBe(5);
  });

  describe('as the governor of workers', () => {
    let opened: OpenGovernor[] = [];
    afterEach(() => {
      for (const one of opened) one.close();
      opened = [];
    });

    function open(prefix: string): { ledger: Ledger; lines: string[] } {
      const lines: string[] = [];
      const governor = redisGovernor({ url: server.url, prefix }).open({ log: (line) => lines.push(line) });
      opened.push(governor);
      return { ledger: governor.ledger('anthropic', LIMITS), lines };
    }

    test('workers whose clocks differ share one limit', async () => {
      const waiting = [{ tenant: 't', priority: 3, since: 0, count: 100, tokens: 0 }];
      const [one, other] = [open('skew'), open('skew')];
      await vi.waitUntil(async () => (await one.ledger.exchange({ ...QUIET, process: 'one' })).workers === 1, WAITS);
      let granted = 0;
      const began = performance.now();
      vi.useFakeTimers({ toFake: ['Date'] });
      try {
        for (let round = 0; round < 30; round += 1) {
          vi.setSystemTime(Date.now() + (round % 2 === 0 ? 5_000 : -5_000));
          const asking = round % 2 === 0 ? one : other;
          const answer = await asking.ledger.exchange({ ...QUIET, process: round % 2 === 0 ? 'one' : 'other', waiting });
          granted += answer.granted[0] ?? 0;
        }
      } finally {
        vi.useRealTimers();
      }
      expect(granted).toBeLessThanOrEqual(10 + (1_200 * (performance.now() - began)) / 60_000 + 1);
    });

    test('a worker that is killed with all permits gives them back within a second: the calls of another get them', async () => {
      const limits = { ...LIMITS, requestsPerMinute: 60_000, concurrency: 8 };
      const setting: HoldingSetting = { url: server.url, prefix: 'killed', limits, calls: 8 };
      const holding = new ProgramProcess<never, { type: 'ready' }>(HOLDING, setting);
      await holding.start();
      const governor = redisGovernor({ url: server.url, prefix: 'killed' }).open({ log: () => undefined });
      opened.push(governor);
      const nothing = (): void => undefined;
      const permits = new ProviderPermits(limits, governor.ledger('held', limits), { granted: nothing, refused: nothing, held: nothing });
      const wait = { holdMs: 30_000, signal: new AbortController().signal };
      let granted = 0;
      const calls = Array.from({ length: 8 }, async (_, index) => {
        await permits.acquire({ call: `mine${index}`, tenant: 't', priority: 3, since: 0, isBack: false, tokens: 0 }, wait);
        granted += 1;
      });
      // They wait as long as the process lives: it reports repeatedly that it has all permits.
      const first = await untilOf(server, KILLED_WORKERS);
      await vi.waitUntil(async () => (await untilOf(server, KILLED_WORKERS)) > first + 1_000, WAITS);
      expect(granted).toBe(0);
      await holding.end('SIGKILL');
      // By the clock of Redis, which counts its permits.
      const killedAt = await timeOf(server);
      expect((await untilOf(server, KILLED_WORKERS)) - killedAt).toBeLessThan(1_000);
      await Promise.all(calls);
      expect(granted).toBe(8);
      await permits.close();
    });

    test('while Redis is away each worker takes its share, reports that once, and returns by itself', async () => {
      const waiting = [{ tenant: 't', priority: 3, since: 0, count: 100, tokens: 0 }];
      const [one, other] = [open('away'), open('away')];
      await vi.waitUntil(async () => {
        await other.ledger.exchange({ ...QUIET, process: 'other' });
        return (await one.ledger.exchange({ ...QUIET, process: 'one' })).workers === 2;
      }, WAITS);
      await server.kill();
      try {
        await vi.waitUntil(async () => {
          await one.ledger.exchange({ ...QUIET, process: 'one', waiting });
          return one.lines.some((line) => line.startsWith('governor.degraded'));
        }, WAITS);
        expect((await one.ledger.exchange({ ...QUIET, process: 'one', waiting })).requestsPerMinute).toBe(600);
        expect(one.lines.filter((line) => line.startsWith('governor.degraded'))).toEqual([
          expect.stringMatching(/Redis at "127\.0\.0\.1:\d+" cannot be used.*one of 2 parts/),
        ]);
      } finally {
        await server.start();
      }
      await vi.waitUntil(async () => {
        await other.ledger.exchange({ ...QUIET, process: 'other' });
        return (await one.ledger.exchange({ ...QUIET, process: 'one', waiting })).requestsPerMinute === 1_200;
      }, WAITS);
      expect(one.lines.at(-1)).toMatch(/^governor\.recovered/);
    });
  });
});

/** Permits that were given back have been granted before the span, and may be granted again within it. */
function returnedWithin(grants: readonly { at: number; count: number }[], since: number): number {
  return grants.filter(({ at, count }) => at >= since && count < 0).reduce((sum, { count }) => sum - count, 0);
}

/** Returns the time until which Redis believes the last word of the worker that holds permits, in milliseconds. */
async function untilOf(server: RedisServer, key: string): Promise<number> {
  const workers = await server.use((client) => client.hGetAll(key));
  const known = Object.values(workers).map((worker) => JSON.parse(worker) as { untilAt: number; inFlight: number });
  return known.find(({ inFlight }) => inFlight > 0)?.untilAt ?? 0;
}

/** Returns the time of a Redis in milliseconds. */
async function timeOf(server: RedisServer): Promise<number> {
  const [seconds, microseconds] = (await server.use((client) => client.sendCommand(['TIME']))) as [string, string];
  return Number(seconds) * 1_000 + Number(microseconds) / 1_000;
}
