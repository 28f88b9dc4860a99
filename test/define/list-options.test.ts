import { expect, test } from 'vitest';
import type { LonghaulClient } from '../../src/client/index.ts';
import { defineAgent, defineCapability, defineFlow, defineProgram } from '../../src/index.ts';
import { createHandler } from '../../src/server/index.ts';
import { createWorker, LonghaulPlugin } from '../../worker/index.ts';

const clerk = defineAgent({ name: 'clerk', model: 'p/m' });

const agent = (options: object): unknown => defineAgent({ name: 'a', model: 'p/m', ...options });
const capability = (options: object): unknown => defineCapability({ name: 'a', ...options });
const flow = (options: object): unknown => defineFlow({ name: 'a', kind: 'sequential', agents: [clerk], ...options });
const program = (options: object): unknown => defineProgram({ name: 'a', model: 'p/m', units: [], ...options });
const worker = async (options: object): Promise<unknown> =>
  createWorker({ agents: [clerk], providers: {}, address: '127.0.0.1:1', ...options });
const plugin = (options: object): unknown => new LonghaulPlugin({ agents: [clerk], providers: {}, ...options });
const service = (options: object): unknown => createHandler({} as LonghaulClient, options);

/** Every option that is a list, of each function that defines something. */
const LISTS: [string, (options: object) => unknown, string[]][] = [
  ['an agent', agent, ['tools', 'handoffs', 'capabilities', 'skills', 'mcp', 'guardrails', 'hooks']],
  ['a capability', capability, ['tools', 'skills', 'mcp', 'guardrails', 'hooks']],
  ['a flow', flow, ['agents']],
  ['a program', program, ['units']],
  ['a worker', worker, ['agents', 'programs', 'tools', 'anchors', 'hooks']],
  ['the plugin', plugin, ['agents', 'programs', 'tools', 'anchors', 'hooks']],
  ['the service', service, ['agents', 'programs', 'tools']],
];

const options = LISTS.flatMap(([what, define, names]) => names.map((name) => [name, what, define] as const));

test.each(options)('"%s" of %s that is no list is refused by its name, with what to write', async (name, _, define) => {
  for (const value of [{ search: clerk }, 'search', null, 7, clerk]) {
    let thrown: unknown;
    try {
      await define({ [name]: value });
    } catch (error) {
      thrown = error;
    }
    expect(String(thrown)).toMatch(new RegExp(`^UsageError: [\\s\\S]*\\b${name}\\b[\\s\\S]*(?:list|array|made? (?:it|its entries) with)`));
  }
});

test('tools as an object, as the AI SDK has them, are answered with the list to write', () => {
  expect(() => agent({ tools: { search: {} } })).toThrow(
    'agent "a": "tools" is an object: write a list, tools: [search, refund], of what defineTool returned',
  );
});
