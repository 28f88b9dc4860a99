import { expect, test } from 'vitest';
import { z } from 'zod';
import { agentTool, defineAgent, defineTool } from '../../../src/index.ts';
import { memoryNamespace, type MemoryStore } from '../../../src/memory/memory-store.ts';
import {
  approve,
  callTool,
  dropCompletion,
  killWorker,
  reject,
  say,
  scriptedModel,
  testAgent,
  timelineOf,
} from '../../../src/testing/index.ts';
import { fakeMemory } from '../../fakes/fake-memory.ts';

const principal = { tenant: 'acme', user: 'ada' };
const namespace = memoryNamespace({ principal, agent: 'clerk' });
const clerk = defineAgent({ name: 'clerk', model: 'scripted/m', memory: { recall: false } });
const keep = callTool('remember', { key: 'colour', value: 'green' }, 'c1');

test('the model stores, finds and removes values', async () => {
  const memory = fakeMemory();
  const model = scriptedModel([keep, callTool('recall', { query: 'colour' }), callTool('forget', { key: 'colour' }), say('Done.')]);
  const run = await testAgent(clerk, { input: 'Go', runId: 'run-1', principal, memory, model });
  expect(timelineOf(run)).toEqual([
    'user: Go',
    'clerk calls remember {"key":"colour","value":"green"}',
    'remember: {"remembered":"colour"}',
    'clerk calls recall {"query":"colour"}',
    'recall: {"entries":[{"key":"colour","value":"green","when":"2023-11-14T22:13:20.000Z"}]}',
    'clerk calls forget {"key":"colour"}',
    'forget: {"forgotten":"colour"}',
    'clerk: Done.',
  ]);
  expect(memory.stored).toEqual([{ namespace, key: 'colour', value: 'green', source: { runId: 'run-1', offset: 1 } }]);
  expect((await memory.list({ namespace })).entries).toEqual([]);
});

test('a later run recalls the entries of an earlier one', async () => {
  const memory = fakeMemory();
  const both = defineAgent({ name: 'clerk', model: 'scripted/m', memory: true });
  await testAgent(both, { input: 'Go', principal, memory, model: scriptedModel([keep, say('Kept.')]) });
  const run = await testAgent(both, { input: 'My colour?', principal, memory, model: scriptedModel([say('Green.')]) });
  expect(timelineOf(run)[1]).toMatch(/^memory: .*"key":"colour","value":"green"/s);
});

test('the memory is not chosen by the arguments', async () => {
  const memory = fakeMemory([{ namespace: memoryNamespace({ agent: 'clerk' }), key: 'colour', value: 'red' }]);
  const model = scriptedModel([
    callTool('recall', { query: 'colour', namespace: '[null]' }),
    callTool('recall', { query: 'colour' }),
    say('Done.'),
  ]);
  const run = await testAgent(clerk, { input: 'Go', principal, memory, model });
  expect(timelineOf(run).filter((line) => line.startsWith('recall'))).toEqual([
    expect.stringMatching(/^recall failed: .*namespace/s),
    'recall: {"entries":[]}',
  ]);
  expect(memory.asked.map((query) => query.namespace)).toEqual([namespace]);
});

test.each([
  ['a completion that is lost', () => dropCompletion('remember')],
  ['a worker that is killed', () => killWorker({ tool: 'remember' })],
])('after %s there is one entry', async (_, fault) => {
  const memory = fakeMemory();
  const model = scriptedModel([keep, say('Kept.')]);
  const run = await testAgent(clerk, { input: 'Go', runId: 'run-1', principal, memory, model, faults: [fault()] });
  expect(run.result.output).toBe('Kept.');
  expect(memory.stored).toHaveLength(2);
  expect((await memory.list({ namespace })).entries).toEqual([
    { key: 'colour', value: 'green', metadata: {}, timestamp: 1_700_000_000, source: { runId: 'run-1', offset: 1 } },
  ]);
});

test('a removal whose completion was lost is reported as one', async () => {
  const memory = fakeMemory([{ namespace, key: 'colour', value: 'green' }]);
  const model = scriptedModel([callTool('forget', { key: 'colour' }), say('Done.')]);
  const run = await testAgent(clerk, { input: 'Go', principal, memory, model, faults: [dropCompletion('forget')] });
  expect(timelineOf(run)[2]).toBe('forget: {"forgotten":"colour"}');
});

test('the model is told that there is nothing to remove', async () => {
  const model = scriptedModel([callTool('forget', { key: 'size' }), say('Done.')]);
  const run = await testAgent(clerk, { input: 'Go', principal, memory: fakeMemory(), model });
  expect(timelineOf(run)[2]).toBe('forget failed: There is no entry with the key "size"');
});

test('permissions and approvals name the tools of the memory', async () => {
  const memory = fakeMemory([{ namespace, key: 'colour', value: 'green' }]);
  const careful = defineAgent({
    name: 'clerk',
    model: 'scripted/m',
    memory: { recall: false },
    permissions: { deny: ['forget'], ask: ['remember'] },
  });
  const model = scriptedModel([callTool('forget', { key: 'colour' }), callTool('remember', { key: 'size', value: 'L' }), say('Done.')]);
  const run = await testAgent(careful, { input: 'Go', principal, memory, model, decide: () => approve() });
  expect(timelineOf(run)).toEqual([
    'user: Go',
    expect.stringContaining('calls forget'),
    expect.stringMatching(/^forget failed: The permissions of this run do not allow/),
    expect.stringContaining('calls remember'),
    expect.stringContaining('approves remember'),
    'remember: {"remembered":"size"}',
    'clerk: Done.',
  ]);
  expect((await memory.list({ namespace })).entries.map(({ key }) => key)).toEqual(['colour', 'size']);
});

test.each([
  ['denied by a permission', { deny: ['remember', 'forget'] }, undefined],
  ['rejected by a person', { ask: ['remember', 'forget'] }, () => reject('no')],
])('calls that are %s write nothing', async (_, permissions, decide) => {
  const memory = fakeMemory([{ namespace, key: 'colour', value: 'red' }]);
  const before = await memory.list({ namespace });
  const careful = defineAgent({ name: 'clerk', model: 'scripted/m', memory: { recall: false }, permissions });
  const model = scriptedModel([keep, callTool('forget', { key: 'colour' }), say('Done.')]);
  const run = await testAgent(careful, { input: 'Go', principal, memory, model, ...(decide === undefined ? {} : { decide }) });
  expect(run.result.output).toBe('Done.');
  expect(run.steps.flatMap(({ toolCalls }) => toolCalls.map(({ isError }) => isError))).toEqual([true, true]);
  expect(memory.stored).toEqual([]);
  expect(await memory.list({ namespace })).toEqual(before);
});

test('a value with a secret, or a value that is too large, is not stored', async () => {
  const use = defineTool({
    name: 'use_token',
    description: 'Uses the token',
    parameters: z.object({}),
    execute: async (__, { secret }) => (await secret('token')).length,
  });
  const knowing = defineAgent({ name: 'clerk', model: 'scripted/m', memory: { recall: false }, tools: [use] });
  const memory = fakeMemory();
  const model = scriptedModel([
    callTool('use_token'),
    callTool('remember', { key: 'token', value: 'It is tok-123456789' }),
    callTool('remember', { key: 'long', value: 'x'.repeat(8_001) }),
    say('Done.'),
  ]);
  const run = await testAgent(knowing, { input: 'Go', principal, memory, model, secrets: { token: 'tok-123456789' } });
  expect(timelineOf(run).filter((line) => line.startsWith('remember'))).toEqual([
    'remember failed: The entry contains a secret: it was not stored. Leave the secret out',
    expect.stringMatching(/^remember failed: The value has 8003 bytes of JSON, over 8000: it was not stored/),
  ]);
  expect(memory.stored).toEqual([]);
});

test('a memory that fails is an error that the model reads, after the attempts of a tool', async () => {
  const failing: MemoryStore = { ...fakeMemory(), remember: () => Promise.reject(new Error('no connection')) };
  const run = await testAgent(clerk, { input: 'Go', principal, memory: failing, model: scriptedModel([keep, say('Sorry.')]) });
  expect(timelineOf(run)[2]).toBe('remember failed: The memory is not available: no connection (3 attempts)');
});

test('a sub-agent acts for the same user, with its own memory name', async () => {
  const memory = fakeMemory();
  const lead = defineAgent({ name: 'lead', model: 'scripted/m', tools: [agentTool(clerk)], memory: true });
  const model = scriptedModel([callTool('clerk', { request: 'Keep it' }), keep, say('Kept.'), keep, say('Done.')]);
  await testAgent(lead, { input: 'Go', principal, memory, model });
  expect(memory.stored.map((entry) => entry.namespace)).toEqual([namespace, memoryNamespace({ principal, agent: 'lead' })]);
});
