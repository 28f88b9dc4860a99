import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { runsOnServer, type ServerRuns } from '../../../src/cli/commands/replay-server.ts';
import { callTool, say, scriptedModel } from '../../../src/testing/index.ts';
import { startCli } from '../../cli/cli-process.ts';
import { assistant } from '../testbed/agents.ts';
import { Testbed, until } from '../testbed/testbed.ts';

// Each call of the command line is a process that builds a bundle.
vi.setConfig({ testTimeout: 180_000 });

const CHAIN = fileURLToPath(new URL('./chain-workflows.ts', import.meta.url));
const CHANGED_CHAIN = fileURLToPath(new URL('./changed-chain-workflows.ts', import.meta.url));

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'longhaul-saved-'));
});
afterAll(async () => rm(folder, { recursive: true }));

interface Report {
  exitCode: number | string;
  reports: Record<string, unknown>[];
}

/** Calls `longhaul replay`. */
async function replay(testbed: Testbed, ...args: string[]): Promise<Report> {
  const cli = startCli(['replay', ...args, '--json', '--address', testbed.address]);
  const exitCode = await cli.ended;
  const lines = cli
    .stdout()
    .split('\n')
    .filter((line) => line !== '');
  return { exitCode, reports: lines.map((line) => JSON.parse(line) as Record<string, unknown>) };
}

/** The ids of the runs that `longhaul replay` takes from the server. */
async function found(testbed: Testbed, filter: ServerRuns): Promise<string[]> {
  const runs = await Array.fromAsync(runsOnServer(testbed.client.temporal, filter));
  return runs.map(({ runId }) => runId);
}

/** The visibility store is written a moment after the history. */
async function untilListed(testbed: Testbed, query: string, runs: number): Promise<void> {
  await until(async () => (await testbed.client.temporal.workflow.count(query)).count === runs, `${runs} runs to be listed`);
}

test('the newest runs of a server are replayed by query and limit, and saved files are replayed without a server', async () => {
  await using testbed = await Testbed.open();
  const script = [callTool('search', { query: 'a' }), say('done'), say('at once')];
  await testbed.work({ agents: [assistant], providers: { scripted: scriptedModel(script) } });
  const start = { input: 'Q', taskQueue: testbed.taskQueue };
  const first = await testbed.client.run(assistant, start);
  const second = await testbed.client.run(assistant, start);
  const query = `TaskQueue = '${testbed.taskQueue}'`;
  await untilListed(testbed, query, 2);

  const saved = join(folder, 'runs');
  const all = await replay(testbed, '--query', query, '--save', saved);
  expect(all).toEqual({
    exitCode: 0,
    reports: [second, first].map(({ runId }) => ({ runId, verdict: 'ok', executions: 1 })),
  });
  // Listing the runs of a filter needs no bundle.
  expect(await found(testbed, { query, limit: 1 })).toEqual([second.runId]);
  expect(await found(testbed, { query, limit: 10, agent: 'nobody' })).toEqual([]);

  expect(await readdir(saved)).toHaveLength(2);
  const fromFiles = await replay(testbed, saved, '--address', '127.0.0.1:1');
  expect(fromFiles.exitCode).toBe(0);
  expect(new Set(fromFiles.reports.map(({ runId }) => runId))).toEqual(new Set([first.runId, second.runId]));
});

test('a run that continued as new counts as one run, and is replayed execution by execution', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [], providers: {}, workflowsPath: CHAIN });
  const { workflow } = testbed.client.temporal;
  const workflowId = `countdown-${testbed.taskQueue}`;
  const handle = await workflow.start('countdown', { args: [2], taskQueue: testbed.taskQueue, workflowId });
  expect(await handle.result()).toBe('done');
  const filter = ['--type', 'countdown', '--query', `TaskQueue = '${testbed.taskQueue}'`];
  await untilListed(testbed, `TaskQueue = '${testbed.taskQueue}' AND ExecutionStatus = 'Completed'`, 1);

  expect(await replay(testbed, ...filter, '--workflows', CHAIN)).toEqual({
    exitCode: 0,
    reports: [{ runId: workflowId, verdict: 'ok', executions: 3 }],
  });
  expect(await replay(testbed, ...filter, '--workflows', CHANGED_CHAIN)).toMatchObject({
    exitCode: 9,
    reports: [
      {
        runId: workflowId,
        verdict: 'diverged',
        executions: 3,
        problem: { execution: 2, step: null, expected: 'a timer', actual: 'continue-as-new' },
      },
    ],
  });
});
