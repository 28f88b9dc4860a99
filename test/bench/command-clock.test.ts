import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { expect, test } from 'vitest';
import { CommandClock } from '../../bench/local/command-clock.ts';

type Context = Parameters<ActivityInterceptorsFactory>[0];
type Info = Parameters<CommandClock['sinks']['bench']['asked']['fn']>[0];

test('a call is measured from the start of its tool to the next command of its run, and to the start of the next call if there is nothing in between', async () => {
  let now = 0;
  const clock = new CommandClock(() => now);
  const command = (at: number): void => {
    void clock.sinks.bench.asked.fn({ workflowId: 'r' } as Info, at);
  };
  const start = async (at: number, activityType: string): Promise<void> => {
    now = at;
    const info = { workflowExecution: { workflowId: 'r', runId: '1' }, activityType };
    await clock.interceptor({ info } as Context).inbound?.execute?.({ args: [], headers: {} }, () => Promise.resolve());
  };
  const begin = (at: number): void => {
    now = at;
    clock.begin('r');
  };
  command(0);
  await start(1, 'model');
  command(5);
  await start(6, 'tool');
  begin(6.5);
  command(8);
  await start(10, 'tool');
  begin(11);
  command(13);
  await start(20, 'model');
  expect(clock.take('r', 'tool')).toEqual({ toNextCommand: [1.5, 2], toNextCall: [4] });
  expect(clock.take('r', 'tool')).toEqual({ toNextCommand: [], toNextCall: [] });
});
