import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { OutputVerdict } from '../../src/core/domain/model.ts';
import { defineAgent } from '../../src/define/define-agent.ts';
import { interpretResponse } from '../../src/model/interpret-response.ts';
import { snapshotOf } from '../fakes/snapshot.ts';

const OUTPUT = z.object({ answer: z.number(), unit: z.string().optional() });

function verdict(
  content: string,
  mode: 'schema' | 'final_answer',
  output: z.ZodType = OUTPUT,
  finishReason = 'stop',
): OutputVerdict | undefined {
  const agent = defineAgent({ name: 'bot', model: 'scripted/model', output, outputMode: mode });
  const response = { content, toolCalls: [], usage: null, finishReason };
  const options = { snapshot: snapshotOf(agent), outputZod: output, isUsedCallId: () => false, eventId: 'event', uuid: () => 'uuid' };
  const recorded = interpretResponse(response, options);
  // The record has what the model said.
  expect(recorded.content).toEqual([{ type: 'message', role: 'assistant', content }]);
  return recorded.output;
}

const ANSWER = { type: 'parsed', value: { answer: 4 } };

describe.each(['schema', 'final_answer'] as const)('an answer as text, output mode %s', (mode) => {
  it.each<[form: string, content: string, verdict: object]>([
    ['JSON alone', '{"answer":4}', { type: 'fits' }],
    ['JSON with blanks', '\n {"answer": 4}\n', { type: 'fits' }],
    ['a null for an optional field', '{"answer":4,"unit":null}', ANSWER],
    ['a fence', '```json\n{"answer":4}\n```', ANSWER],
    ['a fence without a language', '```\n{"answer":4}\n```', ANSWER],
    ['a fence after prose', 'Here it is:\n```json\n{"answer":4}\n```', ANSWER],
    ['a fence between prose', 'Here:\n```json\n{"answer":4}\n```\nAnything else?', ANSWER],
    ['prose before', 'The answer is {"answer":4}', ANSWER],
    ['prose after', '{"answer":4} is the answer.', ANSWER],
    ['prose with brackets that are not JSON', 'As [Ada] {said}: {"answer":4}', ANSWER],
    ['prose with another JSON value that does not fit', 'See [1]: {"answer":4}', ANSWER],
    ['brackets in a text of the JSON', 'So: {"answer":4,"unit":"} ]"}', { type: 'parsed', value: { answer: 4, unit: '} ]' } }],
    ['the same JSON twice', '{"answer":4}\n{"answer": 4}', ANSWER],
    ['reasoning before', '<think>maybe {"answer":3}?</think>{"answer":4}', ANSWER],
    ['reasoning and a fence', '<think>hm</think>\n```json\n{"answer":4}\n```', ANSWER],
  ])('%s is taken', (_, content, expected) => {
    expect(verdict(content, mode)).toEqual(expected);
  });

  it.each<[form: string, content: string, problem: string]>([
    ['prose alone', 'Four hours.', 'the answer is not valid JSON'],
    ['JSON that does not fit', '{"answer":"four"}', 'answer: expected number, got string'],
    ['JSON that does not fit, in prose', 'So: {"answer":"four"}.', 'answer: expected number, got string'],
    ['a number as text, which the model may mean otherwise', '{"answer":"4"}', 'answer: expected number, got string'],
    ['two answers', '{"answer":3} or {"answer":4}', 'several JSON values that fit'],
    ['an example and an answer', 'As {"answer":0}, but: ```json\n{"answer":4}\n```', 'several JSON values that fit'],
  ])('%s is not an answer', (_, content, problem) => {
    expect(verdict(content, mode)).toMatchObject({ type: 'problem', problem: expect.stringContaining(problem) });
  });

  it('reasoning that does not end is not an answer', () => {
    expect(verdict('<think>{"answer":4}', mode)?.type).toBe(mode === 'schema' ? 'problem' : undefined);
  });

  it.each(['length', 'max_tokens', 'content_filter'])('an answer that was cut (%s) is not searched', (finishReason) => {
    expect(verdict('So: {"answer":4} and', mode, OUTPUT, finishReason)).toMatchObject({ type: 'problem' });
  });
});

describe('an answer that is not an object, as text in place of a call of final_answer', () => {
  it.each<[form: string, content: string, output: z.ZodType, verdict: object]>([
    ['a list', '["a"]', z.array(z.string()), { type: 'fits' }],
    ['a list in prose', 'Both: ["a","b"].', z.array(z.string()), { type: 'parsed', value: ['a', 'b'] }],
    ['a number', '42', z.number(), { type: 'fits' }],
    ['a number in a fence', '```\n42\n```', z.number(), { type: 'parsed', value: 42 }],
    ['one of several words', 'yes', z.enum(['yes', 'no']), { type: 'parsed', value: 'yes' }],
    ['one of several words, as JSON', '"no"', z.enum(['yes', 'no']), { type: 'fits' }],
    ['a text', 'Dear Ada,\nhello.\n', z.string(), { type: 'parsed', value: 'Dear Ada,\nhello.' }],
    ['a text after reasoning', '<think>hm</think>Dear Ada', z.string(), { type: 'parsed', value: 'Dear Ada' }],
    ['a text with JSON in it', 'Write {"a":1}.', z.string(), { type: 'parsed', value: 'Write {"a":1}.' }],
    ['another word', 'perhaps', z.enum(['yes', 'no']), { type: 'problem' }],
    ['a word for a list', 'a', z.array(z.string()), { type: 'problem' }],
    ['a number in prose', 'It is 42.', z.number(), { type: 'problem' }],
  ])('%s', (_, content, output, expected) => {
    expect(verdict(content, 'final_answer', output)).toMatchObject(expected);
  });
});
