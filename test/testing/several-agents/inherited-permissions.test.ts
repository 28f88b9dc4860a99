import { expect, test } from 'vitest';
import { z } from 'zod';
import { agentTool, defineAgent, defineTool, type PermissionOptions } from '../../../src/index.ts';
import { approve, callTool, say, scriptedModel, testAgent } from '../../../src/testing/index.ts';

const acts: string[] = [];
const write = defineTool({
  name: 'write',
  description: 'Writes',
  parameters: z.object({}),
  category: 'write',
  execute: () => void acts.push('written'),
});
const writer = defineAgent({ name: 'writer', model: 'scripted/m', tools: [write] });
const manager = defineAgent({ name: 'manager', model: 'scripted/m', tools: [agentTool(writer)] });

/** Runs an agent with these permissions, two levels above the writer. Returns the result that the writer read for its call. */
async function resultBelow(permissions: PermissionOptions): Promise<string> {
  acts.length = 0;
  const root = defineAgent({ name: 'root', model: 'scripted/m', tools: [agentTool(manager)], permissions });
  const model = scriptedModel([
    callTool('manager', { request: 'Go' }),
    callTool('writer', { request: 'Go' }),
    callTool('write'),
    say('Written.'),
    say('Managed.'),
    say('Done.'),
  ]);
  const run = await testAgent(root, { model, input: 'Go', decide: () => approve({ by: 'ann' }) });
  expect(run.result).toMatchObject({ status: 'completed', output: 'Done.' });
  const read = run.requests[3]?.conversation.at(-1)?.content[0];
  return read?.type === 'tool_result' ? JSON.stringify(read.content) : 'nothing';
}

test('a rule of the root denies calls of all agents below', async () => {
  expect(await resultBelow({ deny: [{ category: 'write' }] })).toContain('do not allow this call of \\"write\\"');
  expect(acts).toEqual([]);
});

test('a rule of the root lets calls of all agents below wait for a decision', async () => {
  await resultBelow({ ask: [{ category: 'write' }] });
  expect(acts).toEqual(['written']);
});

test('a list of allowances of the root applies to descendants: no agent starts that it does not name', async () => {
  const root = defineAgent({ name: 'root', model: 'scripted/m', tools: [agentTool(manager)], permissions: { allow: ['manager'] } });
  const model = scriptedModel([callTool('manager', { request: 'Go' }), callTool('writer', { request: 'Go' }), say('No.'), say('Done.')]);
  const run = await testAgent(root, { model, input: 'Go' });
  expect(run.result).toMatchObject({ status: 'completed', descendants: { runs: 1 } });
  expect(JSON.stringify(run.requests[2]?.conversation)).toContain('no rule of \\"allow\\" allows it');
});
