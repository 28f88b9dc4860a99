import { expect, test } from 'vitest';
import { agent, ask, defineProgram, parallel, program, unit } from '../../../../src/define/program/index.ts';
import type { RunTree, TreeEvent } from '../../../../src/client/index.ts';
import { addRunUsage, noUsage } from '../../../../src/core/domain/usage.ts';
import { addUsageOfEvent } from '../../../../src/core/domain/record.ts';
import { callTool, say, scriptedModel, structured } from '../../../../src/testing/index.ts';
import { callCli } from '../../../cli/call-cli.ts';
import { begun, careful, inner, letters, outer, waitingBelow } from '../../programs/programs-with-children.ts';
import { Testbed, until } from '../../testbed/testbed.ts';

/** The events of a tree. */
async function eventsOf(events: AsyncGenerator<TreeEvent>): Promise<TreeEvent[]> {
  const all: TreeEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

/** Each run of a tree as one line. */
function linesOf({ runId, kind, status, steps, waitingFor, children }: RunTree, root = runId): string[] {
  const line = [runId.replace(root, 'root'), kind, status, steps, ...waitingFor].join(' ');
  return [line, ...children.flatMap((child) => linesOf(child, root))];
}

test('a tree of programs and agents is shown, followed and decided at its root', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [], programs: [outer], providers: { child: letters(), parent: scriptedModel([say('yes')]) } });
  const handle = await begun(testbed);
  const followed = eventsOf(handle.events({ tree: true, follow: true }));
  const waiting = await waitingBelow(handle);
  const owner = `${handle.runId}/all.Inner/one.Letter`;
  expect(waiting.runId).toBe(owner);
  await until(async () => (await handle.status()).status === 'pending_confirmation', 'the status of the root');
  expect(linesOf(await handle.tree())).toEqual([
    'root program pending_confirmation 0',
    'root/all.Inner program pending_confirmation 0',
    'root/all.Inner/one.Letter agent pending_confirmation 0 guarded',
  ]);
  const cli = (...args: string[]): ReturnType<typeof callCli> => callCli([...args, '--address', testbed.address]);
  expect((await cli('tree', handle.runId)).stdout).toContain('   └─ careful pending_confirmation · one.Letter · 0/10 steps');
  expect((await cli('approvals', handle.runId)).stdout).toContain(`of run ${owner}`);
  expect((await cli('approve', handle.runId, waiting.callId, '--in', owner, '--by', 'ann', '--id', 'd1')).exitCode).toBe(0);
  const result = await handle.result();
  expect(result).toMatchObject({ status: 'completed', output: 'yes' });

  // Resent on the root, with only the id of the call, after everything has ended.
  expect(await handle.approve(waiting.callId, { id: 'd1', by: 'ann' })).toMatchObject({ status: 'repeated', decision: { id: 'd1' } });
  await expect(handle.approve(waiting.callId, { id: 'd2' })).rejects.toMatchObject({ code: 'already_decided' });
  const decisions = (await eventsOf(handle.events({ tree: true }))).filter(({ decision }) => decision !== undefined);
  expect(decisions.map(({ runId, decision }) => [runId, decision?.id])).toEqual([[owner, 'd1']]);

  const tree = await handle.tree();
  expect(linesOf(tree)).toEqual([
    'root program completed 1',
    'root/all.Inner program completed 0',
    'root/all.Inner/one.Letter agent completed 2',
  ]);
  const events = await eventsOf(handle.events({ tree: true }));
  expect(events.map(({ timestamp }) => timestamp)).toEqual(events.map(({ timestamp }) => timestamp).toSorted());
  expect(new Set((await followed).map(({ id }) => id))).toEqual(new Set(events.map(({ id }) => id)));
  expect(await followed).toHaveLength(events.length);
  const sum = events.reduce(addUsageOfEvent, noUsage());
  expect(tree.treeUsage).toEqual(sum);
  expect(addRunUsage(noUsage(), result.usage)).toEqual(sum);
  await testbed.stopWorkers();
  expect(await handle.tree()).toEqual(tree);
}, 90_000);

test('a call id that two runs of a tree have is ambiguous, until the run is named', async () => {
  await using testbed = await Testbed.open();
  const both = defineProgram({
    name: 'both',
    model: 'parent/model',
    units: [
      unit('all', {}, [
        parallel('Two', [[agent('Left', careful, 'Write')], [program('Right', inner, { name: 'Bob' })]]),
        ask('End', 'Was it well?'),
      ]),
    ],
  });
  const child = scriptedModel([
    callTool('guarded', { id: '7' }, 'same'),
    callTool('guarded', { id: '7' }, 'same'),
    structured({ letter: 'A' }),
    structured({ letter: 'B' }),
  ]);
  await testbed.work({ agents: [], programs: [both], providers: { child, parent: scriptedModel([say('yes')]) } });
  const handle = await begun(testbed, both);
  await until(async () => (await handle.approvals()).pending.length === 2, 'both approvals', 40);
  const { pending } = await handle.approvals();
  expect(new Set(pending.map(({ runId }) => runId))).toEqual(new Set([`${handle.runId}/all.Left`, `${handle.runId}/all.Right/one.Letter`]));
  const [first] = pending;
  await expect(handle.approve(first?.callId ?? '')).rejects.toMatchObject({
    code: 'ambiguous_call',
    message: expect.stringContaining(`"${handle.runId}/all.Right/one.Letter"`),
  });
  for (const waiting of pending) await handle.approve(waiting);
  expect(await handle.result()).toMatchObject({ status: 'completed', output: 'yes' });
}, 60_000);
