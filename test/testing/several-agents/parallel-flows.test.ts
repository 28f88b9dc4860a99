import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineFlow, defineHook, defineTool } from '../../../src/index.ts';
import type { ModelClient, ModelRequest } from '../../../src/core/domain/model.ts';
import { callTool, scriptedModel, testAgent } from '../../../src/testing/index.ts';

const north = defineAgent({ name: 'north', model: 'scripted/north', instructions: 'You are north.' });
const south = defineAgent({ name: 'south', model: 'scripted/south', instructions: 'You are south.', deps: z.object({ user: z.string() }) });
const both = defineFlow({ name: 'both', kind: 'parallel', agents: [north, south] });
const deps = { user: 'Ada' };

/** A model that answers by its name, at once or with a failure. */
function answering(answers: Record<string, string | Error>): ModelClient & { requests: ModelRequest[] } {
  const requests: ModelRequest[] = [];
  return {
    capabilities: { structuredOutput: true },
    requests,
    call: async (request) => {
      requests.push(request);
      const answer = answers[request.model] ?? '';
      if (answer instanceof Error) throw answer;
      return { content: answer, toolCalls: [], usage: { promptTokens: 10, completionTokens: 5, totalTokens: 15 }, finishReason: 'stop' };
    },
  };
}

test('each agent has the input in its own conversation, and the output has all answers in the order of the agents', async () => {
  const model = answering({ north: 'Cold.', south: 'Warm.' });
  const { result, events } = await testAgent(both, { model, input: 'How is it?', deps, runId: 'run-1' });
  expect(result).toMatchObject({
    status: 'completed',
    output: '[north]\nCold.\n\n[south]\nWarm.',
    agentName: 'both',
    stepsUsed: 1,
    usage: { llmCalls: 0 },
    treeUsage: { llmCalls: 2, totalTokens: 30 },
  });
  expect(model.requests.map(({ conversation }) => conversation.length)).toEqual([1, 1]);
  expect(events.map(({ author }) => author)).toEqual(['user', 'both', 'both']);
  expect(JSON.stringify(events).match(/How is it\?/g)).toHaveLength(1);
});

test('the error of a flow names every agent that has not completed, and the record has all results', async () => {
  const model = answering({
    north: 'Cold.',
    south: Object.assign(new Error('down'), { name: 'ModelCallError', code: 'model_bad_request' }),
  });
  const { result } = await testAgent(both, { model, input: 'How is it?', deps });
  expect(result).toMatchObject({ status: 'error', errorCode: 'child_failed', output: '[north]\nCold.' });
  expect(result.error).toBe('Not all agents of flow "both" have completed: south (error: down)');
  expect(result.steps?.[0]?.toolCalls).toMatchObject([
    { toolName: 'north', isError: false, childRunId: expect.stringContaining('/north.') },
    { toolName: 'south', isError: true, childRunId: expect.stringContaining('/south.') },
  ]);
});

test('an agent that ends at a limit is named with that end', async () => {
  const look = defineTool({ name: 'look', description: 'Looks', parameters: z.object({}), execute: () => 'seen' });
  const brief = defineAgent({ name: 'brief', model: 'scripted/brief', tools: [look], limits: { steps: 1 } });
  const flow = defineFlow({ name: 'hurried', kind: 'parallel', agents: [brief] });
  const { result } = await testAgent(flow, { model: scriptedModel([callTool('look')]), input: 'How is it?' });
  expect(result.error).toBe('Not all agents of flow "hurried" have completed: brief (max_iterations_reached)');
});

test('a long input reaches every agent, and is not in the calls', async () => {
  const model = answering({ north: 'Long.', south: 'Long.' });
  const input = 'w'.repeat(5_000);
  const { result, events } = await testAgent(both, { model, input, deps });
  expect(result.status).toBe('completed');
  for (const { conversation } of model.requests)
    expect(conversation[0]?.content).toEqual([{ type: 'message', role: 'user', content: input }]);
  expect(JSON.stringify(events.slice(1))).not.toContain('www');
});

test('deps that do not fit one of the agents end the flow before a model is called', async () => {
  const model = answering({});
  const { result } = await testAgent(both, { model, input: 'Go' });
  expect(result).toMatchObject({ status: 'error', errorCode: 'invalid_input' });
  expect(model.requests).toEqual([]);
});

test('a flow does not begin with the conversation of others, which it would have to copy', async () => {
  const model = answering({});
  const messages = [
    { type: 'message', role: 'user', content: 'Hi' },
    { type: 'message', role: 'assistant', content: 'Hello' },
  ] as const;
  const { result } = await testAgent(both, { model, messages, input: 'Go', deps });
  expect(result).toMatchObject({ status: 'error', errorCode: 'invalid_input' });
  expect(result.error).toContain('start it with "input" alone, without "messages"');
  expect(model.requests).toEqual([]);
});

test('hooks about the start of agents hold for the agents of a flow', async () => {
  const seen: unknown[] = [];
  const deny = defineHook({
    name: 'no-south',
    on: 'subagent_start',
    match: 'south',
    run: ({ agent }) => {
      seen.push(agent);
      return { deny: 'not in summer' };
    },
  });
  const model = answering({ north: 'Cold.' });
  const { result } = await testAgent(both, { model, input: 'Go', deps, hooks: [deny] });
  expect(seen).toEqual(['south']);
  expect(result).toMatchObject({ status: 'error', output: '[north]\nCold.' });
  expect(result.error).toContain('not in summer');
  expect(model.requests).toHaveLength(1);
});

test('a flow has the limits of its agents together, and starts none whose share is nothing', async () => {
  const small = defineAgent({ name: 'small', model: 'scripted/small', limits: { totalTokens: 100 } });
  const large = defineAgent({ name: 'large', model: 'scripted/large', limits: { totalTokens: 300 } });
  const flow = defineFlow({ name: 'sized', kind: 'parallel', agents: [small, large] });
  expect(flow.limits).toEqual({ steps: 10, finalAttempt: false, totalTokens: 400 });
  const free = defineFlow({ name: 'free', kind: 'parallel', agents: [north, defineAgent({ name: 'east', model: 'scripted/east' })] });
  const model = answering({ north: 'N', east: 'E' });
  const refused = await testAgent(free, { input: 'Go', model, limits: { totalTokens: 1 } });
  expect(refused.result).toMatchObject({ status: 'error', errorCode: 'child_failed' });
  expect(refused.result.error).toContain('totalTokens: nothing is left for another run');
  // The first agent's equal share of one token is zero; the second agent gets the rest.
  expect(model.requests.map((request) => request.model)).toEqual(['east']);
});
