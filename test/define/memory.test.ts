import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool, quickjs } from '../../src/index.ts';

const tool = (name: string) => defineTool({ name, description: 'A tool', parameters: z.object({}), execute: () => 'done' });
const memoryOf = (memory: object | boolean | undefined): unknown =>
  defineAgent({ name: 'clerk', model: 'openai/m', ...(memory === undefined ? {} : { memory }) }).memory;

test('an agent has the defaults of a memory, or none', () => {
  expect(memoryOf(true)).toEqual({ recall: { topK: 5, maxBytes: 4_096 }, tools: true });
  expect(memoryOf({})).toEqual(memoryOf(true));
  expect(memoryOf({ recall: { topK: 3 }, tools: false, name: 'desk' })).toEqual({ name: 'desk', recall: { topK: 3, maxBytes: 4_096 } });
  expect(memoryOf({ recall: false })).toEqual({ tools: true });
  expect(memoryOf(false)).toBeUndefined();
  expect(memoryOf(undefined)).toBeUndefined();
});

test('the tools of a memory can be named by permissions, limits and settings', () => {
  const agent = defineAgent({
    name: 'clerk',
    model: 'openai/m',
    memory: true,
    permissions: { deny: ['forget'] },
    limits: { toolCallsByName: { remember: 3 } },
    settings: { toolChoice: { tool: 'recall' } },
  });
  expect(agent.permissions).toMatchObject({ deny: [{ tool: 'forget' }] });
});

test('a tool may have the name of one of the memory if the agent leaves those out', () => {
  const agent = defineAgent({ name: 'clerk', model: 'openai/m', memory: { tools: false }, tools: [tool('recall')] });
  expect(agent.tools.map(({ name }) => name)).toEqual(['recall']);
});

test.each<[string, object, string]>([
  ['a text', { memory: 'yes' }, '"memory" is "yes": write true, or { recall, tools, name }'],
  ['an unknown option', { memory: { top: 1 } }, '"memory" has an unknown option "top" (known: recall, tools, name)'],
  [
    'no use of it',
    { memory: { recall: false, tools: false } },
    '"memory" has neither "recall" nor "tools": leave it out, or set one to true',
  ],
  ['recall as a text', { memory: { recall: 'all' } }, '"memory.recall" is "all": write true, false, or { topK, maxBytes }'],
  ['no entries', { memory: { recall: { topK: 0 } } }, '"memory.recall.topK" is 0: write a whole number of at least 1'],
  ['half an entry', { memory: { recall: { topK: 1.5 } } }, '"memory.recall.topK" is 1.5: write a whole number of at least 1'],
  ['too many entries', { memory: { recall: { topK: 51 } } }, '"memory.recall.topK" is 51: write at most 50'],
  ['too few bytes', { memory: { recall: { maxBytes: 299 } } }, '"memory.recall.maxBytes" is 299: write a whole number of at least 300'],
  ['too many bytes', { memory: { recall: { maxBytes: 5_000 } } }, '"memory.recall.maxBytes" is 5000: write at most 4096'],
  ['tools as a text', { memory: { tools: 'recall' } }, '"memory.tools" is "recall": write true or false'],
  ['an empty name', { memory: { name: ' ' } }, '"memory.name" is " ": write a text'],
  ['a name of two lines', { memory: { name: 'a\nb' } }, '"memory.name" is "a\\nb": a name is one line of at most 100 characters'],
  [
    'a tool of the same name',
    { memory: true, tools: [tool('forget')] },
    'has a tool named "forget", which its "memory" gives it: give the tool another name, or set "memory.tools" to false',
  ],
  [
    'answers in code',
    { memory: true, replyFormat: 'code', code: { executor: quickjs() }, tools: [tool('look')] },
    'answers in code, which cannot call remember: set "memory.tools" to false, or leave "replyFormat" out',
  ],
])('%s is refused', (_, options, message) => {
  expect(() => defineAgent({ name: 'clerk', model: 'openai/m', ...options } as never)).toThrow(message);
});
