import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineAnchor } from '../../src/index.ts';
import { ask, type AskOptions, defineProgram, parallel, program as runProgram, sleep, unit } from '../../src/define/program/index.ts';
import {
  failWith,
  malformed,
  say,
  type ScriptEntry,
  scriptedModel,
  structured,
  testProgram,
  type TestedProgram,
} from '../../src/testing/index.ts';

const USAGE = { promptTokens: 7, completionTokens: 3, totalTokens: 10 };
const SCORE = z.object({ score: z.number(), confidence: z.number().optional() });

async function asked(script: readonly ScriptEntry[], options: AskOptions = {}): Promise<TestedProgram<unknown>> {
  const program = defineProgram({ name: 'p', model: 'scripted/m', units: [unit('u', {}, [ask('A', 'q', options)])] });
  const noPrices = defineAnchor({ name: 'NoPrices', check: (text) => (text.includes('€') ? ['It names a price'] : []) });
  return testProgram(program, { model: scriptedModel(script), anchors: [noPrices] });
}

function stepOf({ result }: TestedProgram<unknown>): object | undefined {
  return result.units[0]?.steps[0];
}

function answer(fields: object): ScriptEntry {
  return malformed({ content: '', toolCalls: [], usage: USAGE, finishReason: 'stop', ...fields });
}

describe('the result of a step', () => {
  test('has the usage of all its attempts', async () => {
    const tested = await asked([say('5 €', { usage: USAGE }), say('little', { usage: USAGE })], {
      anchors: ['NoPrices'],
      refine: { maxAttempts: 2 },
    });
    expect(stepOf(tested)).toMatchObject({ attempts: 2, usage: { totalTokens: 20, promptTokens: 14, llmCalls: 2 } });
    expect(tested.result.usage).toMatchObject({ totalTokens: 20, llmCalls: 2 });
  });

  test('has its own usage, also if others run at the same time', async () => {
    const program = defineProgram({
      name: 'p',
      model: 'scripted/m',
      units: [unit('u', {}, [parallel('Both', [[ask('A', 'a')], [ask('B', 'b')]])])],
    });
    const { result } = await testProgram(program, { model: scriptedModel([say('a', { usage: USAGE }), say('b', { usage: USAGE })]) });
    const usages = result.units[0]?.steps.filter(({ kind }) => kind === 'ask').map(({ usage }) => usage?.totalTokens);
    expect(usages).toEqual([10, 10]);
  });

  test('has the text in addition to a structured value, and no text that is the value', async () => {
    const beside = await asked([answer({ content: 'I checked it twice.', structured: { score: 1 } })], { output: SCORE });
    expect(stepOf(beside)).toMatchObject({ output: { score: 1 }, text: 'I checked it twice.' });
    expect(stepOf(await asked([structured({ score: 1 })], { output: SCORE }))).not.toHaveProperty('text');
    expect(stepOf(await asked([say('plain')]))).not.toHaveProperty('text');
  });

  test('has the attempts with the findings of the checks, each by its rule', async () => {
    const tested = await asked(
      [
        structured({ score: 7, confidence: 0.9 }),
        structured({ score: 'high' }),
        failWith('model_unauthorized', 'no key'),
        structured({ score: 0.5, confidence: 0.9 }),
      ],
      { output: SCORE, range: { max: 1 }, refine: { maxAttempts: 4 } },
    );
    expect(stepOf(tested)).toMatchObject({
      status: 'completed',
      attempts: 4,
      attemptDetails: [
        {
          attempt: 1,
          success: false,
          code: 'validation_failed',
          violations: [
            { rule: 'range_above_max', expected: '<= 1', actual: '7', severity: 'error', message: 'Value 7 exceeds maximum 1.' },
          ],
        },
        { attempt: 2, success: false, code: 'validation_failed', violations: [{ rule: 'form', severity: 'error' }] },
        { attempt: 3, success: false, code: 'model_call_failed', message: expect.stringContaining('no key') },
      ],
    });
  });

  test('has the warnings of an answer that passed, and the anchor of a breach', async () => {
    expect(stepOf(await asked([say('Liberals are odd.')], { anchors: ['NoBias'] }))).toMatchObject({
      attemptDetails: [{ attempt: 1, success: true, violations: [{ rule: 'anchor', anchor: 'NoBias', severity: 'warning' }] }],
    });
    expect(stepOf(await asked([say('5 €')], { anchors: ['NoPrices'] }))).toMatchObject({
      attemptDetails: [
        { attempt: 1, success: false, code: 'anchor_breach', violations: [{ rule: 'anchor', anchor: 'NoPrices', severity: 'error' }] },
      ],
    });
    expect(stepOf(await asked([say('fine')]))).not.toHaveProperty('attemptDetails');
  });

  test('keeps the last of many attempts', async () => {
    const long = Array.from({ length: 20 }, (_, index) => say(`${index} € ${'v'.repeat(2_000)}`));
    const tested = await asked(long, { anchors: ['NoPrices'], refine: { maxAttempts: 20 } });
    const { attempts, attemptDetails = [] } = tested.result.units[0]?.steps[0] ?? {};
    expect(attempts).toBe(20);
    expect(attemptDetails.at(-1)?.attempt).toBe(20);
    expect(JSON.stringify(attemptDetails).length).toBeLessThan(4_100);
  });
});

describe('the failure of a step', () => {
  test('says what was expected, and the answer that was given', async () => {
    const tested = await asked([structured({ type: 'Opinion', score: 1 })], { type: 'FactualClaim', output: { type: 'object' } });
    expect(stepOf(tested)).toMatchObject({
      error: { code: 'validation_failed', context: { expectedType: 'FactualClaim', actualValue: "{'type': 'Opinion', 'score': 1}" } },
    });
    expect(stepOf(await asked([say('5 €')], { anchors: ['NoPrices'] }))).toMatchObject({ error: { context: { actualValue: "'5 €'" } } });
  });

  test.each<[string, ScriptEntry]>([
    ['that the answer declares', structured({ score: 1, confidence: 0.5 })],
    ['that the model reports next to it', answer({ content: '{"score": 1}', structured: { score: 1 }, confidence: 0.5 })],
  ])('is too low a confidence, %s', async (_, entry) => {
    expect(stepOf(await asked([entry], { output: SCORE, confidenceFloor: 0.9 }))).toMatchObject({
      status: 'failed',
      error: { code: 'confidence_too_low', message: 'Confidence 0.50 is below the floor of 0.90.' },
    });
  });

  test('lists everything if the confidence is not the only violation', async () => {
    const tested = await asked([structured({ score: 9, confidence: 0.5 })], { output: SCORE, confidenceFloor: 0.9, range: { max: 1 } });
    expect(stepOf(tested)).toMatchObject({ error: { code: 'validation_failed', message: expect.stringContaining('Value 9 exceeds') } });
  });

  test('is reported in the result of the run once, in plain words, with the last attempt', async () => {
    const { result } = await asked([say('5 €'), say('6 €')], { anchors: ['NoPrices'], refine: { maxAttempts: 2 } });
    expect(result.error).toBe(
      `Unit "u" failed: All 2 refine attempts exhausted for step 'A'. The last one: The answer breaches the anchor "NoPrices": It names a price`,
    );
    expect(result.units[0]?.error).toMatchObject({ code: 'refine_exhausted', cause: { code: 'anchor_breach' } });
  });

  test.each([
    ['10m', 'step_timeout', "Step 'Wait' timed out after 10m"],
    ['2h', 'child_failed', "The program 'inner' of step 'Wait' ended with limit_reached (deadline)"],
  ])(
    'names what ended a child at its deadline: the timeout of its step of %s, or the hour of the child',
    async (timeout, code, message) => {
      const inner = defineProgram({ name: 'inner', limits: { deadline: '1h' }, units: [unit('u', {}, [sleep('Nap', '1d')])] });
      const outer = defineProgram({ name: 'outer', units: [unit('u', {}, [runProgram('Wait', inner, {}, { timeout: timeout as '2h' })])] });
      const tested = await testProgram(outer, { model: scriptedModel([]) });
      expect(stepOf(tested)).toMatchObject({ status: 'failed', error: { code, message } });
    },
  );

  test('is that a fallback has no output', async () => {
    const program = defineProgram({
      name: 'p',
      model: 'scripted/m',
      units: [
        unit('u', {}, [
          ask('A', 'a', { refine: { maxAttempts: 1, onExhaustion: 'fallback', fallback: 'B' } }),
          { name: 'B', when: { of: 'input.no', is: {} }, ask: { prompt: 'b' } },
        ]),
      ],
    });
    const { result } = await testProgram(program, { input: {}, model: scriptedModel([failWith('model_unauthorized', 'no key')]) });
    expect(result).toMatchObject({
      status: 'error',
      errorCode: 'step_failed',
      error: 'Unit "u" failed: The fallback "B" of step "A" has no output',
    });
  });
});

describe('the output of a program with a reference to a field that is not there', () => {
  const quoting = (lenient: boolean): ReturnType<typeof defineProgram> =>
    defineProgram({
      name: 'p',
      model: 'scripted/m',
      units: [unit('u', {}, [ask('A', 'q')])],
      output: { answer: '{{u.A}}', by: '{{input.author}}' },
      ...(lenient ? { lenient } : {}),
    });

  test('is the error of the run, whose units have their results', async () => {
    const { result } = await testProgram(quoting(false), { model: scriptedModel([say('one')]) });
    expect(result).toMatchObject({ status: 'error', errorCode: 'invalid_output', output: null, units: [{ status: 'completed' }] });
    expect(result.error).toBe('The program has no output: the reference "{{input.author}}" leads to no value');
  });

  test('keeps that reference in a lenient program', async () => {
    const { result } = await testProgram(quoting(true), { model: scriptedModel([say('one')]) });
    expect(result).toMatchObject({ status: 'completed', output: { answer: 'one', by: '{{input.author}}' } });
  });
});

test('a test has the trace of the run, which says if an answer is structured', async () => {
  const { trace } = await asked([structured({ score: 1 })], { output: SCORE });
  const responses = trace.spans[0]?.events.filter(({ event_type: type }) => type === 'model_response');
  expect(responses).toMatchObject([{ data: { has_structured: true } }]);
  const plain = await asked([say('x')]);
  expect(plain.trace.spans[0]?.events).toContainEqual(expect.objectContaining({ data: { content_length: 1, has_structured: false } }));
});
