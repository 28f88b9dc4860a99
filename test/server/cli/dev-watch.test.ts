import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { startCli, untilSaid } from '../../cli/cli-process.ts';
import { Testbed, until } from '../testbed/testbed.ts';

const source = (path: string): string => new URL(`../../../${path}`, import.meta.url).href;

/** A module of agents with a tool that returns the version of the file. */
function agentsOf(version: number): string {
  return `
import { defineAgent, defineTool } from '${source('src/index.ts')}';
import { callTool, say, scriptedModel } from '${source('src/testing/index.ts')}';
import { z } from '${import.meta.resolve('zod')}';
const pay = defineTool({ name: 'pay', description: 'Pays', parameters: z.object({}), approval: 'always', execute: () => 'version ${version}' });
export const agents = [defineAgent({ name: 'clerk', model: 'scripted/m', tools: [pay] })];
export const providers = { scripted: scriptedModel(${version === 1 ? "[callTool('pay', {}, 'c1')]" : "[say('done')]"}) };
`;
}

const WORKFLOWS = `
import { runAgent } from '${source('workflows/index.ts')}';
export async function report(topic) { return (await runAgent('clerk', topic)).outputText; }
`;

test("dev --watch restarts the worker when a file changes, and a run of a user's workflow continues", async () => {
  await using testbed = await Testbed.open();
  const folder = await mkdtemp(join(tmpdir(), 'longhaul-watch-'));
  const agents = join(folder, 'agents.mts');
  await writeFile(agents, agentsOf(1));
  await writeFile(join(folder, 'workflows.mjs'), WORKFLOWS);
  const modules = ['--agents', agents, '--workflows', join(folder, 'workflows.mjs')];
  const dev = startCli(['dev', ...modules, '--watch', '--address', inject('temporalAddress'), '--task-queue', testbed.taskQueue, '--json']);
  try {
    await untilSaid(dev, () => dev.stdout().includes('\n'), 'the line that says that all is ready');
    expect(JSON.parse(dev.stdout())).toMatchObject({ taskQueue: testbed.taskQueue, agents: ['clerk'] });
    const { workflow } = testbed.client.temporal;
    const host = await workflow.start('report', { args: ['it'], taskQueue: testbed.taskQueue, workflowId: testbed.taskQueue });
    let runId = '';
    await until(async () => {
      const { pendingChildren } = (await host.describe()).raw;
      runId = pendingChildren?.[0]?.workflowId ?? '';
      return runId !== '' && (await testbed.client.handle(runId).status()).status === 'pending_confirmation';
    }, 'the agent of the workflow to wait');

    await writeFile(agents, 'export const agents = [nothing];');
    await untilSaid(dev, () => dev.stderr().includes('The worker has ended (exit code 2)'), 'what is wrong with the file');
    expect(dev.stderr()).toContain('nothing is not defined');
    await writeFile(agents, agentsOf(2));
    await untilSaid(dev, () => dev.stderr().includes('The worker polls again'), 'the worker to poll again');

    await testbed.client.handle(runId).approve('c1');
    expect(await host.result()).toBe('done');
    const { steps } = await testbed.client.handle(runId).result({ steps: true });
    expect(steps?.[0]?.toolCalls[0]?.result).toBe('version 2');
    dev.child.kill('SIGINT');
    expect(await dev.ended).toBe(0);
  } finally {
    dev.child.kill('SIGKILL');
    await rm(folder, { recursive: true });
  }
});
