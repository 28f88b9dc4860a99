import { WorkflowUpdateFailedError } from '@temporalio/client';
import type { ApplicationFailure } from '@temporalio/common';
import { expect, inject, test } from 'vitest';
import { z } from 'zod';
import type { Event } from '../../../src/core/domain/record.ts';
import type { HistoryEvent } from '../../../src/history/history-events.ts';
import { defineAgent, defineTool } from '../../../src/index.ts';
import { type ApprovalsPage, QUERIES, scopedName, UPDATES } from '../../../src/core/protocol.ts';
import { callTool, say, scriptedModel, together } from '../../../src/testing/index.ts';
import { Replayer } from '../../../worker/index.ts';
import { refund } from './decision-agents.ts';
import { historyOf, Testbed, until } from '../testbed/testbed.ts';

test('an execution that begins by waiting refuses the first Update to a worker that has to load it, accepts the second, and replays', async () => {
  await using testbed = await Testbed.open();
  const desk = defineAgent({ name: 'desk', model: 'scripted/model-1', tools: [refund] });
  const providers = { scripted: scriptedModel([callTool('refund', { amount: 5 }, 'c0'), say('done')]) };
  await testbed.work({ agents: [desk], providers, continueAsNew: { updates: 3 } });
  const { taskQueue } = testbed;
  const host = await testbed.client.temporal.workflow.start('inlineDesk', { workflowId: `host-${taskQueue}`, taskQueue });
  const send = (name: string, input: unknown): Promise<unknown> =>
    host.executeUpdate<unknown, [unknown]>(scopedName(name, 'desk'), { args: [input] });
  const pending = async (): Promise<ApprovalsPage['pending']> =>
    (await host.query<ApprovalsPage, [unknown]>(scopedName(QUERIES.approvals, 'desk'), { from: 0 })).pending;
  await until(async () => (await pending()).length > 0, 'the agent waits for a decision');
  const [{ callId, digest } = { callId: '', digest: '' }] = await pending();
  await send(UPDATES.pause, {});
  await send(UPDATES.approve, { callId, digest, id: 'yes' });
  await send(UPDATES.send, { id: 'm1', content: 'hello' });
  await until(
    async () => typesOf(await historyOf(testbed, host.workflowId)).join(' ') === WAITING_AT_ONCE,
    'the next execution has begun, and waits',
  );
  await testbed.stopWorkers();
  await testbed.work({ agents: [desk], providers });

  const refused: unknown = await send(UPDATES.resume, {}).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(WorkflowUpdateFailedError);
  expect((refused as WorkflowUpdateFailedError).cause).toMatchObject({
    type: 'busy',
    message: `Run "${host.workflowId}/desk" was just loaded by its worker: send it again`,
  } satisfies Partial<ApplicationFailure>);
  await send(UPDATES.resume, {});
  expect(await host.result()).toBe('done');
  await expectReplay(host.workflowId, await historyOf(testbed, host.workflowId));
}, 60_000);

test('a run whose calls have ended one by one accepts a decision on a worker that has to load it, and still replays', async () => {
  await using testbed = await Testbed.open();
  const release: (() => void)[] = [];
  const work = defineTool({
    name: 'work',
    description: 'Works until it is let go',
    parameters: z.object({}),
    execute: () => new Promise<string>((resolve) => release.push(() => resolve('worked'))),
  });
  const desk = defineAgent({ name: 'desk', model: 'scripted/model-1', tools: [refund, work] });
  const calls = together(callTool('refund', { amount: 5 }, 'c0'), callTool('work', {}, 'c1'), callTool('work', {}, 'c2'));
  const providers = { scripted: scriptedModel([calls, say('done')]) };
  await testbed.work({ agents: [desk], providers });
  const run = await testbed.client.start(desk, { input: 'Q', taskQueue: testbed.taskQueue });
  await until(() => release.length === 2, 'both calls to be in progress');
  for (const [index, end] of release.entries()) {
    end();
    // The end of each call has a separate workflow task, which creates no command.
    await until(async () => endedCalls(await historyOf(testbed, run)) === index + 1, 'the call has ended, and its task with it');
  }
  const before = await Array.fromAsync(run.events());
  await testbed.stopWorkers();
  await testbed.work({ agents: [desk], providers });

  await run.approve('c0');
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'done' });
  const live = await Array.fromAsync(run.events());
  // The worker has joined the task that recorded the results with the later task of the decision.
  expect(live.slice(0, before.length)).toEqual(before);
  const { steps } = await run.result({ steps: true });
  expect(await run.steps()).toEqual(steps);
  await expectReplay(run.runId, await historyOf(testbed, run));
  await testbed.stopWorkers();
  await testbed.work({ agents: [desk], providers });
  expect(await Array.fromAsync(run.events())).toEqual(live);
  await testbed.stopWorkers();
  const withoutId = ({ id: _, ...event }: Event): object => event;
  expect((await Array.fromAsync(run.events())).map(withoutId)).toEqual(live.map(withoutId));
}, 60_000);

const WAITING_AT_ONCE = 'workflowExecutionStarted workflowTaskScheduled workflowTaskStarted workflowTaskCompleted';

function typesOf(history: readonly HistoryEvent[]): string[] {
  return history.map((event) =>
    Object.entries(event)
      .filter(([name, value]) => name.endsWith('EventAttributes') && value)
      .map(([name]) => name.replace('EventAttributes', ''))
      .join(),
  );
}

/** Counts the calls of the tool "work" that have ended, if a workflow task was completed after the newest of them. */
function endedCalls(history: readonly HistoryEvent[]): number | undefined {
  const types = typesOf(history);
  const begun = types.indexOf('upsertWorkflowSearchAttributes', types.lastIndexOf('activityTaskScheduled'));
  const ended = types.slice(begun).filter((type) => type === 'activityTaskCompleted').length;
  return types.at(-1) === 'workflowTaskCompleted' ? ended : undefined;
}

async function expectReplay(runId: string, history: HistoryEvent[]): Promise<void> {
  const replayer = new Replayer({ worker: { workflowBundle: { codePath: inject('workflowBundlePath') } } });
  expect(await replayer.replay(runId, history)).toEqual({ type: 'ok' });
  await replayer.close();
}
