import { expect, test } from 'vitest';
import { defineAgent, mcpServer } from '../../src/index.ts';
import { scriptedModel } from '../../src/testing/index.ts';
import { LonghaulPlugin, type LonghaulPluginOptions } from '../../worker/index.ts';

const crm = mcpServer({ name: 'crm', command: 'unused' });
const clerk = defineAgent({ name: 'clerk', model: 'scripted/m', mcp: [crm] });
const plain = defineAgent({ name: 'plain', model: 'scripted/m' });

/** The activities that a worker with these agents gets. */
function activitiesOf(agents: LonghaulPluginOptions['agents'], activities: object = {}): Record<string, unknown> {
  const plugin = new LonghaulPlugin({ agents, providers: { scripted: scriptedModel([]) } });
  return plugin.configureWorker({ taskQueue: 'q', activities }).activities as Record<string, unknown>;
}

test('only a worker with MCP servers gets calls of unknown activities', () => {
  expect(activitiesOf([clerk])).toHaveProperty('default');
  expect(activitiesOf([plain])).not.toHaveProperty('default');
});

test('a default activity of the worker stays as it is without MCP servers', () => {
  const own = (): string => 'own';
  expect(activitiesOf([plain], { default: own })['default']).toBe(own);
});

test('with MCP servers it goes on getting what is not theirs', async () => {
  const own = (input: unknown): string => `own ${JSON.stringify(input)}`;
  const shared = activitiesOf([clerk], { default: own })['default'] as (input: unknown) => Promise<unknown>;
  expect(await shared({ order: 7 })).toBe('own {"order":7}');
});

test('one with a definition of its input cannot be shared, and is refused', () => {
  const own = Object.assign(() => 'own', { activityDefinitionOptions: {} });
  expect(() => activitiesOf([clerk], { default: own })).toThrow('the worker has a "default" activity with definition options');
  expect(activitiesOf([plain], { default: own })['default']).toBe(own);
});

test('a server that spills needs a payload store', () => {
  const spilling = defineAgent({
    name: 'spilling',
    model: 'scripted/m',
    mcp: [mcpServer({ name: 'crm', command: 'unused', overflow: 'spill' })],
  });
  expect(() => activitiesOf([spilling])).toThrow(
    'MCP server "crm" of agent "spilling" has "overflow": "spill", but the worker has no "payloadStore"',
  );
});
