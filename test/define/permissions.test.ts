import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { toolsFor } from '../../src/core/code/callable-tools.ts';
import { defineAgent, defineTool, type PermissionOptions } from '../../src/index.ts';
import { toolSnapshot } from '../../activities/agents/build-snapshot.ts';

const tools = ['search_web', 'refund'].map((name) =>
  defineTool({ name, description: 'A tool', parameters: z.object({ text: z.string() }), category: 'read', execute: () => 'done' }),
);

function permissionsOf(permissions: PermissionOptions): unknown {
  return defineAgent({ name: 'clerk', model: 'openai/m', tools, permissions }).permissions;
}

describe('the permissions of an agent', () => {
  it('take a text for a rule about a tool', () => {
    expect(permissionsOf({ deny: ['search_*'] })).toEqual({ mode: 'default', deny: [{ tool: 'search_*' }] });
  });

  it.each<[PermissionOptions, string]>([
    [{ mode: 'strick' as 'strict' }, 'agent "clerk": permissions.mode: "strick" is not a mode'],
    [{ deny: ['pay'] }, 'agent "clerk": permissions.deny[0].tool: "pay" matches no tool: the agent has search_web, refund'],
    [{ ask: [{ tool: 'refund', args: { text: 'a\\' } }] }, 'agent "clerk": permissions.ask[0].args.text: the glob ends with'],
  ])('%j is refused', (permissions, problem) => {
    expect(() => permissionsOf(permissions)).toThrow(problem);
  });

  it('remove tools from the offer that are denied with any arguments', () => {
    const offered = (deny: object): string[] =>
      toolsFor('model', { tools: tools.map(toolSnapshot), permissions: [{ mode: 'default', deny: [deny] }] }).map(({ name }) => name);
    expect(offered({ tool: 'search_*' })).toEqual(['refund']);
    expect(offered({ tool: 'search_*', args: { text: '*' } })).toEqual(['search_web', 'refund']);
    expect(offered({ category: 'read' })).toEqual([]);
  });
});
