import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { JsonValue } from '../../src/core/domain/json.ts';
import { parseJsonText, wellFormed } from '../../src/model/parse-json.ts';
import { parseToolCall } from '../../src/model/interpret-response.ts';

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
