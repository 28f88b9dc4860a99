import type { Info } from '@temporalio/activity';
import { expect, test, vi } from 'vitest';
import { GovernedCall } from '../../../activities/governor/governed-call.ts';
import { WorkerGovernor } from '../../../activities/governor/worker-governor.ts';
import type { GovernedRequest } from '../../../src/governor/provider-permits.ts';
import { activityEnvironment } from '../activity-environment.ts';

/** The tenant and user of a call. */
interface Caller {
  tenant?: string;
  agent?: string;
  run?: string;
  priority?: number;
}

/** Returns the request to the governor for a call. */
async function requestOf(share: 'tenant' | 'agent' | 'run' | undefined, { tenant, agent = 'clerk', run = '', priority }: Caller) {
  const limits = { scripted: { concurrency: 5, ...(share === undefined ? {} : { share }) } };
  const governor = WorkerGovernor.of({ limits }, { providers: ['scripted'], telemetry: undefined, log: () => undefined })!;
  const asked: GovernedRequest[] = [];
  const permits = governor.permitsOf('scripted/m')!;
  const acquire = permits.acquire.bind(permits);
  vi.spyOn(permits, 'acquire').mockImplementation((request, wait) => {
    asked.push(request);
    return acquire(request, wait);
  });
  const info: Partial<Info> = priority === undefined ? {} : { priority: { priorityKey: priority } };
  await activityEnvironment({ info }).run(async () => {
    const snapshot = { name: agent, ...(tenant === undefined ? {} : { tenantDigest: tenant }) };
    const call = new GovernedCall(governor, run === '' ? {} : { run }, snapshot);
    const order = { current: { name: 'scripted/m', request: {} }, hasAsked: false };
    await call.enter(order as never, { signal: new AbortController().signal, patience: { call: 'c' } as never });
  }, null);
  await governor.close();
  return asked[0];
}

test.each([
  [undefined, 'tenant'],
  ['tenant', 'tenant'],
  ['agent', 'agent'],
  ['run', 'run'],
] as const)('a limit with the share %s is shared equally by each %s', async (share, of) => {
  const first = { tenant: 'acme', agent: 'clerk', run: 'a' };
  const other = { tenant: 'umbrella', agent: 'payer', run: 'b' };
  const shareOf = async (caller: Caller): Promise<string | undefined> => (await requestOf(share, caller))?.tenant;
  expect(await shareOf({ ...other, [of]: first[of] })).toBe(await shareOf(first));
  expect(await shareOf({ ...first, [of]: other[of] })).not.toBe(await shareOf(first));
});

test('a call has the priority of its run, and an ordinary one without', async () => {
  expect((await requestOf('tenant', { priority: 1 }))?.priority).toBe(1);
  expect((await requestOf('tenant', {}))?.priority).toBe(3);
});
