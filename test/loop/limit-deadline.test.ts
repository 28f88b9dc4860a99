import { expect, test } from 'vitest';
import { newSnapshot } from '../fakes/snapshot.ts';
import { call, called, runFake } from './fake-ports.ts';

test('a limit that nobody raises before its deadline ends the run, also where calls are approved at theirs', async () => {
  const approvals = { deadline: '1h', onDeadline: 'approve' } as const;
  const run = await runFake({
    snapshot: newSnapshot({ maxIterations: 1, onLimit: 'ask', approvals }),
    model: [called(call('c', 'unknown'))],
  });
  expect(run.result).toMatchObject({ status: 'max_iterations_reached', stopReason: 'step_limit' });
  expect(run.events.flatMap(({ decision }) => decision ?? [])).toMatchObject([
    { type: 'reject', toolName: 'raise_limits', source: 'deadline', reason: 'nobody decided before the deadline' },
  ]);
});
