import { expect, test } from 'vitest';
import { callTool, scriptedModel } from '../../../../src/testing/index.ts';
import { callCli } from '../../../cli/call-cli.ts';
import { Testbed, until } from '../../testbed/testbed.ts';
import { chief, signing } from '../../tools/agents/agents-below.ts';

test('deleting a run deletes its descendants, and ends all of them first only if asked to', async () => {
  await using testbed = await Testbed.open();
  const above = scriptedModel([callTool('careful', { request: '1' })], { repeatLast: true });
  await testbed.work({ agents: [chief], providers: { above, below: signing() } });
  const run = await testbed.client.start(chief, { input: 'Go', taskQueue: testbed.taskQueue });
  const other = await testbed.client.start(chief, { input: 'Go', taskQueue: testbed.taskQueue, runId: `${run.runId}/no-child` });
  await until(async () => (await run.approvals()).pending.length === 1, 'the agent to wait', 60);
  const child = testbed.client.handle((await run.status()).children?.[0] ?? '');
  await expect(run.delete()).rejects.toMatchObject({ code: 'run_open', message: expect.stringContaining('"end"') as string });
  expect(await callCli(['delete', run.runId, '--end', '--address', testbed.address])).toMatchObject({
    exitCode: 0,
    stdout: `Run "${run.runId}" is deleted\n`,
  });
  const isGone = (handle: typeof child): Promise<boolean> =>
    handle.status().then(
      () => false,
      (error: { code?: string }) => error.code === 'run_not_found',
    );
  for (const handle of [run, child]) await until(() => isGone(handle), `run ${handle.runId} to be removed`, 180);
  // Its id begins like the id of a child, but it is not a child.
  expect((await other.status()).status).not.toBe('cancelled');
  expect(await run.delete({ end: true })).toBe('not_found');
}, 300_000);
