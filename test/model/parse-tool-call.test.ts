import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import type { JsonObject, JsonValue } from '../../src/core/domain/json.ts';
import { parseJsonText, wellFormed } from '../../src/model/parse-json.ts';
import { interpretResponse, parseToolCall } from '../../src/model/interpret-response.ts';
import type { AgentSnapshot } from '../../src/core/domain/agent.ts';
import { isToolCall } from '../../src/core/domain/content.ts';
import type { RecordedResponse } from '../../src/core/domain/model.ts';
import { checkJson } from '../../src/core/json-schema/check-json-schema.ts';
import { readArguments } from '../../src/core/json-schema/read-by-schema.ts';
import { defineAgent } from '../../src/define/define-agent.ts';
import { defineTool } from '../../src/define/define-tool.ts';
import { jsonSchemaOf } from '../../src/schema/zod-schemas.ts';
import { newSnapshot, snapshotOf } from '../fakes/snapshot.ts';

const INVALID = 'Error: tool arguments were not valid JSON. Please retry with a JSON object.';

class Call {
  id = 'c1';
  name = 'add';
  arguments = { a: 1 };
}

test.each([
  ['our own content item', { type: 'tool_call', toolCallId: 'c1', name: 'add', arguments: { a: 1 } }],
  ['a nested dictionary with text', { id: 'c1', type: 'function', function: { name: 'add', arguments: '{"a":1}' } }],
  ['a nested dictionary with an object', { id: 'c1', function: { name: 'add', arguments: { a: 1 } } }],
  ['a flat dictionary', { id: 'c1', name: 'add', arguments: { a: 1 } }],
  ['a flat dictionary with text', { call_id: 'c1', name: 'add', arguments: '{"a": 1}' }],
  ['a flat dictionary in snake case', { tool_call_id: 'c1', name: 'add', arguments: '{"a": 1}' }],
  ['an object of a class', new Call()],
])('%s is read', (_, shape) => {
  expect(parseToolCall(shape)).toEqual({ toolCallId: 'c1', name: 'add', arguments: { a: 1 } });
});

test('a missing name becomes "unknown", a missing id a new one', () => {
  const first = parseToolCall({ arguments: {} });
  const second = parseToolCall(undefined);
  expect(first).toMatchObject({ name: 'unknown', arguments: {} });
  expect(second).toMatchObject({ name: 'unknown', arguments: {} });
  expect(first.toolCallId).toMatch(/^[0-9a-f-]{36}$/);
  expect(first.toolCallId).not.toBe(second.toolCallId);
});

test('an id that providers would refuse is replaced', () => {
  expect(parseToolCall({ id: 'x'.repeat(65), name: 'add' }, { uuid: () => 'fresh' }).toolCallId).toBe('fresh');
  expect(parseToolCall({ id: 7, name: 'add' }, { uuid: () => 'fresh' }).toolCallId).toBe('fresh');
});

test.each([
  ['no arguments', undefined, undefined],
  ['null', null, undefined],
  ['empty text', '', undefined],
  ['the text null', 'null', undefined],
  ['a list', [1], [1]],
  ['the text of a list', '[1]', [1]],
  ['the text of a text', '"x"', 'x'],
  ['a number', 4, 4],
])('%s gives empty arguments', (_, given, notAnObject) => {
  const parsed = parseToolCall({ id: 'c1', name: 'add', arguments: given });
  expect(parsed.arguments).toEqual({});
  expect(parsed.problem).toBeUndefined();
  expect(parsed.notAnObject).toEqual(notAnObject);
});

test.each([
  ['no arguments', undefined],
  ['null', null],
  ['empty text', ''],
  ['blank text', ' \n'],
  ['the text null', 'null'],
  ['the beginning of an object', '{'],
  ['a part of an object', '{"a": 1'],
])('%s in a cut-off answer is not a call without arguments', (_, given) => {
  const parsed = parseToolCall({ id: 'c1', name: 'add', arguments: given }, { complete: false });
  expect(parsed.arguments).toEqual({});
  expect(parsed.problem).toMatch(
    /^Error: tool arguments were not valid JSON\. Please retry with a JSON object\. \(.*the answer was cut off/,
  );
});

test.each([{ a: 1 }, '{"a":1}', {}, '{}'])('%j that arrived whole is read, although the answer was cut off later', (given) => {
  expect(parseToolCall({ id: 'c1', name: 'add', arguments: given }, { complete: false }).problem).toBeUndefined();
});

test.each([
  ["{'a': True}", { a: true }],
  ['{"a": 1,}', { a: 1 }],
  ['```json\n{"a": 1}\n```', { a: 1 }],
])('%s is read', (text, expected) => {
  expect(parseToolCall({ id: 'c1', name: 'add', arguments: text })).toEqual({ toolCallId: 'c1', name: 'add', arguments: expected });
});

test('valid JSON with a bracket in a text is unchanged', () => {
  expect(parseToolCall({ name: 'add', arguments: '{"a":"{"}' }).arguments).toEqual({ a: '{' });
});

test('valid JSON is never read in another way', () => {
  const text = fc.json({ stringUnit: 'binary' });
  fc.assert(
    fc.property(text, (json) => {
      expect(parseJsonText(json, true)).toEqual({ ok: true, value: wellFormed(JSON.parse(json) as JsonValue), repaired: false });
    }),
    { numRuns: 1_000 },
  );
});

test.each(['{"a":1}{"b":2}', 'I will call add with 1 and 2', '}{'])('%s is answered with an error text', (text) => {
  const { arguments: args, problem } = parseToolCall({ name: 'add', arguments: text });
  expect(args).toEqual({});
  expect(problem?.startsWith(INVALID)).toBe(true);
});

test('cut-off arguments are never completed, whatever the finish reason says, because the call must not run', () => {
  const cut = { name: 'delete_files', arguments: '{"path": "/tmp/a' };
  expect(parseToolCall(cut)).toMatchObject({ arguments: {}, problem: expect.stringContaining('cut off: it ends inside of a text') });
  expect(parseToolCall(cut, { complete: false })).toMatchObject({ arguments: {}, problem: expect.stringContaining('cut off') });
});

test('lone surrogates are replaced in names, ids, keys and values', () => {
  const parsed = parseToolCall({ id: 'c\ud800', name: 'a\udfff', arguments: '{"k\\ud800": ["\\udc00"]}' });
  expect(parsed).toEqual({ toolCallId: 'c\ufffd', name: 'a\ufffd', arguments: { 'k\ufffd': ['\ufffd'] } });
});

test('numbers that JSON cannot represent become null', () => {
  expect(parseToolCall({ name: 'add', arguments: '{"a": 1e999, "b": -0}' }).arguments).toEqual({ a: null, b: 0 });
});

test('a key named __proto__ stays a plain key', () => {
  const { arguments: args } = parseToolCall({ name: 'add', arguments: '{"__proto__": {"polluted": true}}' });
  expect(Object.keys(args)).toEqual(['__proto__']);
  expect(Object.getPrototypeOf(args)).toBe(Object.prototype);
});

test('arguments that are nested too deep to be stored are refused', () => {
  const deep = `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`;
  expect(parseToolCall({ name: 'add', arguments: deep }).problem).toContain('nested deeper than 64 levels');
  const cyclic: Record<string, unknown> = {};
  cyclic['self'] = cyclic;
  expect(parseToolCall({ name: 'add', arguments: cyclic })).toMatchObject({ arguments: {}, problem: expect.stringContaining(INVALID) });
});

const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  parameters: z.object({
    to: z.string(),
    amount: z.number(),
    urgent: z.boolean().optional(),
    note: z.string().nullish(),
    parts: z.array(z.object({ id: z.int(), label: z.string().optional() })).optional(),
    filter: z.object({ from: z.string().optional(), limit: z.int().optional() }).optional(),
  }),
  execute: () => 'paid',
});
const WITH_PAY = newSnapshot({ tools: [pay] });

function interpret(name: string, args: unknown, snapshot: AgentSnapshot, outputZod?: z.ZodType): RecordedResponse {
  const response = { content: '', toolCalls: [{ id: 'c1', name, arguments: args }], usage: null, finishReason: 'tool_calls' };
  return interpretResponse(response, { snapshot, outputZod, isUsedCallId: () => false, eventId: 'event', uuid: () => 'uuid' });
}

function recorded(response: RecordedResponse): JsonObject | undefined {
  return response.content.find(isToolCall)?.arguments;
}

const PLAIN = { to: 'Ada', amount: 15 };
const TEXT = JSON.stringify(PLAIN);

describe('arguments in another form are read if the schema proves the meaning', () => {
  it.each<[form: string, sent: unknown, read: JsonObject]>([
    ['as they should be', PLAIN, PLAIN],
    ['as text', TEXT, PLAIN],
    ['as the text of a text', JSON.stringify(TEXT), PLAIN],
    ['as the text of a text of a text', JSON.stringify(JSON.stringify(TEXT)), PLAIN],
    ['in "arguments"', { arguments: PLAIN }, PLAIN],
    ['in "parameters"', { parameters: PLAIN }, PLAIN],
    ['in "params"', { params: PLAIN }, PLAIN],
    ['in "input"', { input: PLAIN }, PLAIN],
    ['in "args"', { args: PLAIN }, PLAIN],
    ['in the name of the tool', { pay: PLAIN }, PLAIN],
    ['in "arguments" as text', { arguments: TEXT }, PLAIN],
    ['in "arguments" of the text of a text', JSON.stringify(JSON.stringify({ arguments: TEXT })), PLAIN],
    ['next to the name of the tool', { name: 'pay', arguments: PLAIN }, PLAIN],
    ['next to the name of the tool, as text', { tool: 'pay', parameters: TEXT }, PLAIN],
    ['in the name of the tool and in "arguments"', { pay: { arguments: PLAIN } }, PLAIN],
    ['in a list of one', [PLAIN], PLAIN],
    ['in a list of one text', [TEXT], PLAIN],
    ['with a number as text', { to: 'Ada', amount: '15' }, PLAIN],
    ['with a negative number as text', { to: 'Ada', amount: '-1.5' }, { to: 'Ada', amount: -1.5 }],
    ['with true as text', { ...PLAIN, urgent: 'true' }, { ...PLAIN, urgent: true }],
    ['with false in Python', { ...PLAIN, urgent: 'False' }, { ...PLAIN, urgent: false }],
    ['with an object as text', { ...PLAIN, filter: '{"from":"May"}' }, { ...PLAIN, filter: { from: 'May' } }],
    ['with a number as text in an object as text', { ...PLAIN, filter: '{"limit":"3"}' }, { ...PLAIN, filter: { limit: 3 } }],
    ['with a list as text', { ...PLAIN, parts: '[{"id":1}]' }, { ...PLAIN, parts: [{ id: 1 }] }],
    ['with a list of objects as texts', { ...PLAIN, parts: ['{"id":"1"}'] }, { ...PLAIN, parts: [{ id: 1 }] }],
    ['with several of these at once', { arguments: { to: 'Ada', amount: '15', urgent: 'True' } }, { ...PLAIN, urgent: true }],
    ['with a text that is JSON where text is meant', { to: '15', amount: 15 }, { to: '15', amount: 15 }],
    ['with a text that is null where text is meant', { ...PLAIN, note: 'null' }, { ...PLAIN, note: 'null' }],
  ])('%s', (_, sent, read) => {
    const response = interpret('pay', sent, WITH_PAY);
    expect(response.problems).toBeUndefined();
    expect(recorded(response)).toEqual(read);
  });

  it.each<[form: string, sent: unknown, problem: string]>([
    ['a number with a unit', { to: 'Ada', amount: '15 EUR' }, 'amount: expected number, got string'],
    ['a number with a comma', { to: 'Ada', amount: '1,500' }, 'amount: expected number, got string'],
    ['an empty text for a number', { to: 'Ada', amount: '' }, 'amount: expected number, got string'],
    ['a number with more digits than are kept', { to: 'Ada', amount: '12345678901234567890' }, 'amount: expected number, got string'],
    ['a number beyond all', { to: 'Ada', amount: '1e999' }, 'amount: expected number, got string'],
    ['a fraction as text for a whole number', { ...PLAIN, filter: { limit: '1.5' } }, 'filter.limit: expected integer, got string'],
    ['yes for true', { ...PLAIN, urgent: 'yes' }, 'urgent: expected boolean, got string'],
    ['a number for a text', { to: 7, amount: 15 }, 'to: expected string, got number'],
    ['JSON as text that is cut off', { ...PLAIN, filter: '{"from":"May"' }, 'filter: expected object, got string'],
    ['an object as text with a wrong field', { ...PLAIN, filter: '{"from":1}' }, 'filter: expected object, got string'],
    ['a wrapper with a second field', { arguments: PLAIN, reason: 'x' }, 'missing required field "to"'],
    ['a wrapper of another name', { payload: PLAIN }, 'missing required field "to"'],
    ['the name of another tool', { name: 'refund', arguments: PLAIN }, 'missing required field "to"'],
    ['a wrapper of arguments that do not fit', { arguments: { to: 'Ada' } }, 'missing required field "to"'],
    ['a wrapper of arguments that no schema declares', { arguments: { ...PLAIN, code: 1 } }, 'missing required field "to"'],
    ['a list of two', [PLAIN, PLAIN], 'expected object, got array'],
    ['an empty list', [], 'expected object, got array'],
    ['a text', '"Ada"', 'expected object, got string'],
    ['one value for a list', { ...PLAIN, parts: { id: 1 } }, 'parts: expected array, got object'],
    ['null for a required argument', { to: null, amount: 15 }, 'to: expected string, got null'],
  ])('%s is refused', (_, sent, problem) => {
    expect(interpret('pay', sent, WITH_PAY).problems?.['c1']).toContain(problem);
  });

  it('a wrapper that may be an argument itself is taken off only if the argument is below it', () => {
    const search = defineTool({
      name: 'search',
      description: 'Searches.',
      parameters: z.object({ input: z.string().optional(), limit: z.number().optional() }),
      execute: () => '',
    });
    const snapshot = newSnapshot({ tools: [search] });
    expect(recorded(interpret('search', { input: { input: 'x' } }, snapshot))).toEqual({ input: 'x' });
    expect(interpret('search', { input: { limit: 1 } }, snapshot).problems).toHaveProperty('c1');
    expect(interpret('search', { input: {} }, snapshot).problems).toHaveProperty('c1');
  });

  describe('a wrapper is not an argument of a tool whose arguments are all optional', () => {
    const search = defineTool({
      name: 'search',
      description: 'Searches.',
      parameters: z.object({ text: z.string().optional(), limit: z.number().optional() }),
      execute: () => '',
    });
    const snapshot = newSnapshot({ tools: [search] });
    const found = { text: 'x', limit: 1 };

    it.each<[form: string, sent: unknown, read: JsonObject]>([
      ['the arguments themselves', found, found],
      ['nothing', {}, {}],
      ['in "arguments"', { arguments: found }, found],
      ['in "arguments" as text', { arguments: JSON.stringify(found) }, found],
      ['in "arguments" of a text', JSON.stringify({ arguments: found }), found],
      ['in "parameters"', { parameters: found }, found],
      ['in the name of the tool', { search: found }, found],
      ['in the name of the tool and in "arguments"', { search: { arguments: found } }, found],
      ['next to the name of the tool', { name: 'search', arguments: found }, found],
      ['in a list of one', [{ arguments: found }], found],
      ['with a number as text', { args: { limit: '1' } }, { limit: 1 }],
      ['with a null', { input: { text: 'x', limit: null } }, { text: 'x' }],
      ['without any', { search: { arguments: {} } }, {}],
      ['what the schema does not know', { payload: found }, { payload: found }],
      ['any other text', { input: 'x' }, { input: 'x' }],
    ])('%s is read', (_, sent, read) => {
      const response = interpret('search', sent, snapshot);
      expect(response.problems).toBeUndefined();
      expect(recorded(response)).toEqual(read);
    });

    it('is an argument if the schema accepts other names, too', () => {
      const schema = { type: 'object', properties: { text: { type: 'string' } }, additionalProperties: {} };
      for (const sent of [{ arguments: { text: 'x' } }, { input: '{"a":1}' }]) {
        expect(readArguments({ name: 'search', schema }, sent)).toEqual({ args: sent });
      }
    });

    it.each<[form: string, sent: unknown]>([
      ['a text that is cut off', { arguments: '{"text":"x","limit":1' }],
      ['a text that is cut off, of a text', JSON.stringify({ arguments: '{"text":"x' })],
      ['a text of a text that is cut off', { arguments: '"{\\"text' }],
      ['a text that is cut off below the name of the tool', { search: { arguments: '{"text":"x","limit":1' } }],
      ['a truncated text next to the name of the tool', { name: 'search', arguments: '{"limit":1' }],
      ['a text that is not JSON', { arguments: "{'text': 'x'}" }],
      ['a list that is cut off', { arguments: '[{"text":"x"}' }],
      ['arguments of another type', { arguments: { limit: 'many' } }],
      ['arguments of another type as text', { arguments: '{"limit":[]}' }],
    ])('%s in it is refused', (_, sent) => {
      expect(interpret('search', sent, snapshot).problems?.['c1']).toContain('they are inside another field');
    });
  });

  it('two readings that both fit count as no reading', () => {
    const schema = {
      type: 'object',
      properties: {
        input: { anyOf: [{ type: 'object', properties: { input: { type: 'object' } }, required: ['input'] }, { type: 'null' }] },
      },
      required: ['input'],
    };
    const given = { input: '{"input":{"input":{}}}' };
    const { problem } = readArguments({ name: 'nest', schema }, given);
    expect(problem).toContain('input: expected object or null, got string');
  });

  it('in a union, a text is read only if all choices that fit agree', () => {
    const parameters = z.object({
      when: z.union([z.number(), z.object({ day: z.number() }), z.null()]),
      mode: z.union([z.literal('1'), z.number()]),
    });
    const schema = jsonSchemaOf(parameters, 'test');
    const read = (given: JsonObject): JsonObject => readArguments({ name: 't', schema }, given).args;
    expect(read({ when: '5', mode: 2 })).toEqual({ when: 5, mode: 2 });
    expect(read({ when: '{"day":"5"}', mode: 2 })).toEqual({ when: { day: 5 }, mode: 2 });
    expect(read({ when: 'null', mode: '1' })).toEqual({ when: null, mode: '1' });
    expect(read({ when: 1, mode: '2' })).toEqual({ when: 1, mode: 2 });
  });

  it('arguments that fit are never changed', () => {
    const { schema } = WITH_PAY.tools[0]!;
    const value = fc.oneof(fc.json(), fc.string(), fc.constantFrom('5', 'true', 'null', '{}', '[]'));
    const fitting = fc.record(
      { to: value, amount: fc.double({ noNaN: true, noDefaultInfinity: true }), note: fc.option(value), arguments: fc.jsonValue() },
      { requiredKeys: ['to', 'amount'] },
    );
    fc.assert(
      fc.property(fitting, (args) => {
        const given = JSON.parse(JSON.stringify(args)) as JsonObject;
        expect(readArguments({ name: 'pay', schema }, given)).toEqual({ args: given });
      }),
    );
  });

  it('whatever is sent, arguments without a problem fit the schema', () => {
    const { schema } = WITH_PAY.tools[0]!;
    const wrapped = fc.letrec<{ sent: unknown }>((tie) => ({
      sent: fc.oneof(
        fc.constant(PLAIN),
        fc.jsonValue(),
        fc.record({ arguments: tie('sent') }),
        fc.record({ to: fc.jsonValue(), amount: fc.oneof(fc.string(), fc.integer().map(String)) }),
        tie('sent').map((one) => JSON.stringify(one)),
        tie('sent').map((one) => [one]),
      ),
    }));
    fc.assert(
      fc.property(wrapped.sent, (sent) => {
        const { args, problem } = readArguments({ name: 'pay', schema }, JSON.parse(JSON.stringify(sent)));
        expect(problem !== undefined || checkJson(schema, args).length === 0).toBe(true);
      }),
    );
  });
});

describe('null for an optional argument is absent', () => {
  it.each<[form: string, sent: unknown, read: JsonObject]>([
    ['a truth value', { ...PLAIN, urgent: null }, PLAIN],
    ['a text that may be null stays null', { ...PLAIN, note: null }, { ...PLAIN, note: null }],
    ['a list', { ...PLAIN, parts: null }, PLAIN],
    ['an object', { ...PLAIN, filter: null }, PLAIN],
    ['a field of an object', { ...PLAIN, filter: { from: null, limit: 1 } }, { ...PLAIN, filter: { limit: 1 } }],
    ['all fields of an object', { ...PLAIN, filter: { from: null, limit: null } }, { ...PLAIN, filter: {} }],
    ['a field of objects of a list', { ...PLAIN, parts: [{ id: 1, label: null }, { id: 2 }] }, { ...PLAIN, parts: [{ id: 1 }, { id: 2 }] }],
    ['all optional arguments', { ...PLAIN, urgent: null, note: null, parts: null, filter: null }, { ...PLAIN, note: null }],
    ['in a wrapper', { arguments: { ...PLAIN, urgent: null } }, PLAIN],
    ['in arguments as text', JSON.stringify(JSON.stringify({ ...PLAIN, urgent: null })), PLAIN],
    ['in an object as text', { ...PLAIN, filter: '{"from":null}' }, { ...PLAIN, filter: {} }],
    ['next to a number as text', { to: 'Ada', amount: '15', urgent: null }, PLAIN],
  ])('%s', (_, sent, read) => {
    for (const strict of [true, false]) {
      const tools = WITH_PAY.tools.map((tool) => ({ ...tool, strict }));
      const response = interpret('pay', sent, { ...WITH_PAY, tools });
      expect(response.problems).toBeUndefined();
      expect(recorded(response)).toEqual(read);
    }
  });

  it('of a tool whose schema is not a zod schema', () => {
    const schema = {
      type: 'object',
      properties: { q: { type: 'string' }, page: { type: 'integer' }, any: {}, kind: { enum: ['a', null] } },
      required: ['q'],
      additionalProperties: { type: 'object', properties: { deep: { type: 'string' } } },
    };
    const given = { q: 'x', page: null, any: null, kind: null, more: { deep: null } };
    expect(readArguments({ name: 't', schema }, given)).toEqual({ args: { q: 'x', any: null, kind: null, more: {} } });
  });
});

describe('an answer that a call of final_answer holds in another form', () => {
  const OUTPUT = z.object({ answer: z.number(), unit: z.string().optional() });
  const agent = defineAgent({ name: 'bot', model: 'scripted/model', output: OUTPUT, outputMode: 'final_answer' });
  const ANSWER = { answer: 4 };

  it.each<[form: string, sent: unknown]>([
    ['as it should be', { output: ANSWER }],
    ['as text', { output: '{"answer":4}' }],
    ['with a number as text', { output: { answer: '4' } }],
    ['with a null for an optional field', { output: { answer: 4, unit: null } }],
    ['as the arguments themselves', ANSWER],
    ['as the arguments themselves, as text', '{"answer":4}'],
    ['as the text of a text', JSON.stringify('{"answer":4}')],
    ['as the text of a text, in "output"', JSON.stringify('{"output":{"answer":4}}')],
    ['in "arguments"', { arguments: { output: ANSWER } }],
    ['in "parameters", itself', { parameters: ANSWER }],
    ['in the name of the tool', { final_answer: { output: ANSWER } }],
    ['next to the name of the tool', { name: 'final_answer', arguments: { output: ANSWER } }],
    ['in a list of one', [{ output: ANSWER }]],
    ['in a list of one, itself', [ANSWER]],
  ])('%s', (_, sent) => {
    const response = interpret('final_answer', sent, snapshotOf(agent), OUTPUT);
    expect(response.problems).toBeUndefined();
    const { output } = response;
    expect(output?.type === 'parsed' ? output.value : recorded(response)?.['output']).toEqual(ANSWER);
  });

  it.each<[form: string, sent: unknown, problem: string]>([
    ['nothing', {}, 'missing required field "output"'],
    ['another answer', { output: { answer: 'four' } }, 'answer: expected number, got string'],
    ['another field', { result: ANSWER }, 'missing required field "output"'],
    ['a list of two', [ANSWER, ANSWER], 'expected object, got array'],
  ])('%s is refused', (_, sent, problem) => {
    expect(interpret('final_answer', sent, snapshotOf(agent), OUTPUT).problems?.['c1']).toContain(problem);
  });

  it('is not the arguments themselves if the schema takes an empty object', () => {
    const open = z.object({ note: z.string().optional() });
    const lenient = defineAgent({ name: 'bot', model: 'scripted/model', output: open, outputMode: 'final_answer' });
    expect(interpret('final_answer', { text: 'x' }, snapshotOf(lenient), open).problems).toHaveProperty('c1');
    expect(interpret('final_answer', {}, snapshotOf(lenient), open).problems).toHaveProperty('c1');
  });
});
