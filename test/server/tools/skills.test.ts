import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool } from '../../../src/index.ts';
import { callTool, say, scriptedModel } from '../../../src/testing/index.ts';
import { fileStore, type PayloadStore } from '../../../worker/index.ts';
import { expectSameFromHistory } from '../testbed/same-from-history.ts';
import { Testbed, until } from '../testbed/testbed.ts';

const FOLDER = fileURLToPath(new URL('../../testing/skills', import.meta.url));

let root: string;
beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'longhaul-skills-'));
  await cp(FOLDER, path.join(root, 'skills'), { recursive: true });
});
afterEach(() => rm(root, { recursive: true }));

const wait = defineTool({ name: 'wait', description: 'Waits', parameters: z.object({}), approval: 'always', execute: () => 'waited' });

/** Runs an agent whose skill changes, with a new worker, before it is loaded. Returns the texts that the model has read. */
async function loadChanged(testbed: Testbed, payloadStore?: PayloadStore): Promise<string[]> {
  const agent = defineAgent({ name: 'clerk', model: 'scripted/m', tools: [wait], skills: [path.join(root, 'skills')] });
  const scripted = scriptedModel([
    callTool('wait', {}),
    callTool('load_skill', { skill: 'refunds' }),
    callTool('read_skill_file', { skill: 'refunds', path: 'limits.md' }),
    say('Done.'),
  ]);
  const options = { agents: [agent], providers: { scripted }, ...(payloadStore === undefined ? {} : { payloadStore }) };
  await testbed.work(options);
  const run = await testbed.client.start(agent, { input: 'Go', taskQueue: testbed.taskQueue });
  await until(async () => (await run.approvals()).pending.length === 1, 'the call to wait');
  await testbed.stopWorkers();
  await writeFile(path.join(root, 'skills/refunds/limits.md'), 'Without a limit.\n');
  await testbed.work(options);
  for (const waiting of (await run.approvals()).pending) await run.approve(waiting);
  const result = await run.result({ steps: true });
  expect(result).toMatchObject({ status: 'completed', output: 'Done.' });
  await expectSameFromHistory(testbed, run);
  return (result.steps ?? []).flatMap(({ toolCalls }) => toolCalls.map(({ result: text }) => text)).slice(1);
}

test('a run reads the skill that it is pinned to from the payload store, after its folder has changed', async () => {
  await using testbed = await Testbed.open();
  const [loaded, file] = await loadChanged(testbed, fileStore({ directory: path.join(root, 'store') }));
  expect(loaded).toContain('Look at the order before you pay.');
  expect(file).toContain('Up to 100 euros.');
});

test('without a payload store, a skill that has changed is an error with both digests', async () => {
  await using testbed = await Testbed.open();
  const [loaded, file] = await loadChanged(testbed);
  const changed = /^Skill "refunds" has changed since the run began: the run is pinned to [0-9a-f]{64}, and this worker has [0-9a-f]{64}/;
  expect(loaded).toMatch(changed);
  expect(file).toMatch(changed);
});

test('names and descriptions are in every request, and the text of a skill that is always active', async () => {
  await using testbed = await Testbed.open();
  const agent = defineAgent({ name: 'clerk', model: 'scripted/m', skills: [path.join(root, 'skills')] });
  const scripted = scriptedModel([callTool('load_skill', { skill: 'refunds' }), say('Done.')]);
  await testbed.work({ agents: [agent], providers: { scripted } });
  await testbed.client.run(agent, { input: 'Go', taskQueue: testbed.taskQueue });
  expect(scripted.requests).toHaveLength(2);
  for (const { instructions, tools } of scripted.requests) {
    const text = instructions.join('\n');
    expect(text).toContain('- refunds: How to pay money back\n- politeness: How to address a customer\n- tone: How to write');
    expect(text).toContain('## Skill: politeness\n\nAddress the customer by name.');
    expect(text).not.toContain('Look at the order');
    expect(tools.map(({ name }) => name)).toEqual(['load_skill', 'read_skill_file']);
  }
});
