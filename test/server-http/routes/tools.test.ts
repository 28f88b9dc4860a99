import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool } from '../../../src/index.ts';
import type { Caller } from '../../../src/server/index.ts';
import { checkedHandler } from '../checked-handler.ts';
import { answer, clientWithRun } from '../requests.ts';

const search = defineTool({
  name: 'search',
  version: '2',
  description: 'Searches.',
  category: 'search',
  parameters: z.object({ query: z.string() }),
  execute: () => 'found',
});
const older = defineTool({
  name: 'search',
  version: '1',
  description: 'Searches.',
  parameters: z.object({ q: z.string() }),
  execute: () => '',
});
const pay = defineTool({ name: 'pay', description: 'Pays.', parameters: z.object({}), execute: () => 'paid' });

const agents = [
  defineAgent({ name: 'clerk', model: 'p/m', tools: [search, pay] }),
  defineAgent({ name: 'desk', model: 'p/m', tools: [search] }),
  defineAgent({ name: 'archive', model: 'p/m', tools: [older] }),
  defineAgent({ name: 'poet', model: 'p/m' }),
];

interface Tools {
  tools: { name: string; version?: string; agents: string[] }[];
}

async function toolsFor(caller: Caller): Promise<{ status: number; body: Tools }> {
  return answer<Tools>(await checkedHandler(clientWithRun({}), { agents, authenticate: () => caller }), 'GET', '/v1/tools');
}

test('tools are listed by name and version, each once with the agents that have it', async () => {
  const { status, body } = await toolsFor({ id: 'c', principal: 'all', scopes: ['runs:read'] });
  expect(status).toBe(200);
  expect(body.tools).toMatchObject([
    { name: 'pay', description: 'Pays.', agents: ['clerk'] },
    { name: 'search', version: '1', agents: ['archive'] },
    { name: 'search', version: '2', category: 'search', agents: ['clerk', 'desk'], parameters: { required: ['query'] } },
  ]);
  expect(body.tools[0]).not.toHaveProperty('version');
});

test.each<[string, string[] | undefined, string[]]>([
  ['of the agents that it may start', ['desk'], ['search of desk']],
  ['of several', ['desk', 'archive', 'other'], ['search of archive', 'search of desk']],
  ['none without an agent', ['other'], []],
  ['all without a restriction', undefined, ['pay of clerk', 'search of archive', 'search of clerk, desk']],
])('a caller sees the tools %s', async (_, allowed, expected) => {
  const { body } = await toolsFor({
    id: 'c',
    principal: 'all',
    scopes: ['runs:read'],
    ...(allowed === undefined ? {} : { agents: allowed }),
  });
  expect(body.tools.map((tool) => `${tool.name} of ${tool.agents.join(', ')}`)).toEqual(expected);
});

test('a caller that may not read gets neither tools nor agents', async () => {
  const caller: Caller = { id: 'c', principal: 'all', scopes: ['runs:write'] };
  const handler = await checkedHandler(clientWithRun({}), { agents, authenticate: () => caller });
  for (const path of ['/v1/tools', '/v1/agents']) expect(await answer(handler, 'GET', path)).toMatchObject({ status: 403 });
});

test('agents are listed with the versions of their tools', async () => {
  const handler = await checkedHandler(clientWithRun({}), { agents });
  const { body } = await answer<{ tools: object[] }>(handler, 'GET', '/v1/agents/clerk');
  expect(body.tools).toMatchObject([
    { name: 'search', version: '2', description: 'Searches.' },
    { name: 'pay', description: 'Pays.' },
  ]);
});
