import { describe, expect, test } from 'vitest';
import { Pace } from '../../../activities/model-calls/patience.ts';

/** A provider that counts requests in the second before each. */
interface Provider {
  perSecond: number;
  /** How it counts: in any second, by the second of a clock, or by tokens that are refilled one at a time. */
  counts: 'sliding' | 'fixed' | 'bucket';
  /** The wait that it asks for, in milliseconds. */
  asks: number | undefined;
  /** The time that it takes for a refusal, and for an answer. */
  refusalMs: number;
  answerMs: number;
}

interface Outcome {
  /** The times of all requests. */
  sent: number[];
  refused: number;
  /** The runs that have made all their calls. */
  completed: number;
  /** The time until all were made. */
  tookMs: number;
  /** The longest time that a call waited. */
  attempts: number;
}

/** A random source that a test can repeat. */
function seeded(seed: number): () => number {
  let state = seed * 2_654_435_761 + 1;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
}

/** Runs that begin together, each with some calls, against a provider, in simulated time. Calls come back late by up to 50 ms. */
function simulate(runs: number, calls: number, provider: Provider, seed: number): Outcome {
  const random = seeded(seed);
  let now = 0;
  const events: { at: number; run: () => void }[] = [];
  const later = (ms: number, run: () => void): unknown => events.push({ at: now + ms, run });
  const pace = new Pace({ now: () => now, random });
  const outcome: Outcome = { sent: [], refused: 0, completed: 0, tookMs: 0, attempts: 0 };
  const accepted: number[] = [];
  let tokens = provider.perSecond;
  let refilledAt = 0;
  const accepts = (): boolean => {
    if (provider.counts === 'bucket') {
      tokens = Math.min(provider.perSecond, tokens + ((now - refilledAt) / 1_000) * provider.perSecond);
      refilledAt = now;
      if (tokens < 1) return false;
      tokens -= 1;
      return true;
    }
    const from = provider.counts === 'sliding' ? now - 1_000 : Math.floor(now / 1_000) * 1_000 - 1;
    if (accepted.filter((at) => at > from).length >= provider.perSecond) return false;
    accepted.push(now);
    return true;
  };
  const call = (run: number, left: number): void => {
    const id = `${run}/${left}`;
    const wait = pace.waitFor(id);
    if (wait > 0) {
      later(wait + random() * 50, () => call(run, left));
      return;
    }
    const sentAt = now;
    outcome.sent.push(now);
    if (accepts()) {
      later(provider.answerMs * (0.5 + random()), () => {
        pace.answered(sentAt);
        if (left > 1) later(random() * 20, () => call(run, left - 1));
        else outcome.completed += 1;
        outcome.tookMs = now;
      });
    } else {
      outcome.refused += 1;
      later(provider.refusalMs * (0.5 + random()), () => {
        later(pace.refused(id, sentAt, provider.asks) + random() * 50, () => call(run, left));
      });
    }
  };
  for (let run = 0; run < runs; run += 1) later(random() * 30, () => call(run, calls));
  for (let steps = 0; events.length > 0 && steps < 100_000; steps += 1) {
    events.sort((one, other) => one.at - other.at);
    const next = events.shift();
    now = next?.at ?? now;
    next?.run();
  }
  return outcome;
}

function mostInASecond(times: readonly number[]): number {
  return Math.max(0, ...times.map((from) => times.filter((at) => at >= from && at < from + 1_000).length));
}

const SEEDS = Array.from({ length: 25 }, (_, index) => index + 1);
const USUAL: Provider = { perSecond: 3, counts: 'sliding', asks: undefined, refusalMs: 10, answerMs: 40 };

describe('thirty runs at once against three requests a second', () => {
  describe.each([1, 2, 3])('with %i calls each', (calls) => {
    test.each<[what: string, provider: Partial<Provider>]>([
      ['with Retry-After: 1', { asks: 1_000 }],
      ['without Retry-After', {}],
      ['with Retry-After: 1, counted by the clock', { asks: 1_000, counts: 'fixed' }],
      ['without Retry-After, counted by the clock', { counts: 'fixed' }],
      ['with Retry-After: 1, counted by tokens', { asks: 1_000, counts: 'bucket' }],
      ['without Retry-After, counted by tokens', { counts: 'bucket' }],
      ['with Retry-After: 1 and slow answers', { asks: 1_000, answerMs: 3_000 }],
      ['without Retry-After, with slow answers', { answerMs: 3_000, refusalMs: 200 }],
      ['with Retry-After: 5', { asks: 5_000 }],
      ['with Retry-After-Ms: 200', { asks: 200 }],
    ])('all complete with at most twice the requests, and not in waves: %s', (_, changes) => {
      for (const seed of SEEDS) {
        const { sent, completed, tookMs } = simulate(30, calls, { ...USUAL, ...changes }, seed);
        const needed = 30 * calls;
        expect(completed).toBe(30);
        expect(sent.length).toBeLessThanOrEqual(2 * needed);
        // The runs begin together: what comes after the first wave is spread.
        const afterwards = sent.filter((at) => at > 500);
        expect(mostInASecond(afterwards)).toBeLessThanOrEqual(4);
        // Half of what the provider would have taken.
        expect(tookMs).toBeLessThan((2 * needed * 1_000) / 3 + 2 * (changes.asks ?? 1_000) + 3 * (changes.answerMs ?? 40) + 5_000);
      }
    });
  });
});

describe('other limits', () => {
  test.each<[what: string, runs: number, provider: Partial<Provider>]>([
    ['one a second', 20, { perSecond: 1 }],
    ['one a second, which asks', 20, { perSecond: 1, asks: 1_000 }],
    ['ten a second', 100, { perSecond: 10 }],
    ['fifty a second', 300, { perSecond: 50, asks: 1_000 }],
    ['one that no one reaches', 30, { perSecond: 100 }],
  ])('all complete: %s', (_, runs, changes) => {
    for (const seed of SEEDS.slice(0, 8)) {
      const { sent, completed, tookMs } = simulate(runs, 1, { ...USUAL, ...changes }, seed);
      expect(completed).toBe(runs);
      expect(sent.length).toBeLessThanOrEqual(2.5 * runs);
      expect(tookMs).toBeLessThan(600_000);
    }
  });
});

describe('a pace', () => {
  const pace = (): { pace: Pace; clock: { now: number } } => {
    const clock = { now: 1_000 };
    return { clock, pace: new Pace({ now: () => clock.now, random: () => 0 }) };
  };

  test('lets every call through as long as nothing was refused', () => {
    const { pace: free } = pace();
    for (let call = 0; call < 1_000; call += 1) {
      expect(free.waitFor(`c${call}`)).toBe(0);
      free.answered(1_000);
    }
  });

  test('gives refused calls successive places, and other calls a place after them', () => {
    const { pace: busy } = pace();
    expect(['a', 'b', 'c'].map((call) => busy.refused(call, 1_000, undefined))).toEqual([1_000, 1_400, 1_800]);
    expect(busy.waitFor('d')).toBe(2_200);
    expect(busy.waitFor('d')).toBe(2_200);
  });

  test('says how long a call would wait, without giving it a place', () => {
    const { pace: busy, clock } = pace();
    expect(busy.waitOf('a')).toBe(0);
    busy.refused('a', 1_000, undefined);
    expect([busy.waitOf('b'), busy.waitOf('b'), busy.waiting]).toEqual([1_400, 1_400, 1]);
    clock.now = 2_000;
    expect([busy.waitOf('a'), busy.waitOf('b')]).toEqual([0, 400]);
  });

  test('waits at least as long as the provider asks', () => {
    const { pace: busy } = pace();
    expect(['a', 'b'].map((call) => busy.refused(call, 1_000, 5_000))).toEqual([5_000, 5_400]);
    expect(busy.waitFor('c')).toBe(5_800);
  });

  test('puts a refused probe in front again, and all others after its longer pause', () => {
    const { pace: busy, clock } = pace();
    for (const call of ['a', 'b', 'c']) busy.refused(call, 1_000, undefined);
    clock.now = 2_001;
    expect(busy.waitFor('a')).toBe(0);
    clock.now = 2_010;
    expect(busy.refused('a', 2_001, undefined)).toBe(2_000);
    expect(busy.spacingMs).toBe(600);
    expect(busy.waitFor('b')).toBe(2_600);
    expect(busy.waitFor('c')).toBe(3_200);
  });

  test('begins with the rate that has just worked', () => {
    const { pace: quick } = pace();
    for (let call = 0; call < 50; call += 1) quick.answered(1_000);
    quick.refused('a', 1_000, undefined);
    expect(quick.spacingMs).toBe(25);
  });

  test('is over ten seconds after the last refusal, once no one waits', () => {
    const { pace: busy, clock } = pace();
    busy.refused('a', 1_000, undefined);
    clock.now = 2_000;
    expect(busy.waitFor('a')).toBe(0);
    expect(busy.waitFor('b')).toBe(400);
    clock.now = 2_400;
    expect(busy.waitFor('b')).toBe(0);
    clock.now = 12_000;
    expect(['c', 'd', 'e'].map((call) => busy.waitFor(call))).toEqual([0, 0, 0]);
  });

  test('gives up the places of calls that do not come back', () => {
    const { pace: busy, clock } = pace();
    for (let call = 0; call < 20; call += 1) busy.refused(`c${call}`, 1_000, undefined);
    expect(busy.waiting).toBe(20);
    clock.now = 30_000;
    expect(busy.waitFor('new')).toBe(0);
    expect(busy.waiting).toBe(0);
  });

  test('keeps at most a thousand places, for at most two minutes', () => {
    const { pace: busy } = pace();
    const waits = Array.from({ length: 5_000 }, (_, call) => busy.refused(`c${call}`, 1_000, undefined));
    expect(busy.waiting).toBeLessThanOrEqual(1_000);
    expect(Math.max(...waits)).toBeLessThanOrEqual(130_000);
  });
});
