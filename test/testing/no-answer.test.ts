import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { ModelResponse } from '../../src/core/domain/model.ts';
import { agent as agentStep, ask, defineProgram, unit } from '../../src/define/program/index.ts';
import { agentTool, defineAgent, defineFlow, defineTool } from '../../src/index.ts';
import { callTool, malformed, say, scriptedModel, type ScriptEntry, testAgent, testProgram } from '../../src/testing/index.ts';

const weather = defineTool({
  name: 'weather',
  description: 'w',
  parameters: z.object({ city: z.string() }),
  execute: ({ city }) => `12 in ${city}`,
});
const clerk = defineAgent({ name: 'clerk', model: 'scripted/m', instructions: 'Help.', tools: [weather], modelMaxAttempts: 3 });

const of = (response: Partial<ModelResponse> | null): ScriptEntry =>
  malformed(response === null ? null : { content: '', toolCalls: [], usage: null, finishReason: 'stop', ...response });

const NONE: [string, ScriptEntry, string][] = [
  ['nothing at all', of(null), 'model_no_answer'],
  ['an empty text', say(''), 'model_no_answer'],
  ['blanks', say('\n '), 'model_no_answer'],
  ['reasoning alone', say('<think>Hm.</think>'), 'model_no_answer'],
  ['reasoning cut off', say('<think>Hm', { finishReason: 'length' }), 'model_no_answer'],
  ['announced calls', say('I look.', { finishReason: 'tool_calls' }), 'model_no_answer'],
  ['a failure of the provider', say('It is', { finishReason: 'error' }), 'model_no_answer'],
  ['an abort', say('It is', { finishReason: 'abort' }), 'model_no_answer'],
  ['a malformed call', say('', { finishReason: 'MALFORMED_FUNCTION_CALL' }), 'model_no_answer'],
  ['an abort with a call', { ...callTool('weather', { city: 'Oslo' }), finishReason: 'abort' }, 'model_no_answer'],
  ['an empty text cut off', say('', { finishReason: 'length' }), 'model_no_answer'],
  ['an unknown word', say('', { finishReason: 'eh' }), 'model_no_answer'],
  ['a filter', say('It', { finishReason: 'content_filter' }), 'content_filter'],
  ['a filter in other words', say('', { finishReason: 'SAFETY' }), 'content_filter'],
];

describe('an unusable answer', () => {
  test.each(NONE)('is requested again: %s', async (_, none) => {
    const { result, requests, steps } = await testAgent(clerk, {
      input: 'Weather?',
      model: scriptedModel([none, none, say('12 degrees')]),
    });
    expect(result).toMatchObject({ status: 'completed', output: '12 degrees', finishReason: 'stop' });
    expect(requests).toHaveLength(3);
    expect(steps).toHaveLength(1);
  });

  test.each(NONE)('ends the run with an error once the attempts are used up: %s', async (_, none, errorCode) => {
    const { result, requests } = await testAgent(clerk, { input: 'Weather?', model: scriptedModel([none, none, none]) });
    expect(result).toMatchObject({ status: 'error', stopReason: 'error', errorCode, error: expect.stringContaining('finish reason') });
    expect(requests).toHaveLength(3);
  });

  test('counts with its cost', async () => {
    const { result } = await testAgent(clerk, { input: 'Weather?', model: scriptedModel([say(''), say('12 degrees')]) });
    expect(result.usage).toMatchObject({ totalTokens: 30 });
  });

  test('because the context was full makes the conversation shorter, once', async () => {
    const full = say('It', { finishReason: 'model_context_window_exceeded' });
    const long = 'x'.repeat(5_000);
    const look = defineTool({ name: 'look', description: 'l', parameters: z.object({}), execute: () => long });
    const agent = defineAgent({ name: 'reader', model: 'scripted/m', tools: [look], window: { keepResults: 1 } });
    const script = [callTool('look'), callTool('look'), callTool('look'), full, say('12 degrees')];
    const { result } = await testAgent(agent, { input: 'Look.', model: scriptedModel(script, { repeatLast: true }) });
    expect(result).toMatchObject({ status: 'completed', output: '12 degrees' });
  });

  test('because the context was full is requested again if nothing can be made shorter', async () => {
    const full = say('It', { finishReason: 'model_context_window_exceeded' });
    const again = await testAgent(clerk, { input: 'Weather?', model: scriptedModel([full, say('12 degrees')]) });
    expect(again.result).toMatchObject({ status: 'completed', output: '12 degrees' });
    const { result, requests } = await testAgent(clerk, { input: 'Weather?', model: scriptedModel([full], { repeatLast: true }) });
    expect(result).toMatchObject({
      status: 'error',
      errorCode: 'context_length_exceeded',
      error: expect.stringContaining('finish reason'),
    });
    expect(requests).toHaveLength(2);
  });

  test('is requested again by an ask of a program', async () => {
    const program = defineProgram({ name: 'p', model: 'scripted/m', units: [unit('u', {}, [ask('A', 'a')])], output: '{{u.A}}' });
    const { result } = await testProgram(program, { input: {}, model: scriptedModel([say('', { finishReason: 'error' }), say('b')]) });
    expect(result).toMatchObject({ status: 'completed', output: 'b' });
  });

  test('is not a refusal, which is not requested again', async () => {
    for (const refused of [say('', { refusal: 'No.' }), say('No.', { finishReason: 'refusal' }), say('', { finishReason: 'refusal' })]) {
      const { result, requests } = await testAgent(clerk, { input: 'Weather?', model: scriptedModel([refused]) });
      expect(result).toMatchObject({ status: 'error', errorCode: 'model_refusal' });
      expect(requests).toHaveLength(1);
    }
  });

  test('that is a call in tags is that call', async () => {
    const text = say('<tool_call>{"name":"weather","arguments":{"city":"Oslo"}}</tool_call>');
    const { result, steps } = await testAgent(clerk, { input: 'Weather?', model: scriptedModel([text, say('12 degrees')]) });
    expect(result.output).toBe('12 degrees');
    expect(steps[0]).toMatchObject({ finishReason: 'tool_calls', toolCalls: [{ toolName: 'weather', result: '12 in Oslo' }] });
  });
});

describe('the finish reason of a run', () => {
  test.each([
    ['stop', 'stop'],
    ['length', 'length'],
    ['MAX_TOKENS', 'length'],
    ['end_turn', 'stop'],
    ['STOP', 'stop'],
    ['COMPLETE', 'stop'],
    ['eos_token', 'stop'],
    ['stop_sequence', 'stop'],
    ['model_length', 'length'],
    ['max_output_tokens', 'length'],
    ['OTHER', 'OTHER'],
    ['eh', 'eh'],
    ['Something Else', 'Something Else'],
  ])('comes from its last answer: "%s" is "%s"', async (finishReason, expected) => {
    const { result, steps } = await testAgent(clerk, { input: 'Weather?', model: scriptedModel([say('It is', { finishReason })]) });
    expect(result).toMatchObject({ status: 'completed', output: 'It is', finishReason: expected });
    expect(steps[0]?.finishReason).toBe(expected);
    expect(result.toJSON().finishReason).toBe(expected);
    expect(result.summary().includes('finish: ')).toBe(expected !== 'stop');
  });

  test('is absent without a step', async () => {
    const { result } = await testAgent(clerk, { input: 'Weather?', model: scriptedModel([say('')], { repeatLast: true }) });
    expect(result.finishReason).toBeUndefined();
    expect(result.toJSON()).not.toHaveProperty('finishReason');
  });
});

describe('a cut or empty answer of a child', () => {
  const helper = defineAgent({ name: 'helper', model: 'scripted/m', instructions: 'Help.' });
  const cut = say('It is', { finishReason: 'length' });

  test.each([
    ['length', 'was cut off'],
    ['max_tokens', 'was cut off'],
    ['eh', 'may not be whole'],
  ])('is read as such by its parent: "%s"', async (finishReason, note) => {
    const lead = defineAgent({ name: 'lead', model: 'scripted/m', tools: [agentTool(helper)] });
    const script = [callTool('helper', { request: 'Help' }), say('It is', { finishReason }), say('Done.')];
    const { result, steps } = await testAgent(lead, { input: 'Go', model: scriptedModel(script) });
    expect(result).toMatchObject({ status: 'completed', finishReason: 'stop' });
    expect(steps[0]?.toolCalls[0]?.result).toMatch(new RegExp(`^It is\\n\\[The answer ${note}`));
  });

  test.each(NONE)('that is unusable is an error that its parent reads: %s', async (_, none) => {
    const once = defineAgent({ name: 'helper', model: 'scripted/m', modelMaxAttempts: 1 });
    const lead = defineAgent({ name: 'lead', model: 'scripted/m', tools: [agentTool(once)] });
    const script = [callTool('helper', { request: 'Help' }), none, say('Done.')];
    const { result, steps } = await testAgent(lead, { input: 'Go', model: scriptedModel(script) });
    expect(result).toMatchObject({ status: 'completed', output: 'Done.' });
    expect(steps[0]?.toolCalls[0]).toMatchObject({ isError: true, result: expect.stringContaining('finish reason') });
  });

  test('fails the step of a program', async () => {
    const program = defineProgram({ name: 'p', model: 'scripted/m', units: [unit('u', {}, [agentStep('A', helper, 'Help')])] });
    const { result } = await testProgram(program, { input: {}, model: scriptedModel([cut]) });
    expect(result).toMatchObject({
      status: 'error',
      error: expect.stringContaining('gave an incomplete answer (finish reason "length")'),
    });
  });

  test('is named in the merged output of a parallel flow', async () => {
    const other = defineAgent({ name: 'other', model: 'scripted/m', instructions: 'Help.' });
    const flow = defineFlow({ name: 'both', kind: 'parallel', agents: [helper, other] });
    const { result } = await testAgent(flow, { input: 'Go', model: scriptedModel([cut, cut]) });
    expect(result.output).toContain('The answer was cut off');
  });
});
