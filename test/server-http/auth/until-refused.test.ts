import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { errorCode } from '../../../src/core/domain/errors.ts';
import type { Authenticate, Caller } from '../../../src/server/auth/caller.ts';
import { untilRefused } from '../../../src/server/streams.ts';
import { bearing } from './fake-credentials.ts';

const ADA: Caller = { id: 'k1', principal: { tenant: 'acme' }, scopes: ['runs:read'] };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A stream of Ada's, whose credentials belong to `answer` when they are verified again. */
function streamOf(answer: Authenticate, caller = ADA): { signal: AbortSignal; reader: AbortController; verified: () => number } {
  const reader = new AbortController();
  const authenticate = vi.fn<Authenticate>(answer);
  const signal = untilRefused({ request: bearing('x'), authenticate, caller, signal: reader.signal });
  return { signal, reader, verified: () => authenticate.mock.calls.length };
}

describe('the signal of an open stream', () => {
  it('stays open as long as the credentials are accepted, also if they cannot be verified for a time', async () => {
    let calls = 0;
    const { signal, reader, verified } = streamOf(() => {
      calls += 1;
      if (calls % 2 === 0) throw new Error('the issuer is down');
      return ADA;
    });
    await vi.advanceTimersByTimeAsync(300_000);
    expect([signal.aborted, verified()]).toEqual([false, 10]);
    // Compared at once: files share their process, and others may have timers.
    const timers = vi.getTimerCount();
    reader.abort('gone');
    expect([signal.reason, timers - vi.getTimerCount()]).toEqual(['gone', 1]);
    await vi.advanceTimersByTimeAsync(300_000);
    expect(verified()).toBe(10);
  });

  it.each<[string, Caller | undefined]>([
    ['are revoked', undefined],
    ['belong to another caller', { ...ADA, id: 'k2' }],
    ['belong to another tenant', { ...ADA, principal: { tenant: 'umbrella' } }],
    ['may not read any more', { ...ADA, scopes: ['runs:write'] }],
  ])('is aborted within half a minute if the credentials %s', async (_, caller) => {
    const { signal, verified } = streamOf(() => caller);
    await vi.advanceTimersByTimeAsync(29_999);
    expect(signal.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(errorCode(signal.reason)).toBe('unauthenticated');
    await vi.advanceTimersByTimeAsync(60_000);
    expect(verified()).toBe(1);
  });

  it('asks for the right of its route', async () => {
    const writer: Caller = { ...ADA, scopes: ['runs:write'] };
    const reader = new AbortController();
    const open = { request: bearing('x'), authenticate: () => writer, caller: writer, signal: reader.signal };
    const signal = untilRefused({ ...open, scope: 'runs:write' });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(signal.aborted).toBe(false);
    reader.abort();
  });

  it('is aborted when the credentials expire, and stops verifying them', async () => {
    const { signal, verified } = streamOf(() => ADA, { ...ADA, expiresAt: Date.now() + 5_000 });
    await vi.advanceTimersByTimeAsync(5_000);
    expect(errorCode(signal.reason)).toBe('unauthenticated');
    await vi.advanceTimersByTimeAsync(60_000);
    expect(verified()).toBe(0);
    const timers = vi.getTimerCount();
    expect(streamOf(() => ADA, { ...ADA, expiresAt: 0 }).signal.aborted).toBe(true);
    expect(vi.getTimerCount()).toBe(timers);
  });
});
