import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { JsonObject } from '../../src/core/domain/json.ts';
import { defineAgent, defineCapability, defineTool, hosted, type PermissionOptions } from '../../src/index.ts';
import { callTool, say, scriptedModel, setPermissions, testAgent } from '../../src/testing/index.ts';

const SEARCH = hosted('anthropic.web_search_20250305', { maxUses: 3 });
const look = defineTool({ name: 'look', description: 'Looks', parameters: z.object({}), execute: () => 'seen' });

/** The names of the hosted tools that each request offers. */
async function offered(permissions: PermissionOptions | undefined, changed?: PermissionOptions): Promise<string[][]> {
  const agent = defineAgent({ name: 'scout', model: 'p/m', tools: [look, SEARCH], ...(permissions === undefined ? {} : { permissions }) });
  const model = scriptedModel(changed === undefined ? [say('Done.')] : [callTool('look', {}), say('Done.')]);
  const meanwhile = changed === undefined ? [] : [setPermissions(changed, { step: 1 })];
  await testAgent(agent, { input: 'Q', model, meanwhile });
  return model.requests.map((request) => (request.hosted ?? []).map(({ name }) => name));
}

describe('a hosted tool', () => {
  test('has the name of its provider and options that are passed on, and a name for rules without its version', () => {
    expect(SEARCH).toEqual({ kind: 'longhaul.hosted_tool', id: 'anthropic.web_search_20250305', name: 'web_search', args: { maxUses: 3 } });
    expect(hosted('openai.image_generation')).toMatchObject({ name: 'image_generation', args: {} });
  });

  test.each<[id: unknown, args: unknown, says: RegExp]>([
    ['web_search', {}, /"web_search" is not the id of a hosted tool: write the provider and its tool, such as "anthropic\./],
    [7, {}, /7 is not the id/],
    ['anthropic.web search', {}, /is not the id/],
    ['anthropic.x', [], /hosted tool "anthropic\.x": the options are not an object/],
    ['anthropic.x', { onResult: () => 1 }, /a value that is not JSON: "onResult"/],
    ['anthropic.x', { text: 'x'.repeat(20_000) }, /bytes of JSON, over 16000/],
  ])('that cannot be is an error which says what to write: %j', (id, args, says) => {
    expect(() => hosted(id as string, args as JsonObject)).toThrow(says);
  });

  test('is among the tools of an agent, also by a capability, and has its own name', () => {
    const web = defineCapability({ name: 'web', tools: [SEARCH] });
    expect(defineAgent({ name: 'scout', model: 'p/m', tools: [look], capabilities: [web] })).toMatchObject({
      tools: [{ name: 'look' }],
      hosted: [{ name: 'web_search', capability: 'web' }],
    });
    const mine = defineTool({ name: 'web_search', description: 'd', parameters: z.object({}), execute: () => 1 });
    expect(() => defineAgent({ name: 'scout', model: 'p/m', tools: [mine, SEARCH] })).toThrow(/two tools named "web_search"/);
  });

  test.each<[what: string, permissions: PermissionOptions | undefined, isOffered: boolean]>([
    ['no permissions', undefined, true],
    ['rules about other tools', { deny: ['look'], ask: [{ category: 'write' }] }, true],
    ['a rule that denies its category', { deny: [{ category: 'network' }] }, false],
    ['a rule that denies its name', { deny: ['web_*'] }, false],
    ['a rule that asks about it', { ask: [{ category: 'net*' }] }, false],
    ['a rule that asks by default', { approvalRequired: ['web_search'] }, false],
    ['the mode without that rule', { mode: 'permissive', approvalRequired: ['web_search'] }, true],
    ['the mode that asks about every call', { mode: 'strict', allow: ['web_search', 'look'] }, false],
    ['rules that allow others alone', { allow: ['look'] }, false],
    ['rules that allow some of its calls', { allow: ['look', { tool: 'web_search', args: { query: 'moon' } }] }, false],
    ['a rule that denies some of its calls', { deny: [{ category: 'network', args: { query: '*secret*' } }] }, false],
    ['a rule about arguments alone', { deny: [{ args: { path: '/etc/*' } }] }, true],
  ])('is offered by %s only if no call of it would be denied or wait', async (_, permissions, isOffered) => {
    const [first] = await offered(permissions);
    expect(first).toEqual(isOffered ? ['web_search'] : []);
  });

  test('is no longer offered once the permissions of the run are narrowed', async () => {
    expect(await offered({}, { deny: [{ category: 'network' }] })).toEqual([['web_search'], []]);
  });

  test('is not offered for the best final answer', async () => {
    const agent = defineAgent({ name: 'scout', model: 'p/m', tools: [look, SEARCH], limits: { steps: 1 }, finalAttempt: true });
    const model = scriptedModel([callTool('look', {}), say('Best.')]);
    await testAgent(agent, { input: 'Q', model });
    expect(model.requests.map((request) => request.hosted?.length ?? 0)).toEqual([1, 0]);
  });
});
