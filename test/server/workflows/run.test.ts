import { expect, test } from 'vitest';
import { callTool, failWith, say, scriptedModel, together } from '../../../src/testing/index.ts';
import { assistant } from '../testbed/agents.ts';
import { executionStatus, historyOf, Testbed } from '../testbed/testbed.ts';

test('a run calls tools and answers, and its events, steps and result agree', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([
    together(
      say('let me look'),
      callTool('search', { query: 'pace' }, 'c1'),
      callTool('broken', {}, 'c2'),
      callTool('nope', { x: 1 }, 'c3'),
    ),
    say('17,000 hours'),
  ]);
  await testbed.work({ agents: [assistant], providers: { scripted } });
  const handle = await testbed.client.start(assistant, { input: 'How long?', taskQueue: testbed.taskQueue });

  const events = [];
  for await (const event of handle.events({ follow: true })) events.push(event);
  expect(events.map(({ author, content }) => [author, content])).toEqual([
    ['user', [{ type: 'message', role: 'user', content: 'How long?' }]],
    [
      'assistant',
      [
        { type: 'message', role: 'assistant', content: 'let me look' },
        { type: 'tool_call', toolCallId: 'c1', name: 'search', arguments: { query: 'pace' } },
        { type: 'tool_call', toolCallId: 'c2', name: 'broken', arguments: {} },
        { type: 'tool_call', toolCallId: 'c3', name: 'nope', arguments: { x: 1 } },
      ],
    ],
    [
      'assistant',
      [
        { type: 'tool_result', toolCallId: 'c1', name: 'search', status: 'success', content: ['found: pace'] },
        { type: 'tool_result', toolCallId: 'c2', name: 'broken', status: 'error', content: ['boom'] },
        { type: 'tool_result', toolCallId: 'c3', name: 'nope', status: 'error', content: ["Tool 'nope' not found in agent's tool list"] },
      ],
    ],
    ['assistant', [{ type: 'message', role: 'assistant', content: '17,000 hours' }]],
  ]);

  const result = await handle.result({ steps: true });
  expect(result).toMatchObject({ status: 'completed', stopReason: 'final_answer', output: '17,000 hours', stepsUsed: 2, success: true });
  expect(result.toolCallsByName).toEqual({ search: 1, broken: 1 });
  expect(result.toolCallsNotRun).toEqual({ unknown: { nope: 1 } });
  expect(result.usage).toMatchObject({ totalTokens: 30, llmCalls: 2 });
  expect(await handle.steps()).toEqual(result.steps);
  expect(await executionStatus(testbed, handle.runId)).toBe('COMPLETED');
  scripted.assertUsedUp();
});

test('a model that fails for good ends the run as Failed, and the steps before are kept', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([callTool('search', { query: 'a' }), failWith('model_unauthorized', 'bad key')]);
  await testbed.work({ agents: [assistant], providers: { scripted } });
  const result = await testbed.client.run(assistant, { input: 'Q', taskQueue: testbed.taskQueue, steps: true });

  expect(result).toMatchObject({ status: 'error', errorCode: 'model_unauthorized', error: 'bad key', stepsUsed: 1, success: false });
  expect(result.steps?.map((step) => step.toolCalls.map((call) => call.result))).toEqual([['found: a']]);
  expect(await executionStatus(testbed, result.runId)).toBe('FAILED');
  expect(scripted.requests).toHaveLength(2);
});

test('a passing failure of the model is retried, and is visible only in the history', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([failWith('model_rate_limited', 'slow down', { retryAfter: 10 }), say('ok')]);
  await testbed.work({ agents: [assistant], providers: { scripted } });
  const result = await testbed.client.run(assistant, { input: 'Q', taskQueue: testbed.taskQueue });
  expect(result).toMatchObject({ status: 'completed', output: 'ok', stepsUsed: 1 });
  expect(scripted.requests).toHaveLength(2);
});

test('at the step limit a run closes as Completed for Temporal, but its result is not a success', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([together(say('still working'), callTool('search', { query: 'a' }))], { repeatLast: true });
  await testbed.work({ agents: [assistant], providers: { scripted } });
  const result = await testbed.client.run(assistant, { input: 'Q', taskQueue: testbed.taskQueue, limits: { steps: 3 } });
  expect(result).toMatchObject({
    status: 'max_iterations_reached',
    stopReason: 'step_limit',
    output: 'still working',
    stepsUsed: 3,
    success: false,
  });
  expect(await executionStatus(testbed, result.runId)).toBe('COMPLETED');
});

test('a step with one tool call adds twelve events to history', async () => {
  await using testbed = await Testbed.open();
  const lengths: number[] = [];
  const steps = [1, 2, 3];
  const script = steps.flatMap((count) => [...Array.from({ length: count }, () => callTool('search', { query: 'a' })), say('done')]);
  await testbed.work({ agents: [assistant], providers: { scripted: scriptedModel(script) } });
  for (const _ of steps) {
    const { runId } = await testbed.client.run(assistant, { input: 'Q', taskQueue: testbed.taskQueue });
    lengths.push((await historyOf(testbed, runId)).length);
  }
  expect(lengths.map((length, index) => length - (lengths[index - 1] ?? length)).slice(1)).toEqual([12, 12]);
});
