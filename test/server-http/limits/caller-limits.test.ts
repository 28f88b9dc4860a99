import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { errorCode, UsageError } from '../../../src/core/domain/errors.ts';
import type { Caller } from '../../../src/server/auth/caller.ts';
import { type CallerLimitOptions, CallerLimits, requireAdmission, TooManyRequestsError } from '../../../src/server/limits.ts';

const ADA: Caller = { id: 'k1', principal: { tenant: 'acme', user: 'ada' }, scopes: ['runs:read'] };
const BOB: Caller = { ...ADA, principal: { tenant: 'acme', user: 'bob' } };
const ALLOWED = { allowed: true };

/** Limits by a clock that the test moves. */
function limitsAt(options: CallerLimitOptions): { limits: CallerLimits; clock: { ms: number } } {
  const clock = { ms: 1_000 };
  return { limits: new CallerLimits(options, () => clock.ms), clock };
}

describe('the requests of a caller', () => {
  it('may come all at once, and are then restored evenly', () => {
    const { limits, clock } = limitsAt({ requests: { count: 3, per: '30s' } });
    for (let index = 0; index < 3; index += 1) expect(limits.request(ADA)).toEqual(ALLOWED);
    expect(limits.request(ADA)).toEqual({ allowed: false, limit: 'requests', retryAfter: 10 });
    clock.ms += 9_001;
    expect(limits.request(ADA)).toEqual({ allowed: false, limit: 'requests', retryAfter: 1 });
    clock.ms += 999;
    expect(limits.request(ADA)).toEqual(ALLOWED);
    expect(limits.request(ADA)).toMatchObject({ allowed: false });
    clock.ms += 3_600_000;
    for (let index = 0; index < 3; index += 1) expect(limits.request(ADA)).toEqual(ALLOWED);
    expect(limits.request(ADA)).toMatchObject({ allowed: false });
  });

  it('are counted for each principal, or else for each caller, and apart from starts', () => {
    const { limits } = limitsAt({ requests: { count: 1, per: '1m' }, starts: { count: 1, per: '1m' } });
    const operator: Caller = { ...ADA, principal: 'all' };
    for (const caller of [ADA, BOB, { ...ADA, principal: { user: 'ada' } }, operator, { ...operator, id: 'k2' }]) {
      expect(limits.request(caller)).toEqual(ALLOWED);
      expect(limits.start(caller)).toEqual(ALLOWED);
      expect(limits.request({ ...caller, runId: 'r1' })).toMatchObject({ limit: 'requests' });
      expect(limits.start(caller)).toMatchObject({ limit: 'starts' });
    }
    // Another key of the same user is not another caller.
    expect(limits.request({ ...ADA, id: 'k2' })).toMatchObject({ limit: 'requests' });
  });

  it('are never more than the rate and its burst, at any times', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 5_000 })), fc.integer({ min: 1, max: 20 }), (pauses, count) => {
        const { limits, clock } = limitsAt({ requests: { count, per: '10s' } });
        const start = clock.ms;
        let allowed = 0;
        for (const pause of pauses) {
          clock.ms += pause;
          if (limits.request(ADA).allowed) allowed += 1;
        }
        expect(allowed).toBeLessThanOrEqual(count + ((clock.ms - start) * count) / 10_000);
      }),
    );
  });

  it('may come again after the time in the refusal', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_000 }), fc.integer({ min: 1, max: 3_600_000 }), (count, per) => {
        const { limits, clock } = limitsAt({ requests: { count, per } });
        for (let index = 0; index < count; index += 1) limits.request(ADA);
        const refused = limits.request(ADA);
        clock.ms += refused.allowed ? 0 : refused.retryAfter * 1_000;
        expect([refused.allowed, limits.request(ADA).allowed]).toEqual([false, true]);
      }),
    );
  });

  it('do not come back by a clock that goes back', () => {
    const { limits, clock } = limitsAt({ requests: { count: 1, per: '1s' } });
    limits.request(ADA);
    clock.ms -= 60_000;
    expect(limits.request(ADA)).toMatchObject({ allowed: false, retryAfter: 1 });
    clock.ms += 1_000;
    expect(limits.request(ADA)).toEqual(ALLOWED);
  });

  it('of callers that have not called for the longest time are forgotten', () => {
    const { limits } = limitsAt({ requests: { count: 1, per: '1m' }, callers: 2 });
    for (const id of ['a', 'b', 'c']) expect(limits.request({ id, principal: 'all', scopes: [] })).toEqual(ALLOWED);
    expect(limits.request({ id: 'c', principal: 'all', scopes: [] })).toMatchObject({ allowed: false });
    expect(limits.request({ id: 'a', principal: 'all', scopes: [] })).toEqual(ALLOWED);
  });

  it('are unlimited if the limit is off', () => {
    const { limits } = limitsAt({ requests: false, starts: false, streams: false });
    const answers = Array.from({ length: 20_000 }, () => [limits.request(ADA), limits.start(ADA), limits.stream(ADA)]).flat();
    expect(answers.filter(({ allowed }) => !allowed)).toEqual([]);
  });
});

describe('the streams of a caller', () => {
  it('are open at the same time up to the limit, each counted once', () => {
    const { limits } = limitsAt({ streams: 2 });
    const first = limits.stream(ADA);
    expect([first.allowed, limits.stream(ADA).allowed]).toEqual([true, true]);
    expect(limits.stream(ADA)).toEqual({ allowed: false, limit: 'streams', retryAfter: 5 });
    expect(limits.stream(BOB).allowed).toBe(true);
    if (first.allowed) for (let index = 0; index < 3; index += 1) first.close();
    expect([limits.stream(ADA).allowed, limits.stream(ADA).allowed]).toEqual([true, false]);
  });
});

describe('a refusal by a limit', () => {
  it('is an error that says when to try again', () => {
    expect(() => requireAdmission({ allowed: true })).not.toThrow();
    const refuse = (): void => requireAdmission({ allowed: false, limit: 'starts', retryAfter: 7 });
    expect(refuse).toThrow('its limit of "starts": try again after 7 seconds');
    expect(errorCode(new TooManyRequestsError('starts', 7))).toBe('too_many_requests');
    expect(new TooManyRequestsError('starts', 7).parts).toEqual({ retryAfterSeconds: 7 });
  });
});

describe('the options of limits', () => {
  it.each<[string, CallerLimitOptions]>([
    ['requests.count', { requests: { count: 0, per: '1m' } }],
    ['requests.count', { requests: { count: 1.5, per: '1m' } }],
    ['starts.per', { starts: { count: 1, per: 'soon' as '1m' } }],
    ['streams', { streams: -1 }],
    ['callers', { callers: Number.NaN }],
  ])('refuse an invalid limit: %s', (name, options) => {
    expect(() => new CallerLimits(options)).toThrow(UsageError);
    expect(() => new CallerLimits(options)).toThrow(`"${name}"`);
  });
});
