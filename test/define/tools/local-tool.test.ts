import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../../src/define/define-tool.ts';
import { UsageError } from '../../../src/core/domain/errors.ts';

const BASE = { name: 'look', description: 'Looks', parameters: z.object({}), tier: 'local', execute: () => '' } as const;

test('a local tool has less time and shorter waits than a remote one', () => {
  expect(defineTool(BASE).policy).toEqual({ timeoutMs: 5_000, maxAttempts: 3, tier: 'local' });
  expect(defineTool({ ...BASE, timeout: '10s' }).policy.timeoutMs).toBe(10_000);
  expect(defineTool({ ...BASE, backoff: { initial: 5 } }).policy.backoff).toEqual({ initialMs: 5, factor: 2, maxMs: 1_000 });
});

test('a local tool may wait for approval', () => {
  expect(defineTool({ ...BASE, approval: 'always' })).toMatchObject({ policy: { tier: 'local' }, approval: { when: 'always' } });
});

test.each([
  [
    'an effect that happens once',
    { effect: 'once' },
    'tool "look" has "tier": "local" and "effect": "once": a local call runs again whenever the task of its workflow does. Write "tier": "remote", or leave it out',
  ],
  ['a bound on heartbeats', { heartbeatTimeout: '5s' }, '"tier": "local" and "heartbeatTimeout": a local call has no heartbeats'],
  ['a task queue', { taskQueue: 'gpu' }, '"tier": "local" and "taskQueue": a local call runs where its workflow does'],
  [
    'a long timeout',
    { timeout: '11s' },
    'tool "look": "timeout" is 11000 ms, but a local tool may take at most 10000: write "tier": "remote"',
  ],
  ['long waits', { backoff: { max: '1m' } }, '"backoff.max" is 60000 ms, but a local tool holds the task of its workflow'],
  ['an unknown tier', { tier: 'near' }, 'tool "look": "tier" is "near": write "remote" or "local"'],
] as const)('a local tool with %s is refused', (_, options, message) => {
  const define = (): unknown => defineTool({ ...BASE, ...(options as object) });
  expect(define).toThrow(UsageError);
  expect(define).toThrow(message);
});
