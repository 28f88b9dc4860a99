import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { buildSnapshot, type SnapshotInputs } from '../../../activities/agents/build-snapshot.ts';
import { toolSignature } from '../../../src/core/code/describe-functions.ts';
import { custom, defineAgent, defineTool, mcpServer, quickjs, type ToolSnapshot } from '../../../src/index.ts';
import { snapshotOf } from '../../fakes/snapshot.ts';
import { testTool } from '../../core/loop/fakes/snapshot.ts';

const inputs: SnapshotInputs = {
  instructions: [],
  capabilities: { structuredOutput: true },
  heartbeatMs: 5_000,
  searchAttributes: false,
};
const orders = defineTool({ name: 'orders', description: 'd', parameters: z.object({}), execute: () => 'found' });
const plan = defineTool({ name: 'plan', description: 'd', parameters: z.object({}), execute: () => 'ok', callers: ['model'] });
const BASE = { name: 'desk', model: 'p/m' as const, tools: [orders, plan] };

test('the executor and the reply format are pinned as JSON, without the command of the operator', () => {
  const executor = custom({ command: ['cells', '--secret'], language: 'python', allowedImports: ['math'], limits: { maxMemoryMb: 64 } });
  const snapshot = snapshotOf(defineAgent({ ...BASE, code: { executor }, replyFormat: 'code' }));
  expect(snapshot.code).toEqual({
    executor: {
      kind: 'custom',
      language: 'python',
      limits: { timeoutSeconds: 30, maxMemoryMb: 64, maxOutputBytes: 10_000, maxSteps: 10 },
      allowedImports: ['math'],
    },
    tier: 'remote',
  });
  expect(snapshot.replyFormat).toBe('code');
  expect(JSON.stringify(snapshot)).not.toContain('--secret');
  expect(JSON.parse(JSON.stringify(snapshot))).toEqual(snapshot);
});

test('the rule that shortens the conversation is pinned', () => {
  const prune = { strategy: 'old_observations', keep: 2 } as const;
  const snapshot = snapshotOf(defineAgent({ ...BASE, code: { executor: quickjs(), prune }, replyFormat: 'code' }));
  expect(snapshot.code?.prune).toEqual(prune);
});

test('the callers of a tool are pinned if it has any', () => {
  const { tools } = snapshotOf(defineAgent({ ...BASE, code: { executor: quickjs() } }));
  expect(tools[0]).not.toHaveProperty('callers');
  expect(tools[1]).toHaveProperty('callers', ['model']);
});

test('the schemas of results are pinned for code, if JSON Schema can say them', () => {
  const base = { description: 'd', parameters: z.object({}), execute: () => ({ total: 1 }) };
  const total = z.object({ total: z.number() });
  const sum = defineTool({ ...base, name: 'sum', result: total });
  const dated = defineTool({ ...base, name: 'dated', result: z.date() });
  const hidden = defineTool({ ...base, name: 'hidden', result: total, callers: ['model'] });
  const tools = [sum, dated, hidden];
  const pinned = snapshotOf(defineAgent({ ...BASE, tools, code: { executor: quickjs() } })).tools;
  expect(pinned.map(({ result }) => result)).toEqual([expect.objectContaining({ required: ['total'] }), undefined, undefined]);
  expect(pinned.map((tool) => toolSignature(tool, 'javascript').text)).toEqual(['sum(): {total: number}', 'dated(): any', 'hidden(): any']);
  for (const tool of snapshotOf(defineAgent({ ...BASE, tools })).tools) expect(tool).not.toHaveProperty('result');
});

test('an agent without code pins no code fields', () => {
  const snapshot = snapshotOf(defineAgent(BASE));
  expect(snapshot).not.toHaveProperty('code');
  expect(snapshot).not.toHaveProperty('replyFormat');
});

describe('with the tools of MCP servers', () => {
  const mcp = [mcpServer({ name: 'files', command: 'files' })];
  const bare = { name: 'desk', model: 'p/m' as const, mcp };
  const withTools = (agent: Parameters<typeof buildSnapshot>[0], ...mcpTools: ToolSnapshot[]): unknown =>
    buildSnapshot(agent, { ...inputs, mcpTools });

  test('a run does not start if its code has no tool', () => {
    const agent = defineAgent({ ...bare, code: { executor: quickjs() } });
    expect(() => withTools(agent)).toThrow('Agent "desk" requires at least one tool that its code may call');
    expect(() => withTools(agent, testTool('read', { callers: ['model'] }))).toThrow('requires at least one tool that its code may call');
    expect(withTools(agent, testTool('read'))).toHaveProperty('code.tier', 'remote');
  });

  test('a run does not start if its code cannot call a tool by its name', () => {
    const agent = defineAgent({ ...bare, code: { executor: quickjs() } });
    expect(() => withTools(agent, testTool('read'), testTool('read-all'))).toThrow(
      'Code of agent "desk" cannot call the tool "read-all" by this name: JavaScript cannot spell this name',
    );
  });

  test('a run does not start if an agent that answers with JSON has no tool', () => {
    expect(() => withTools(defineAgent({ ...bare, replyFormat: 'json' }))).toThrow(
      'Agent "desk" requires at least one tool: its MCP servers',
    );
  });

  test('the model can be made to call run_code, and no tool that only code may call', () => {
    const code = { executor: quickjs() };
    const chosen = (tool: string): unknown =>
      withTools(
        defineAgent({ ...bare, code, settings: { toolChoice: { tool } } }),
        testTool('read', { callers: ['code'] }),
        testTool('list'),
      );
    expect(chosen('run_code')).toHaveProperty('settings.toolChoice.tool', 'run_code');
    expect(() => chosen('read')).toThrow('"settings.toolChoice" of agent "desk" names the tool "read"');
  });
});
