import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { errorCode } from '../../../src/core/domain/errors.ts';
import { untilExpiry } from '../../../src/server/streams.ts';

const YEAR_MS = 365 * 24 * 3_600_000;

beforeEach(() => void vi.useFakeTimers({ now: 1_000_000 }));
afterEach(() => void vi.useRealTimers());

describe('the signal of a stream', () => {
  it('is aborted when the credentials expire', () => {
    const signal = untilExpiry({ expiresAt: 1_005_000 }, new AbortController().signal);
    vi.advanceTimersByTime(4_999);
    expect(signal.aborted).toBe(false);
    vi.advanceTimersByTime(1);
    expect(errorCode(signal.reason)).toBe('unauthenticated');
    expect(vi.getTimerCount()).toBe(0);
  });

  it('waits longer than a timer can', () => {
    const signal = untilExpiry({ expiresAt: 1_000_000 + YEAR_MS }, new AbortController().signal);
    vi.advanceTimersByTime(YEAR_MS - 1);
    expect(signal.aborted).toBe(false);
    vi.advanceTimersByTime(1);
    expect(signal.aborted).toBe(true);
  });

  it('is aborted at once if the credentials have expired, or expire at no time', () => {
    for (const expiresAt of [0, 1_000_000, Number.NaN]) {
      expect(errorCode(untilExpiry({ expiresAt }, new AbortController().signal).reason)).toBe('unauthenticated');
    }
  });

  it('is aborted with the signal of the reader, and leaves no timer', () => {
    const reader = new AbortController();
    const signal = untilExpiry({ expiresAt: 1_005_000 }, reader.signal);
    reader.abort('gone');
    expect(signal.reason).toBe('gone');
    expect(vi.getTimerCount()).toBe(0);
    expect(untilExpiry({ expiresAt: 1_005_000 }, reader.signal).reason).toBe('gone');
    expect(vi.getTimerCount()).toBe(0);
  });

  it("is the reader's signal for credentials that do not expire", () => {
    const { signal } = new AbortController();
    expect(untilExpiry({}, signal)).toBe(signal);
  });
});
