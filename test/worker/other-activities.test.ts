import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { expect, test } from 'vitest';
import { defineAgent, mcpServer } from '../../src/index.ts';
import { scriptedModel } from '../../src/testing/index.ts';
import { LonghaulPlugin, type LonghaulPluginOptions } from '../../worker/index.ts';

const crm = mcpServer({ name: 'crm', command: 'unused' });
const clerk = defineAgent({ name: 'clerk', model: 'scripted/m', mcp: [crm] });
const plain = defineAgent({ name: 'plain', model: 'scripted/m' });

/** The activities of a worker with these agents. */
function activitiesOf(agents: LonghaulPluginOptions['agents'], activities: object = {}): Record<string, unknown> {
  const plugin = new LonghaulPlugin({ agents, providers: { scripted: scriptedModel([]) } });
  return plugin.configureWorker({ taskQueue: 'q', activities }).activities as Record<string, unknown>;
}

test('every worker gets the calls of tools that it lacks, and passes all others to its own default activity', async () => {
  const call = { agentName: 'plain', callId: 'c1', step: 1, at: [0, 0], eventId: 'e0' };
  const own = (input: unknown): string => `own ${JSON.stringify(input)}`;
  for (const agent of [plain, clerk]) {
    expect(activitiesOf([agent])).toHaveProperty('default');
    const shared = activitiesOf([agent], { default: own })['default'] as (input: unknown) => Promise<unknown>;
    expect(await shared({ order: 7 })).toBe('own {"order":7}');
    const called = new MockActivityEnvironment({ activityType: 'gone' }, { logger: new DefaultLogger('ERROR') }).run(shared, call);
    await expect(called).rejects.toMatchObject({
      type: 'unknown_tool',
      message: expect.stringContaining('tool "gone"') as string,
    });
  }
});

test('a default activity with a definition of its input cannot be shared: it is kept without MCP servers, and refused with them', () => {
  const own = Object.assign(() => 'own', { activityDefinitionOptions: {} });
  expect(() => activitiesOf([clerk], { default: own })).toThrow('the worker has a "default" activity with definition options');
  expect(activitiesOf([plain], { default: own })['default']).toBe(own);
});

test('an MCP server that spills needs a payload store', () => {
  const spilling = defineAgent({
    name: 'spilling',
    model: 'scripted/m',
    mcp: [mcpServer({ name: 'crm', command: 'unused', overflow: 'spill' })],
  });
  expect(() => activitiesOf([spilling])).toThrow(
    'MCP server "crm" of agent "spilling" has "overflow": "spill", but the worker has no "payloadStore"',
  );
});
