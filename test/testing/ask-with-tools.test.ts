import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineAnchor, defineTool } from '../../src/index.ts';
import { agent, ask, defineProgram, tool, unit } from '../../src/define/program/index.ts';
import type { Event } from '../../src/core/domain/record.ts';
import type { StepNote } from '../../src/core/domain/verdicts.ts';
import { approve, callTool, reject, say, scriptedModel, structured, testProgram } from '../../src/testing/index.ts';

const findOrder = defineTool({
  name: 'find_order',
  description: 'Finds an order.',
  parameters: z.object({ id: z.string() }),
  execute: ({ id }, { deps }) => `order ${id} of ${JSON.stringify(deps)}`,
});

const refund = defineTool({
  name: 'refund',
  description: 'Refunds an order.',
  parameters: z.object({ id: z.string() }),
  approval: 'always',
  execute: ({ id }) => `refunded ${id}`,
});

const noPrices = defineAnchor({
  name: 'NoPrices',
  reject: ['prices'],
  check: (text) => (text.includes('€') ? ['The answer names a price'] : []),
});

type AskOptions = Parameters<typeof ask>[2];

/** A program of one `ask` with tools. */
const asking = (options: AskOptions, more: Partial<Parameters<typeof defineProgram>[0]> = {}) =>
  defineProgram({
    name: 'desk',
    model: 'scripted/model',
    input: z.object({ ticket: z.string() }),
    units: [unit('reply', { persona: 'You answer {{input.ticket}}.' }, [ask('Letter', 'Answer {{input.ticket}}', options)])],
    ...more,
  });

const CONFIDENT = { type: 'object', properties: { confidence: { type: 'number' } }, required: ['confidence'] };
const input = { ticket: 'T1' };
const call = callTool('find_order', { id: '7' });

function notesOf(events: readonly Event[], at: string): StepNote[] {
  return events.flatMap(({ step }) => (step?.at === at ? [step] : []));
}

describe('an ask with tools', () => {
  test('calls its tools and then answers, as a separate agent with the texts of its unit', async () => {
    const model = scriptedModel([call, say('Dear customer')]);
    const { result, events, requests } = await testProgram(asking({ tools: [findOrder] }), { input, model, runId: 'r', deps: { user: 1 } });
    expect(result).toMatchObject({ status: 'completed', output: 'Dear customer', toolCallsTotal: 1, toolCallsByName: { find_order: 1 } });
    expect(result.usage.llmCalls).toBe(2);
    expect(result.units[0]?.steps[0]).toMatchObject({ name: 'Letter', kind: 'ask', output: 'Dear customer' });
    expect(requests[0]).toMatchObject({ instructions: ['You answer T1.'], tools: [{ name: 'find_order' }] });
    expect(requests[0]?.conversation).toEqual([{ author: 'user', content: [{ type: 'message', role: 'user', content: 'Answer T1' }] }]);
    expect(JSON.stringify(requests[1]?.conversation)).toContain('order 7 of {\\"user\\":1}');
    expect(notesOf(events, 'reply.Letter')).toMatchObject([
      { type: 'start' },
      { type: 'start', child: 'r/reply.Letter' },
      { type: 'attempt', child: 'r/reply.Letter', kind: 'ask', verdict: {}, promptLength: 9, answerLength: 13 },
      { type: 'end', status: 'completed' },
    ]);
  });

  test('has a structured answer, whose fields later steps name', async () => {
    const program = asking({ tools: [findOrder], output: z.object({ letter: z.string() }) }, { output: '{{reply.Letter.letter}}' });
    const { result } = await testProgram(program, { input, model: scriptedModel([call, structured({ letter: 'Dear Ann' })]) });
    expect(result).toMatchObject({ status: 'completed', output: 'Dear Ann' });
  });

  test('tries again as a new run after a breach of an anchor, and reads why', async () => {
    const program = asking({ tools: [findOrder], anchors: ['NoPrices'], refine: { maxAttempts: 3 } });
    const model = scriptedModel([call, say('It costs 5 €'), call, say('It costs little')]);
    const { result, events, requests } = await testProgram(program, { input, model, anchors: [noPrices], runId: 'r' });
    expect(result).toMatchObject({ status: 'completed', output: 'It costs little' });
    expect(result.units[0]?.steps[0]).toMatchObject({ attempts: 2 });
    const attempts = notesOf(events, 'reply.Letter').filter(({ type }) => type === 'attempt');
    expect(attempts).toMatchObject([
      { child: 'r/reply.Letter', error: { code: 'anchor_breach' }, verdict: { anchors: { passed: false } } },
      { child: 'r/reply.Letter#2', verdict: { anchors: { passed: true } } },
    ]);
    expect(requests[0]?.instructions[1]).toContain('[CONSTRAINT: NoPrices]');
    expect(JSON.stringify(requests[2]?.conversation)).toContain('Previous attempt failed: The answer breaches the anchor ');
  });

  test.each([
    ['an answer of another form', { output: { type: 'object', required: ['letter'] } }, structured({ other: 1 }), 'validation_failed'],
    ['too little confidence', { output: CONFIDENT, confidenceFloor: 0.9 }, structured({ confidence: 0.5 }), 'confidence_too_low'],
    ['a missing field', { output: CONFIDENT, requiredFields: ['letter'] }, structured({ confidence: 1 }), 'validation_failed'],
    ['a refusal', {}, { ...say(''), refusal: 'I must not' }, 'validation_failed'],
  ])('fails with %s as an ask without tools', async (_, options: AskOptions, answer, code) => {
    const plain = await testProgram(asking(options), { input, model: scriptedModel([answer]) });
    const { result } = await testProgram(asking({ ...options, tools: [findOrder] }), { input, model: scriptedModel([call, answer]) });
    expect(result).toMatchObject({ status: 'error', errorCode: code });
    expect(result.units[0]?.steps[0]?.error).toEqual(plain.result.units[0]?.steps[0]?.error);
    expect(result.units[0]?.steps[0]?.attemptDetails).toEqual(plain.result.units[0]?.steps[0]?.attemptDetails);
  });

  test('fails like an ask without tools if every attempt gives an empty answer', async () => {
    const empty = scriptedModel([say('')], { repeatLast: true });
    const plain = await testProgram(asking({}), { input, model: empty });
    const { result } = await testProgram(asking({ tools: [findOrder] }), { input, model: empty });
    expect(result).toMatchObject({ status: 'error', errorCode: 'model_call_failed', error: expect.stringContaining('is empty') });
    expect(result.units[0]?.steps[0]?.error).toEqual(plain.result.units[0]?.steps[0]?.error);
  });

  test('fails like an ask without tools if its model call fails', async () => {
    const failing = { ...scriptedModel([]), call: () => Promise.reject(Object.assign(new Error('no'), { code: 'model_bad_request' })) };
    const { result } = await testProgram(asking({ tools: [findOrder] }), { input, model: failing });
    expect(result).toMatchObject({ status: 'error', errorCode: 'model_call_failed' });
  });

  test('is skipped or replaced once its attempts are used up', async () => {
    const program = asking({ tools: [findOrder], anchors: ['NoPrices'], refine: { maxAttempts: 2, onExhaustion: 'skip' } });
    const model = scriptedModel([say('5 €'), say('6 €')]);
    const { result } = await testProgram(program, { input, model, anchors: [noPrices] });
    expect(result).toMatchObject({ status: 'completed', output: null });
    expect(result.units[0]?.steps[0]).toMatchObject({
      status: 'skipped',
      attemptDetails: [1, 2].map((attempt) => ({ attempt, violations: [{ anchor: 'NoPrices', message: 'The answer names a price' }] })),
    });
  });

  test('is approved with an edited prompt, and its answer is reviewed', async () => {
    const program = asking({ tools: [findOrder], approval: true, review: true, refine: { maxAttempts: 2 } });
    const decisions = [approve({ arguments: { prompt: 'Be kind to T1' } }), reject('too short'), approve()];
    const model = scriptedModel([say('No'), say('Dear customer')]);
    const { result, requests } = await testProgram(program, { input, model, decide: () => decisions.shift() });
    expect(result).toMatchObject({ status: 'completed', output: 'Dear customer' });
    expect(JSON.stringify(requests[0]?.conversation)).toContain('Be kind to T1');
    expect(JSON.stringify(requests[1]?.conversation)).toContain('too short');
  });

  test('asks for decisions about its tools in its own run', async () => {
    const waits: unknown[] = [];
    const { result } = await testProgram(asking({ tools: [refund] }), {
      input,
      model: scriptedModel([callTool('refund', { id: '7' }), say('Done')]),
      runId: 'top',
      decide: ({ toolName, runId, arguments: args }) => {
        waits.push([toolName, runId, args]);
        return approve({ arguments: { id: '8' } });
      },
    });
    expect(result).toMatchObject({ status: 'completed', output: 'Done' });
    expect(waits).toEqual([['refund', 'top/reply.Letter', { id: '7' }]]);
  });
});

test('a structured answer through the tool of the answer is checked as well, and a wrong one is a failed attempt', async () => {
  const options = { tools: [findOrder], output: z.array(z.number()), range: { max: 5 }, refine: { maxAttempts: 2 } };
  const [wrong, right] = [callTool('final_answer', { output: 'one' }), callTool('final_answer', { output: [1] })];
  const { result, requests } = await testProgram(asking(options), { input, model: scriptedModel([wrong, call, right]) });
  expect(result).toMatchObject({ status: 'completed', output: [1] });
  expect(result.units[0]?.steps[0]).toMatchObject({ attempts: 2 });
  expect(JSON.stringify(requests[1]?.conversation)).toContain('The answer does not have the form of the step');
});

describe('the limits of an ask with tools', () => {
  test('are its own: an attempt that reaches one has failed', async () => {
    const { result } = await testProgram(asking({ tools: [findOrder], limits: { steps: 1 } }), { input, model: scriptedModel([call]) });
    expect(result).toMatchObject({ status: 'error', errorCode: 'child_failed' });
    expect(result.units[0]?.steps[0]?.error?.message).toBe(
      "The agent 'desk/reply.Letter' of step 'Letter' ended with max_iterations_reached (step_limit)",
    );
  });

  test('are those that are left of the program', async () => {
    const steps = [ask('Kind', 'What is it?'), ask('Letter', 'Answer', { tools: [findOrder] })];
    const program = defineProgram({
      name: 'desk',
      model: 'scripted/model',
      limits: { steps: 3 },
      units: [unit('reply', {}, steps), unit('more', {}, [ask('End', 'Is it over?')])],
    });
    const { result, requests } = await testProgram(program, { model: scriptedModel([say('bug'), call, call]) });
    expect(requests.length).toBe(3);
    expect(result).toMatchObject({ status: 'max_iterations_reached', stopReason: 'step_limit', stepsUsed: 3 });
    expect(result.units[0]?.steps[1]?.error?.message).toContain('ended with max_iterations_reached (step_limit)');
  });

  test('of time are the timeout of the step', async () => {
    const program = asking({ tools: [refund], timeout: '2s' });
    const { result } = await testProgram(program, { input, model: scriptedModel([callTool('refund', { id: '7' })]) });
    expect(result).toMatchObject({ status: 'error', errorCode: 'step_timeout' });
  });
});

describe('a lenient program', () => {
  const lenient = (options: AskOptions) => asking(options, { lenient: true });

  test('accepts an answer of another form unchanged', async () => {
    const { result } = await testProgram(lenient({ tools: [findOrder], output: { type: 'object', required: ['letter'] } }), {
      input,
      model: scriptedModel([call, say('plain text')]),
    });
    expect(result.units[0]?.steps[0]?.output).toBe('plain text');
  });

  test('fails at once at a tool that the worker lacks', async () => {
    const { result } = await testProgram(lenient({ tools: ['find_ordre'] }), { input, model: scriptedModel([]) });
    expect(result).toMatchObject({ status: 'error', errorCode: 'refine_exhausted' });
    expect(result.error).toContain('No tool "find_ordre" of program "desk/reply.Letter" in this worker');
  });
});

test('an unknown tool is a problem of the program before anything is paid', async () => {
  const { result } = await testProgram(asking({ tools: [findOrder, 'refnd'] }), { input, model: scriptedModel([]) });
  expect(result).toMatchObject({ status: 'error', errorCode: 'invalid_program' });
  expect(result.error).toContain('units[0].steps[0].ask.tools[1]: no tool is named "refnd"');
});

test('an agent with the name of a program, or of a step with tools, has its own tools', async () => {
  const own = defineTool({ name: 'find_order', description: 'Another one.', parameters: z.object({}), execute: () => 'of the agent' });
  const called = { name: 'desk/reply.Letter', model: 'scripted/model' as const, deps: z.object({ strict: z.literal(true) }), tools: [own] };
  const [desk, letter] = [defineAgent({ ...called, name: 'desk' }), defineAgent(called)];
  const deps = { strict: true };
  const program = defineProgram({
    name: 'desk',
    model: 'scripted/model',
    units: [
      unit('reply', {}, [
        tool('Order', findOrder, { id: '1' }),
        agent('First', desk, 'Go', { deps }),
        agent('Second', letter, 'Go', { deps }),
        ask('Letter', 'Answer', { tools: [findOrder] }),
      ]),
    ],
    output: '{{reply.Order}}',
  });
  const ofAgent = callTool('find_order', {});
  const model = scriptedModel([ofAgent, say('1'), ofAgent, say('2'), call, say('3')]);
  const { result, requests } = await testProgram(program, { model });
  expect(result).toMatchObject({ status: 'completed', output: 'order 1 of {}' });
  const seen = requests.map(({ conversation }) => JSON.stringify(conversation.at(-1)));
  expect([seen[1], seen[3]].every((text) => text?.includes('of the agent'))).toBe(true);
  expect(seen[5]).toContain('order 7 of {}');
});
