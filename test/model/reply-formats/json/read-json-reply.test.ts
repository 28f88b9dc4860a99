import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { AgentSnapshot } from '../../../../src/core/domain/agent.ts';
import type { ModelResponse, RecordedResponse } from '../../../../src/core/domain/model.ts';
import { defineAgent } from '../../../../src/define/define-agent.ts';
import { defineTool } from '../../../../src/define/define-tool.ts';
import { interpretReply } from '../../../../src/model/reply-formats.ts';
import { newSnapshot, snapshotOf } from '../../../fakes/snapshot.ts';

const add = defineTool({
  name: 'add',
  description: 'Adds.',
  parameters: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => a + b,
});
const WITH_ADD: AgentSnapshot = { ...newSnapshot({ tools: [add] }), replyFormat: 'json' };
const CITY = z.object({ city: z.string() });
const WITH_CITY: AgentSnapshot = {
  ...snapshotOf(defineAgent({ name: 'bot', model: 'scripted/model', tools: [add], output: CITY })),
  replyFormat: 'json',
};

function read(response: Partial<ModelResponse> | string, snapshot = WITH_ADD): RecordedResponse {
  let ids = 0;
  const given = typeof response === 'string' ? { content: response } : response;
  const whole = { content: '', toolCalls: [], usage: null, finishReason: 'stop', ...given };
  return interpretReply(
    whole,
    { snapshot, outputZod: undefined, isUsedCallId: () => false, eventId: 'event', uuid: () => `u${(ids += 1)}` },
    false,
  );
}

const message = (content: string) => ({ type: 'message', role: 'assistant', content });
const call = (name: string, args: object) => ({ type: 'tool_call', toolCallId: 'u1', name, arguments: args });

describe('a reply that calls a tool', () => {
  test('becomes a call, with its note as text', () => {
    expect(read('{"tool":"add","arguments":{"a":1,"b":2}}').content).toEqual([call('add', { a: 1, b: 2 })]);
    expect(read('{"scratchpad":"sum first","tool":"add","arguments":{"a":1,"b":2}}').content).toEqual([
      message('sum first'),
      call('add', { a: 1, b: 2 }),
    ]);
  });

  test('is checked like any call', () => {
    expect(read('{"tool":"add","arguments":{"a":1}}').problems).toEqual({
      u1: `Invalid arguments for 'add': missing required field "b"`,
    });
    expect(read('{"tool":"add","arguments":[1]}').problems).toEqual({ u1: "Invalid arguments for 'add': expected object, got array" });
    expect(read('{"tool":"add"}').problems).toEqual({ u1: expect.stringContaining('missing required field') });
  });

  test('of an unknown tool is left to the loop', () => {
    expect(read('{"tool":"nope","arguments":{}}')).toMatchObject({ content: [call('nope', {})] });
    expect(read('{"tool":"nope","arguments":{}}').problems).toBeUndefined();
  });

  test('is understood with an answer of null, but an answer goes before a tool', () => {
    expect(read('{"tool":"add","arguments":{"a":1,"b":2},"answer":null}').content).toEqual([call('add', { a: 1, b: 2 })]);
    expect(read('{"tool":"add","arguments":{"a":1,"b":2},"answer":"3"}').content).toEqual([message('3')]);
  });

  test('in the own way of the provider is understood, too', () => {
    const calls = [{ id: 'c1', name: 'add', arguments: '{"a":1,"b":2}' }];
    expect(read({ content: 'So', toolCalls: calls }).content).toMatchObject([message('So'), { toolCallId: 'c1', name: 'add' }]);
  });
});

describe('an answer', () => {
  test('is recorded as text, other values as JSON', () => {
    expect(read('{"answer":"f"}').content).toEqual([message('f')]);
    expect(read('{"answer":""}').content).toEqual([message('')]);
    expect(read('{"answer":{"n":[1,null]}}').content).toEqual([message('{"n":[1,null]}')]);
    expect(read('{"answer":null,"scratchpad":"done"}').content).toEqual([message('null')]);
  });

  test('is taken from a value that the client has parsed', () => {
    expect(read({ content: '', structured: { answer: 'f' } }).content).toEqual([message('f')]);
  });

  test('is checked against the output schema, also if its JSON is written as a text', () => {
    expect(read('{"answer":{"city":"Oslo"}}', WITH_CITY)).toMatchObject({
      content: [message('{"city":"Oslo"}')],
      output: { type: 'fits' },
    });
    expect(read(JSON.stringify({ answer: '{"city":"Oslo"}' }), WITH_CITY)).toMatchObject({ output: { type: 'fits' } });
    expect(read('{"answer":{"town":"Oslo"}}', WITH_CITY)).toMatchObject({ output: { type: 'problem' } });
    expect(read('{"answer":"Oslo"}', WITH_CITY)).toMatchObject({ output: { type: 'problem' } });
  });
});

describe('a reply that cannot be used', () => {
  test.each(['I would add', '', '[]', '{"answer": "a', '{"result": 3}'])('is recorded with the problem: %j', (text) => {
    const { content, problems } = read(text);
    expect(content.at(-1)).toEqual(call('unusable_reply', { reason: 'not_json' }));
    expect(content.slice(0, -1)).toEqual(text === '' ? [] : [message(text)]);
    expect(problems).toEqual({ u1: expect.stringContaining('not valid JSON') });
  });

  test('only notes something, or is empty', () => {
    expect(read('{"scratchpad":"hm"}')).toMatchObject({ content: [message('hm'), call('unusable_reply', { reason: 'scratchpad' })] });
    expect(read('{}')).toMatchObject({
      content: [message('{}'), call('unusable_reply', { reason: 'empty' })],
      problems: { u1: expect.any(String) },
    });
  });

  test('does not hide a refusal or a withheld answer', () => {
    expect(read({ refusal: 'No.' })).toMatchObject({ content: [message('')], refusal: 'No.' });
    expect(read({ content: 'par', finishReason: 'content_filter' }).content).toEqual([message('par')]);
  });
});

test('a call has the id of the answer, unless another call of the run has it', () => {
  const ids = (known: string[]): unknown[] =>
    interpretReply(
      { content: '{"tool":"add","arguments":{"a":1,"b":2}}', toolCalls: [], usage: null, finishReason: 'stop' },
      { snapshot: WITH_ADD, isUsedCallId: (id) => known.includes(id), replyId: 'call_3', eventId: 'event', uuid: () => 'u' },
      false,
    ).content.map((item) => item.type === 'tool_call' && item.toolCallId);
  expect(ids([])).toEqual(['call_3']);
  expect(ids(['call_3'])).toEqual(['call_3-2']);
});
