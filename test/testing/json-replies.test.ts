import { expect, test } from 'vitest';
import { z } from 'zod';
import type { ModelRequest } from '../../src/core/domain/model.ts';
import { defineAgent, defineTool } from '../../src/index.ts';
import { messageTexts } from '../model/reply-formats/message-texts.ts';
import { approve, say, scriptedModel, testAgent } from '../../src/testing/index.ts';

const add = defineTool({
  name: 'add',
  description: 'Adds two numbers.',
  parameters: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => a + b,
});
const big = defineTool({
  name: 'big',
  description: 'Returns much.',
  parameters: z.object({ n: z.number() }),
  execute: ({ n }) => 'x'.repeat(n),
});
const agent = defineAgent({
  name: 'sums',
  model: 'scripted/m',
  tools: [add, big],
  replyFormat: 'json',
  limits: { steps: 6 },
  finalAttempt: true,
});
const reply = (object: object) => say(JSON.stringify(object));

/** The messages that each request adds to the one before, as role and text. */
function added(requests: readonly ModelRequest[]): string[][] {
  const texts = requests.map(messageTexts);
  return texts.map((list, index) => list.slice(texts[index - 1]?.length ?? 0));
}

test('a run reads as a conversation of text, whose requests extend each other', async () => {
  const model = scriptedModel([
    say('Let me add.'),
    reply({ tool: 'add', arguments: { a: 1, b: 'two' } }),
    reply({ scratchpad: 'a sum', tool: 'add', arguments: { a: 1, b: 2 } }),
    reply({ tool: 'big', arguments: { n: 501 } }),
    reply({ answer: 3 }),
  ]);
  const { result, requests } = await testAgent(agent, { input: 'What is 1 + 2?', model });
  expect(result).toMatchObject({ status: 'completed', output: '3', stepsUsed: 5 });
  expect(result.toolCallsByName).toEqual({ add: 1, big: 1 });
  expect(requests.map(({ settings }) => settings.temperature)).toEqual([0.7, 0.9, 1.1, 1.1, 1.1]);
  expect(requests.every(({ tools }) => tools.length === 0)).toBe(true);
  expect(added(requests)).toEqual([
    ['user: What is 1 + 2?'],
    ['assistant: Let me add.', expect.stringMatching(/^user: Your reply was not valid JSON/)],
    [
      'assistant: {"tool":"add","arguments":{"a":1,"b":"two"}}',
      "user: ArgError: Invalid arguments for 'add': b: expected number, got string",
    ],
    ['assistant: {"scratchpad":"a sum","tool":"add","arguments":{"a":1,"b":2}}', 'user: Observation: 3'],
    ['assistant: {"tool":"big","arguments":{"n":501}}', `user: Observation: ${'x'.repeat(500)}...`],
  ]);
});

test('unusable replies end at the limit of steps, after a final attempt at temperature 0', async () => {
  const model = scriptedModel([say('no'), reply({ answer: 'my best' })]);
  const { result, requests, steps } = await testAgent(agent, { input: 'Q', model, limits: { steps: 1 } });
  expect(result).toMatchObject({ status: 'max_iterations_reached', stopReason: 'step_limit', output: 'my best' });
  expect(steps.at(-1)).toMatchObject({ final: true, toolCalls: [] });
  expect(requests.at(-1)?.settings.temperature).toBe(0);
  expect(added(requests).at(-1)?.at(-1)).toBe('user: Return your best final answer now.');
});

test('a final attempt that calls a tool runs nothing', async () => {
  const model = scriptedModel([reply({}), reply({ tool: 'add', arguments: { a: 1, b: 2 } })]);
  const { result } = await testAgent(agent, { input: 'Q', model, limits: { steps: 1 } });
  expect(result).toMatchObject({ status: 'max_iterations_reached', toolCallsByName: {}, toolCallsNotRun: { not_started: { add: 1 } } });
  expect(result.steps?.at(-1)?.toolCalls[0]).toMatchObject({ isError: true, durationMs: null });
});

test('unusable replies do not count as calls within the limits', async () => {
  const model = scriptedModel([say('no'), reply({ tool: 'add', arguments: { a: 1, b: 2 } }), reply({ answer: 'ok' })]);
  const { result } = await testAgent(agent, { input: 'Q', model, limits: { toolCalls: 1 } });
  expect(result).toMatchObject({ status: 'completed', output: 'ok' });
});

test('arguments that an approver edits are those that the model reads', async () => {
  const refund = defineTool({
    name: 'refund',
    description: 'Pays back',
    parameters: z.object({ amount: z.number() }),
    approval: 'always',
    execute: ({ amount }) => `refunded ${amount}`,
  });
  const desk = defineAgent({ name: 'desk', model: 'scripted/m', tools: [refund], replyFormat: 'json' });
  const model = scriptedModel([reply({ tool: 'refund', arguments: { amount: 50 } }), reply({ answer: 'ok' })]);
  const { requests } = await testAgent(desk, { input: 'Q', model, decide: () => approve({ arguments: { amount: 5 }, by: 'ann' }) });
  expect(added(requests)[1]?.at(-1)).toBe(
    'user: Observation: refunded 5\nNote: the approver changed its arguments before it ran: {"amount":5}',
  );
});

test('the answer of a typed agent is a value', async () => {
  const typed = defineAgent({ name: 'typed', model: 'scripted/m', tools: [add], replyFormat: 'json', output: z.object({ n: z.number() }) });
  const model = scriptedModel([reply({ answer: { n: 3 } })], { capabilities: { structuredOutput: false } });
  const { result } = await testAgent(typed, { input: 'Q', model });
  expect(result).toMatchObject({ status: 'completed', output: { n: 3 } });
});
