import { afterEach, describe, expect, test, vi } from 'vitest';
import type { LedgerReport } from '../../src/governor/ledger.ts';
import { checkLimits } from '../../src/governor/limits.ts';
import { MemoryLedger } from '../../src/governor/memory-ledger.ts';
import { type GovernedRequest, type Granted, type Permit, ProviderPermits } from '../../src/governor/provider-permits.ts';
import { memoryGovernor, redisGovernor } from '../../src/governor/governor.ts';
import { WorkerGovernor } from '../../activities/governor/worker-governor.ts';

const NO_METER = { granted: () => undefined, refused: () => undefined, held: () => undefined };
const WAIT = { holdMs: 60_000, signal: new AbortController().signal };

/** A ledger that records its requests. */
class NotedLedger extends MemoryLedger {
  readonly reports: LedgerReport[] = [];

  override exchange(report: LedgerReport): ReturnType<MemoryLedger['exchange']> {
    this.reports.push(report);
    return super.exchange(report);
  }
}

function opened(given: Parameters<typeof checkLimits>[0][string]): { permits: ProviderPermits; ledger: NotedLedger } {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  const limits = checkLimits({ p: given }, ['p']).get('p');
  if (limits === undefined) throw new Error('no limits');
  const ledger = new NotedLedger(limits);
  return { permits: new ProviderPermits(limits, ledger, NO_METER), ledger };
}

let calls = 0;
function call(over: Partial<GovernedRequest> = {}): GovernedRequest {
  calls += 1;
  return { call: `c${calls}`, tenant: 't', priority: 3, since: performance.now(), isBack: false, tokens: 0, ...over };
}

function permitOf(granted: Granted | undefined): Permit {
  if (granted?.type !== 'permit') throw new Error(`no permit: ${JSON.stringify(granted)}`);
  return granted.permit;
}

/** Settles a promise by letting time pass. */
async function after<Value>(ms: number, promise: Promise<Value>): Promise<Value | undefined> {
  let value: Value | undefined;
  void promise.then((given) => (value = given));
  await vi.advanceTimersByTimeAsync(ms);
  return value;
}

afterEach(() => {
  vi.useRealTimers();
});

describe('the permits of a provider', () => {
  test('a call that finds a lent permit asks nobody, and idle permits are returned: then there are no more requests', async () => {
    const { permits, ledger } = opened({ requestsPerMinute: 60_000 });
    permitOf(await after(1, permits.acquire(call(), WAIT))).settle(0);
    expect(ledger.reports).toHaveLength(1);
    permitOf(await permits.acquire(call(), WAIT)).settle(0);
    expect(ledger.reports).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(10_000);
    const asked = ledger.reports.length;
    expect(ledger.reports.at(-1)).toMatchObject({ lent: 0, waiting: [], wanted: 0 });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(ledger.reports).toHaveLength(asked);
  });

  test('calls get permits at the rate of the limit, the oldest of the lowest priority first', async () => {
    const { permits } = opened({ requestsPerMinute: 60 });
    const order: string[] = [];
    const take = (name: string, over: Partial<GovernedRequest>): void => {
      void permits.acquire(call(over), WAIT).then(() => order.push(name));
    };
    take('first', {});
    await vi.advanceTimersByTimeAsync(10);
    take('young', {});
    take('old', { since: -9_000 });
    take('urgent', { priority: 1 });
    await vi.advanceTimersByTimeAsync(500);
    expect(order).toEqual(['first']);
    await vi.advanceTimersByTimeAsync(3_000);
    expect(order).toEqual(['first', 'urgent', 'old', 'young']);
  });

  test('a call that would wait too long is told for how long, which includes the calls that already wait', async () => {
    const { permits } = opened({ requestsPerMinute: 60 });
    await after(10, permits.acquire(call(), WAIT));
    for (let index = 0; index < 8; index += 1) permits.park(call(), 8_000);
    await vi.advanceTimersByTimeAsync(50);
    const granted = await after(50, permits.acquire(call(), { ...WAIT, holdMs: 5_000 }));
    // The next permit comes a second after the first one, and eight of them go to the parked calls.
    expect(granted).toMatchObject({ type: 'wait', waitMs: expect.toSatisfy((ms: number) => ms > 8_500 && ms <= 9_000) });
  });

  test('a call that leaves comes back before its turn, and one whose turn is near stays', async () => {
    const { permits } = opened({ requestsPerMinute: 60 });
    const slot = { ...WAIT, holdMs: 4_000, backMs: 2_000 };
    const ends = Array.from({ length: 8 }, () => permits.acquire(call(), slot));
    await vi.advanceTimersByTimeAsync(100);
    const left = (await Promise.all(ends.slice(5))).map((granted) => (granted.type === 'wait' ? granted.waitMs - granted.awayMs : 0));
    expect(left).toEqual([2_000, 2_000, 2_000]);
    // It would have been the last one to get a permit within its time, and calls of another tenant come first.
    const others = [1, 2].map(() => permits.acquire(call({ tenant: 'other' }), slot));
    await vi.advanceTimersByTimeAsync(6_000);
    expect((await Promise.all([...ends.slice(0, 5), ...others])).map(({ type }) => type)).toEqual(
      Array.from({ length: 7 }, () => 'permit'),
    );
  });

  test('the next calls stay if nobody knows when their turn is, because calls that end make room', async () => {
    const { permits } = opened({ concurrency: 2 });
    const slot = { ...WAIT, holdMs: 1_000, backMs: 500, nextHoldMs: 60_000 };
    const made = [1, 2].map(() => permits.acquire(call(), slot));
    await vi.advanceTimersByTimeAsync(20_000);
    const ends = Array.from({ length: 9 }, () => permits.acquire(call(), slot));
    const last = await after(1_500, ends[8]!);
    expect(last).toMatchObject({ type: 'wait', waitMs: expect.toSatisfy((ms: number) => ms >= 80_000) });
    await vi.advanceTimersByTimeAsync(20_000);
    for (const one of made) permitOf(await one).settle(0);
    expect(await after(100, Promise.all(ends.slice(0, 2)))).toMatchObject([{ type: 'permit' }, { type: 'permit' }]);
  });

  test('tokens are reserved by estimate and settled by usage: calls that need more slow the others down', async () => {
    const { permits, ledger } = opened({ tokensPerMinute: 60_000 });
    const permit = permitOf(await after(5, permits.acquire(call({ tokens: 200 }), WAIT)));
    expect(ledger.reports[0]?.waiting).toMatchObject([{ tokens: 700 }]);
    permit.settle(5_600);
    const next = permits.acquire(call({ tokens: 200 }), WAIT);
    expect(await after(3_000, next)).toBeUndefined();
    expect(await after(4_000, next)).toMatchObject({ type: 'permit' });
  });

  test('at most "concurrency" calls at a time', async () => {
    const { permits } = opened({ concurrency: 2 });
    const first = permitOf(await after(5, permits.acquire(call(), WAIT)));
    await after(5, permits.acquire(call(), WAIT));
    const third = permits.acquire(call(), WAIT);
    expect(await after(2_000, third)).toBeUndefined();
    first.settle(0);
    expect(await after(100, third)).toMatchObject({ type: 'permit' });
  });

  test.each([
    ['lowers the rate', true, 560],
    ['leaves the rate alone without "learn"', false, 600],
  ])('a refusal holds all calls, and %s', async (_, learn, most) => {
    const { permits } = opened({ requestsPerMinute: 600, learn });
    permitOf(await after(5, permits.acquire(call(), WAIT))).refused(2_000);
    const next = permits.acquire(call(), WAIT);
    expect(await after(1_900, next)).toBeUndefined();
    expect(await after(300, next)).toMatchObject({ type: 'permit' });
    expect(permits.last?.requestsPerMinute).toBeLessThanOrEqual(most);
    expect(permits.last?.requestsPerMinute).toBeGreaterThan(most - 80);
  });

  test('limits from headers apply if they are below the configured limits', async () => {
    const { permits } = opened({ requestsPerMinute: 600 });
    permitOf(await after(5, permits.acquire(call(), WAIT))).learn({ requestsPerMinute: 120 });
    await after(100, permits.acquire(call(), WAIT));
    expect(permits.last?.requestsPerMinute).toBe(120);
    permitOf(await after(3_000, permits.acquire(call(), WAIT))).learn({ requestsPerMinute: 9_000 });
    await after(3_000, permits.acquire(call(), WAIT));
    expect(permits.last?.requestsPerMinute).toBe(600);
  });

  test('a call that is cancelled while it waits leaves the queue', async () => {
    const { permits, ledger } = opened({ requestsPerMinute: 6 });
    await after(5, permits.acquire(call(), WAIT));
    const stop = new AbortController();
    const waiting = permits.acquire(call(), { ...WAIT, signal: stop.signal });
    await vi.advanceTimersByTimeAsync(50);
    stop.abort(new Error('stopped'));
    await expect(waiting).rejects.toThrow('stopped');
    await vi.advanceTimersByTimeAsync(2_000);
    expect(ledger.reports.at(-1)?.waiting).toEqual([]);
  });
});

test.each<[what: string, options: Parameters<typeof WorkerGovernor.of>[0], message: RegExp]>([
  [
    'a limit below 1',
    { limits: { p: { requestsPerMinute: 0 } } },
    /"limits" of "p": "requestsPerMinute" is 0: write a whole number of at least 1/,
  ],
  ['an unknown provider', { limits: { pp: { concurrency: 2 } } }, /no provider "pp" \(it has: "p"\). Did you mean "p"\?/],
  ['no limit at all', { limits: { p: {} } }, /limit nothing/],
  ['an unknown option', { limits: { p: { rpm: 3 } as never } }, /unknown option "rpm"/],
  ['another share', { limits: { p: { concurrency: 2, share: 'user' as never } } }, /"share" is "user": write "tenant", "agent" or "run"/],
  ['a governor without limits', { governor: memoryGovernor() }, /has "governor" but no "limits"/],
  [
    'something else than a governor',
    { governor: {} as never, limits: { p: { concurrency: 1 } } },
    /write memoryGovernor\(\) or redisGovernor/,
  ],
])('%s is refused when the worker is created', (_, options, message) => {
  expect(() => WorkerGovernor.of(options, { providers: ['p'], telemetry: undefined, log: () => undefined })).toThrow(message);
});

test('an address that is not a Redis address is refused', () => {
  expect(() => redisGovernor({ url: 'http://x' })).toThrow('redisGovernor: "url" is not a Redis address');
});
