import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent } from '../../src/define/define-agent.ts';
import { defineTool } from '../../src/define/define-tool.ts';
import type { AgentSnapshot } from '../../src/core/domain/agent.ts';
import { isToolCall } from '../../src/core/domain/content.ts';
import type { ModelResponse, RecordedResponse } from '../../src/core/domain/model.ts';
import { interpretResponse } from '../../src/model/interpret-response.ts';
import { newSnapshot, snapshotOf } from '../fakes/snapshot.ts';

const add = defineTool({
  name: 'add',
  description: 'Adds.',
  parameters: z.object({ a: z.number(), b: z.number(), note: z.string().optional(), tag: z.string().nullish() }),
  execute: ({ a, b }) => a + b,
});
const WITH_ADD = newSnapshot({ tools: [add] });

interface Extra {
  snapshot?: AgentSnapshot;
  outputZod?: z.ZodType;
  known?: string[];
}

function interpret(response: Partial<ModelResponse>, { snapshot = WITH_ADD, outputZod, known = [] }: Extra = {}): RecordedResponse {
  let ids = 0;
  const whole = { content: '', toolCalls: [], usage: null, finishReason: 'stop', ...response };
  return interpretResponse(whole, {
    snapshot,
    outputZod,
    isUsedCallId: (id) => known.includes(id),
    eventId: 'event',
    uuid: () => `uuid-${(ids += 1)}`,
  });
}

function answer(output: z.ZodType, response: Partial<ModelResponse>, outputMode: 'schema' | 'final_answer' = 'schema'): RecordedResponse {
  const agent = defineAgent({ name: 'bot', model: 'scripted/model', output, outputMode });
  return interpret(response, { snapshot: snapshotOf(agent), outputZod: output });
}

function callIds(response: RecordedResponse): string[] {
  return response.content.filter(isToolCall).map((call) => call.toolCallId);
}

test('text and calls become one message and the calls in order', () => {
  const recorded = interpret({
    content: 'Let me add.',
    toolCalls: [{ id: 'c1', name: 'add', arguments: '{"a":1,"b":2}' }],
    finishReason: 'tool_calls',
    usage: { promptTokens: 3, completionTokens: 4, totalTokens: 7 },
  });
  expect(recorded).toEqual({
    id: 'event',
    content: [
      { type: 'message', role: 'assistant', content: 'Let me add.' },
      { type: 'tool_call', toolCallId: 'c1', name: 'add', arguments: { a: 1, b: 2 } },
    ],
    finishReason: 'tool_calls',
    usage: { promptTokens: 3, completionTokens: 4, totalTokens: 7 },
  });
});

test('calls without text have no message; without text and calls there is an empty message', () => {
  expect(interpret({ toolCalls: [{ id: 'c1', name: 'add', arguments: { a: 1, b: 2 } }] }).content).toHaveLength(1);
  expect(interpret({ content: '' }).content).toEqual([{ type: 'message', role: 'assistant', content: '' }]);
});

test('ids are unique in the run: repeated ids get a number, and missing ids are made', () => {
  const call = { name: 'add', arguments: { a: 1, b: 2 } };
  const recorded = interpret(
    { toolCalls: [{ id: 'c1', ...call }, { id: 'c1', ...call }, { id: 'c2', ...call }, call] },
    { known: ['c1', 'c1-2'] },
  );
  expect(callIds(recorded)).toEqual(['c1-3', 'c1-4', 'c2', 'uuid-1']);
});

test('invalid arguments are a problem that the model reads', () => {
  const { problems } = interpret({ toolCalls: [{ id: 'c1', name: 'add', arguments: '{"a":"one"}' }] });
  expect(problems).toEqual({ c1: `Invalid arguments for 'add': a: expected number, got string; missing required field "b"` });
  expect(interpret({ toolCalls: [{ id: 'c1', name: 'add', arguments: '[1]' }] }).problems).toEqual({
    c1: `Invalid arguments for 'add': expected object, got array`,
  });
});

test.each(['tool_calls', 'stop', 'length', 'max_tokens', 'gave_up', '', undefined])(
  'arguments that end in the middle are a problem if the finish reason is %j',
  (finishReason) => {
    const cut = { toolCalls: [{ id: 'c1', name: 'add', arguments: '{"a":1,"b":2' }] };
    const { problems } = interpret({ ...cut, finishReason: finishReason as string });
    expect(problems?.['c1']).toMatch(/^Error: tool arguments were not valid JSON.*cut off/);
  },
);

const EMPTY = ['', ' \n', null, undefined, 'null', 'None'];
test.each(EMPTY)('the arguments %j of a tool with arguments are a problem that says what to send', (given) => {
  const tools = [
    defineTool({ name: 'find', description: 'Finds.', parameters: z.object({ city: z.string().optional() }), execute: () => 1 }),
  ];
  const { problems } = interpret(
    { toolCalls: [{ id: 'c1', name: 'find', arguments: given }], finishReason: 'tool_calls' },
    { snapshot: newSnapshot({ tools }) },
  );
  expect(problems?.['c1']).toMatch(/^Error: tool arguments were not valid JSON.*They are missing.*\{\}/);
});

test.each([
  ['the schema of no parameters', {}],
  ['an object', { type: 'object' }],
  ['an object without properties', { type: 'object', properties: {}, required: [], additionalProperties: false }],
])('missing arguments are an empty object for a tool that takes %s', (_, schema) => {
  const snapshot = newSnapshot({
    tools: [defineTool({ name: 'ping', description: 'Pings.', parameters: z.object({}), execute: () => 1 })],
  });
  const tools = snapshot.tools.map((tool) => ({ ...tool, schema }));
  const recorded = interpret({ toolCalls: [{ name: 'ping' }], finishReason: 'stop' }, { snapshot: { ...snapshot, tools } });
  expect(recorded.problems).toBeUndefined();
});

test.each([
  ['an optional property', { type: 'object', properties: { a: {} } }],
  ['any property', { type: 'object', additionalProperties: true }],
  ['properties of a type', { type: 'object', properties: {}, additionalProperties: { type: 'string' } }],
  ['properties by a pattern', { type: 'object', patternProperties: { '^x': {} } }],
  ['a choice', { type: 'object', anyOf: [{ properties: { a: {} } }, {}] }],
  ['a reference', { $ref: '#/$defs/x', $defs: { x: {} } }],
])('missing arguments are a problem for a tool that may take %s', (_, schema) => {
  const snapshot = newSnapshot({
    tools: [defineTool({ name: 'ping', description: 'Pings.', parameters: z.object({}), execute: () => 1 })],
  });
  const tools = snapshot.tools.map((tool) => ({ ...tool, schema }));
  const recorded = interpret({ toolCalls: [{ id: 'c1', name: 'ping' }], finishReason: 'stop' }, { snapshot: { ...snapshot, tools } });
  expect(recorded.problems?.['c1']).toContain('They are missing');
});

test('missing arguments are an empty object only if the model ended by itself', () => {
  const ping = defineTool({ name: 'ping', description: 'Pings.', parameters: z.object({}), execute: () => 'pong' });
  const snapshot = newSnapshot({ tools: [ping] });
  const call = { id: 'c1', name: 'ping', arguments: '' };
  const ends = (finishReason: string): RecordedResponse => interpret({ toolCalls: [call], finishReason }, { snapshot });
  for (const ended of ['stop', 'tool_calls', 'function_call', 'end_turn', 'tool_use']) expect(ends(ended).problems).toBeUndefined();
  for (const cut of ['length', 'max_tokens', 'content_filter', 'paused'])
    expect(ends(cut).problems?.['c1']).toContain('the answer was cut off');
});

test('the complete calls of a cut-off response may run', () => {
  const toolCalls = [
    { id: 'c1', name: 'add', arguments: '{"a":1,"b":2}' },
    { id: 'c2', name: 'add', arguments: '' },
    { id: 'c3', name: 'add', arguments: '{"a":1,"b"' },
  ];
  expect(Object.keys(interpret({ toolCalls, finishReason: 'length' }).problems ?? {})).toEqual(['c2', 'c3']);
});

test('a call of a tool that the agent lacks is left to the loop', () => {
  const recorded = interpret({ toolCalls: [{ id: 'c1', name: 'nope', arguments: '{broken' }] });
  expect(recorded.problems).toBeUndefined();
  expect(callIds(recorded)).toEqual(['c1']);
});

test('a call id such as __proto__ keeps its problem', () => {
  const { problems } = interpret({ toolCalls: [{ id: '__proto__', name: 'add', arguments: {} }] });
  expect(Object.keys(problems ?? {})).toEqual(['__proto__']);
});

test('nulls that stand for missing fields are not recorded; nulls that the tool accepts are', () => {
  const args = { a: 1, b: 2, note: null, tag: null };
  const recorded = interpret({ toolCalls: [{ id: 'c1', name: 'add', arguments: args }] });
  expect(recorded.problems).toBeUndefined();
  expect(recorded.content).toMatchObject([{ arguments: { a: 1, b: 2, tag: null } }]);
  expect(recorded.content[0]).not.toHaveProperty('arguments.note');
});

const OUTPUT = z.object({ answer: z.number(), unit: z.string().default('h'), note: z.string().optional() });

test('a structured answer that fits stays text', () => {
  expect(answer(OUTPUT, { content: '{"answer":4,"unit":"h"}' }).output).toEqual({ type: 'fits' });
});

test('a structured answer that parsing changes is recorded as parsed', () => {
  const { output } = answer(OUTPUT, { content: '{"answer":4,"unit":null,"note":null}' });
  expect(output).toEqual({ type: 'parsed', value: { answer: 4, unit: 'h' } });
  expect(answer(OUTPUT, { content: '```json\n{"answer":4,"unit":"h"}\n```' }).output).toEqual({
    type: 'parsed',
    value: { answer: 4, unit: 'h' },
  });
});

test('a structured answer that does not fit gives the reason', () => {
  expect(answer(OUTPUT, { content: '{"answer":"four"}' }).output).toEqual({
    type: 'problem',
    problem: 'answer: expected number, got string',
  });
  expect(answer(OUTPUT, { content: 'Four hours.' }).output).toMatchObject({ type: 'problem' });
  expect(answer(OUTPUT, { content: '{"answer":4', finishReason: 'length' }).output).toMatchObject({
    type: 'problem',
    problem: expect.stringContaining('cut off'),
  });
});

test('checks that only zod can make are made by the worker with the schema', () => {
  const even = z.object({ n: z.number().refine((n) => n % 2 === 0, 'must be even') });
  expect(answer(even, { content: '{"n":3}' }).output).toMatchObject({ type: 'problem', problem: expect.stringContaining('must be even') });
  const asynchronous = z.object({ n: z.number().refine(async () => true) });
  expect(answer(asynchronous, { content: '{"n":3}' }).output).toMatchObject({ type: 'problem' });
});

test.each<[string, z.ZodType, object, object]>([
  ['catch', z.object({ a: z.enum(['x', 'y']).catch('x') }), { a: 'other' }, { a: 'x' }],
  ['preprocess', z.object({ a: z.preprocess(String, z.string()) }), { a: 5 }, { a: '5' }],
  ['coerce', z.object({ a: z.coerce.number() }), { a: '5' }, { a: 5 }],
])('an output that only zod can repair (%s) is what the schema makes of it', (_, schema, given, value) => {
  expect(answer(schema, { content: JSON.stringify(given) }).output).toEqual({ type: 'parsed', value });
});

test('a parsed object without text is recorded as its JSON', () => {
  const recorded = answer(OUTPUT, { structured: { answer: 4, unit: 'h' } });
  expect(recorded.content).toEqual([{ type: 'message', role: 'assistant', content: '{"answer":4,"unit":"h"}' }]);
  expect(recorded.output).toEqual({ type: 'fits' });
  expect(answer(OUTPUT, { content: 'Here you are.', structured: { answer: 4, unit: 'h' } }).output).toEqual({
    type: 'parsed',
    value: { answer: 4, unit: 'h' },
  });
});

test('a final_answer is validated by the output schema, and the first that fits counts', () => {
  const call = (id: string, output: unknown): { id: string; name: string; arguments: unknown } => ({
    id,
    name: 'final_answer',
    arguments: { output },
  });
  const recorded = answer(OUTPUT, { toolCalls: [call('c1', { answer: 'x' }), call('c2', { answer: 4 })] }, 'final_answer');
  expect(recorded.problems).toEqual({ c1: `Invalid arguments for 'final_answer': answer: expected number, got string` });
  expect(recorded.output).toEqual({ type: 'parsed', value: { answer: 4, unit: 'h' } });
  expect(answer(OUTPUT, { toolCalls: [call('c1', { answer: 4, unit: 'h' })] }, 'final_answer').output).toEqual({ type: 'fits' });
  const missing = answer(OUTPUT, { toolCalls: [{ id: 'c1', name: 'final_answer', arguments: '{}' }] }, 'final_answer');
  expect(missing.output).toMatchObject({ type: 'problem' });
  expect(missing.problems?.['c1']).toContain('missing required field "output"');
});

test('an answer that is not an object comes through final_answer, for any provider', () => {
  const snapshot = snapshotOf(defineAgent({ name: 'bot', model: 'scripted/model', output: z.array(z.string()) }));
  expect(snapshot.output?.mode).toBe('final_answer');
  const recorded = interpret({ toolCalls: [{ id: 'c1', name: 'final_answer', arguments: { output: ['a'] } }] }, { snapshot });
  expect(recorded.output).toEqual({ type: 'fits' });
});

test('refusal, confidence and provider items are passed on, and invalid ones dropped', () => {
  const recorded = interpret({ refusal: 'No\ud800', confidence: 0.5, providerItems: [{ type: 'reasoning' }, '\udc00'] });
  const providerItems = [{ by: 'scripted/model' }, { type: 'reasoning' }, '\ufffd'];
  expect(recorded).toMatchObject({ refusal: 'No\ufffd', confidence: 0.5, providerItems });
  const garbage = { refusal: 7, confidence: 12, providerItems: 'none', toolCalls: null, content: null, usage: 'free', finishReason: null };
  expect(interpret(garbage as never)).toEqual({
    id: 'event',
    content: [{ type: 'message', role: 'assistant', content: '' }],
    finishReason: 'stop',
    usage: null,
  });
});

test("a provider's warnings are recorded in at most five short lines, and anything else is not", () => {
  const warnings = (given: unknown): unknown => interpret({ warnings: given as never }).warnings;
  expect(warnings(['a\nb', ' ', 7, 'a b', 'c\ud800'])).toEqual(['a b', 'c\ufffd']);
  expect(warnings(['1', '2', '3', '4', '5', '6'])).toEqual(['1', '2', '3', '4', 'and 2 more']);
  expect(warnings(['1', '2', '3', '4', '5'])).toHaveLength(5);
  expect([warnings('none'), warnings([null]), warnings([])]).toEqual([undefined, undefined, undefined]);
});

test('invalid token counts are not added up', () => {
  const usage = (value: unknown): unknown => interpret({ usage: value as never }).usage;
  expect(usage({ promptTokens: 5, completionTokens: -1, totalTokens: 1.5 })).toEqual({
    promptTokens: 5,
    completionTokens: 0,
    totalTokens: 5,
  });
  expect(usage({ promptTokens: 5, cachedTokens: '1', cacheWriteTokens: 4 })).toEqual({
    promptTokens: 5,
    completionTokens: 0,
    totalTokens: 5,
    cacheWriteTokens: 4,
  });
  expect(usage({ promptTokens: Number.NaN, completionTokens: '4' })).toBeNull();
  expect(usage({ promptTokens: 1, completionTokens: 2, totalTokens: 3, cachedTokens: 1, reasoningTokens: Infinity })).toEqual({
    promptTokens: 1,
    completionTokens: 2,
    totalTokens: 3,
    cachedTokens: 1,
  });
});

test.each([undefined, null, 'text', 7, []])('a response that is %j is an empty answer', (response) => {
  const recorded = interpretResponse(response as never, {
    snapshot: WITH_ADD,
    isUsedCallId: () => false,
    eventId: 'event',
    uuid: () => 'id',
  });
  expect(recorded).toEqual({
    id: 'event',
    content: [{ type: 'message', role: 'assistant', content: '' }],
    finishReason: 'stop',
    usage: null,
  });
});

test('an answer, structured or as text, and arguments that are nested deeper than 64 levels are problems', () => {
  const text = `${'['.repeat(10_000)}${']'.repeat(10_000)}`;
  const output = z.object({ list: z.any() });
  const asText = answer(output, { content: `{"list":${text}}` });
  expect(asText.output).toEqual({ type: 'problem', problem: expect.stringContaining('nested deeper than 64 levels') });
  expect(answer(output, { structured: { list: JSON.parse(text) as never } }).output).toMatchObject({ type: 'problem' });
  for (const args of [`{"list":${text}}`, { list: JSON.parse(text) as never }]) {
    const { problems } = interpret({ toolCalls: [{ id: 'c1', name: 'add', arguments: args }], finishReason: 'tool_calls' });
    expect(problems).toEqual({ c1: expect.stringContaining('nested deeper than 64 levels') });
  }
});

/** Returns the notes about a call with these arguments. */
function notesOn(args: unknown, name = 'add'): unknown {
  return interpret({ toolCalls: [{ id: 'c1', name, arguments: args }] as never }).injections;
}

test.each([
  ['arguments that end in the middle', '{"a":1,"note":"a long no', 'add'],
  ['arguments that are no JSON', '<nothing>', 'add'],
  ['another value than an object', '[1,2]', 'add'],
  ['unreadable arguments of a tool that does not exist', '{"a":', 'adds'],
])('%s are kept in a note for the model', (_, text, name) => {
  expect(notesOn(text, name)).toEqual({ c1: `the model wrote as its arguments: ${text}` });
});

test('a value in place of arguments that is not text is kept as JSON', () => {
  expect(notesOn(['a'])).toEqual({ c1: 'the model wrote as its arguments: ["a"]' });
});

test('a call that has its arguments, or never had any, has no note', () => {
  expect([notesOn('{"a":1,"b":2}'), notesOn('{"a":1}'), notesOn('{"a":1,"b":2,}'), notesOn(''), notesOn(null)]).toEqual(
    Array.from({ length: 5 }, () => undefined),
  );
});

test('a long text is cut, and if all texts of an answer are too long, the last ones are left out', () => {
  const long = `{"note":"${'x'.repeat(50_000)}`;
  const toolCalls = Array.from({ length: 30 }, (_, index) => ({ id: `c${index}`, name: 'add', arguments: long }));
  const notes = Object.values(interpret({ toolCalls }).injections ?? {});
  expect(notes.length).toBe(9);
  for (const note of notes) expect(note.length).toBeLessThan(2_100);
});
