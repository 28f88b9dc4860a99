import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, inject, test } from 'vitest';
import type { RunHandle } from '../../../src/client/index.ts';
import { callTool, say, scriptedModel } from '../../../src/testing/index.ts';
import { assistant } from '../testbed/agents.ts';
import { Testbed, until } from '../testbed/testbed.ts';

const cliPath = inject('temporalCliPath') ?? '';

/** Sends a Signal as an operator does who has nothing but the Temporal CLI. */
async function signal(testbed: Testbed, run: RunHandle<unknown>, name: string, input?: string): Promise<void> {
  const args = ['workflow', 'signal', '--workflow-id', run.runId, '--name', name, ...(input === undefined ? [] : ['--input', input])];
  await promisify(execFile)(cliPath, [...args, '--address', testbed.address, '--namespace', inject('temporalNamespace')]);
}

test.skipIf(cliPath === '')(
  'an operator pauses, raises and resumes a run by Signals, and one that does not fit is noted in its record',
  async () => {
    await using testbed = await Testbed.open();
    const scripted = scriptedModel([callTool('search', { query: 'a' }, 'c1'), callTool('search', { query: 'b' }, 'c2'), say('done')]);
    const run = await testbed.client.start(assistant, { input: 'Q', limits: { steps: 2 }, taskQueue: testbed.taskQueue });
    // Nobody has taken the run: a Signal waits for a worker, and an Update would not.
    await signal(testbed, run, 'pause');
    await testbed.work({ agents: [assistant], providers: { scripted } });
    await until(async () => (await run.status()).status === 'paused', 'the run is paused');
    expect(scripted.requests).toHaveLength(0);

    await signal(testbed, run, 'raise', '{"id": "r1", "limits": {"steps": 20}, "by": "ann"}');
    await signal(testbed, run, 'raise', '{"id": "r1", "limits": {"steps": 20}, "by": "ann"}');
    await signal(testbed, run, 'raise', '{"id": "r2", "limits": {"steps": 1}, "by": "bob"}');
    await signal(testbed, run, 'raise', '"more"');
    await signal(testbed, run, 'raise');
    await until(async () => (await run.status()).limits?.steps === 20, 'the limit is raised');
    await signal(testbed, run, 'resume', '{"by": "ann"}');
    expect(await run.result()).toMatchObject({ status: 'completed', output: 'done', stepsUsed: 3 });

    const events = await Array.fromAsync(run.events());
    expect(events.flatMap(({ raised }) => (raised === undefined ? [] : [raised]))).toMatchObject([{ id: 'r1', by: 'ann' }]);
    expect(events.flatMap(({ refused }) => (refused === undefined ? [] : [refused]))).toMatchObject([
      { request: 'raise', id: 'r2', by: 'bob', code: 'invalid_input' },
      { request: 'raise', code: 'invalid_input' },
      { request: 'raise', code: 'invalid_input' },
    ]);
    const { events: history = [] } = await testbed.client.temporal.workflow.getHandle(run.runId).fetchHistory();
    expect(history?.filter((event) => event.workflowTaskFailedEventAttributes)).toEqual([]);
  },
  60_000,
);
