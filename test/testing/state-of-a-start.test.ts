import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineProgram, tool, unit } from '../../src/define/program/index.ts';
import { defineAgent, defineTool } from '../../src/index.ts';
import { callTool, say, scriptedModel, testAgent, testProgram } from '../../src/testing/index.ts';

const count = defineTool({
  name: 'count',
  description: 'Counts',
  parameters: z.object({}),
  execute: (_, { state, setState }) => {
    const seen = Number(state['seen'] ?? 0) + 1;
    setState('seen', seen);
    return seen;
  },
});

const store = defineTool({
  name: 'store',
  description: 'Stores',
  parameters: z.object({}),
  execute: (_, { setState }) => setState('login', { password: 'v8-Kq2' }),
});

test('a run begins with the state of its start, which tools read and change', async () => {
  const agent = defineAgent({ name: 'counter', model: 'scripted/m', tools: [count] });
  const { state, result } = await testAgent(agent, {
    input: 'Count',
    state: { seen: 4, other: 'x' },
    model: scriptedModel([callTool('count'), say('Done')]),
  });
  expect(result.steps?.[0]?.toolCalls[0]?.result).toBe('5');
  expect(state).toEqual({ seen: 5, other: 'x' });
});

test('so does the run of a program', async () => {
  const program = defineProgram({ name: 'p', units: [unit('u', {}, [tool('One', count), tool('Two', count)])] });
  const { result, state } = await testProgram(program, { state: { seen: 1 }, model: scriptedModel([]) });
  expect(result.output).toBe(3);
  expect(state).toEqual({ seen: 3 });
});

test('a tool cannot put a credential into the state: its call is an error, and the state stays', async () => {
  const agent = defineAgent({ name: 'keeper', model: 'scripted/m', tools: [store] });
  const { state, result } = await testAgent(agent, { input: 'Keep it', model: scriptedModel([callTool('store'), say('Done')]) });
  expect(result.steps?.[0]?.toolCalls[0]).toMatchObject({
    isError: true,
    result: expect.stringContaining('setState: state.login.password is a text under the name of a credential'),
  });
  expect(state).toEqual({});
});
