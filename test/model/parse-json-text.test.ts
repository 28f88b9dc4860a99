import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonValue } from '../../src/core/domain/json.ts';
import { parseJsonText } from '../../src/model/parse-json.ts';

const valueOf = (text: string): unknown => {
  const parsed = parseJsonText(text, true);
  return parsed.ok ? parsed.value : parsed.problem;
};

describe('another spelling of JSON is read', () => {
  test.each([
    ['single quotation marks', "{'a': 'x', 'b': [1]}", { a: 'x', b: [1] }],
    ['typographic quotation marks', '{“a”: “x”, ‘b’: ‘y’}', { a: 'x', b: 'y' }],
    ['backticks', '{`a`: `x`}', { a: 'x' }],
    ['keys without quotation marks', '{a: 1, b_2: 2, $c: 3}', { a: 1, b_2: 2, $c: 3 }],
    ['numbers as keys', '{1: "x"}', { 1: 'x' }],
    ['a comma at the end', '{"a": [1, 2,],}', { a: [1, 2] }],
    ['no comma before a key', '{"a": 1 "b": "x" c: {} d: 2}', { a: 1, b: 'x', c: {}, d: 2 }],
    ['no comma between brackets', '{"a": [{"b": 1} {"b": 2} [3]]}', { a: [{ b: 1 }, { b: 2 }, [3]] }],
    ['literals of Python', "{'a': True, 'b': False, 'c': None}", { a: true, b: false, c: null }],
    ['undefined', '{"a": undefined, "b": 1}', { a: null, b: 1 }],
    ['comments', '{/* first */ "a": 1, // {second\n "b": 2 # third}\n}', { a: 1, b: 2 }],
    ['a code fence', '```json\n{"a": 1}\n```', { a: 1 }],
    ['a code fence that is not closed', '```\n{"a": 1,}\n', { a: 1 }],
    ['prose around it', 'Here\'s the call: {"a": 1,} Done.', { a: 1 }],
    ['the call around it', 'add({"a": 1})', { a: 1 }],
    ['line breaks and tabs in a text', '{"a": "x\n\ty"}', { a: 'x\n\ty' }],
    ['an escaped apostrophe', String.raw`{'a': 'it\'s', "b": "it\'s"}`, { a: "it's", b: "it's" }],
    ['a code in hexadecimal', String.raw`{'a': '\x41B'}`, { a: 'AB' }],
    ['numbers with a sign, or without a zero', '{"a": +5, "b": .5, "c": -.5, "d": 1e2,}', { a: 5, b: 0.5, c: -0.5, d: 100 }],
    ['every quotation mark escaped', String.raw`{\"a\": \"x\", \"b\": 1}`, { a: 'x', b: 1 }],
    ['brackets in texts', "{'a': '}]{[', b: \"}\"}", { a: '}]{[', b: '}' }],
  ])('%s', (_, text, expected) => {
    expect(parseJsonText(text, true)).toEqual({ ok: true, value: expected, repaired: true });
  });
});

describe('a text that ends in the middle is never completed', () => {
  test.each([
    ['a text', '{"a": "x'],
    ['a text', "{'a': 'x"],
    ['a text', '{"a": "x\\'],
    ['a text', String.raw`{"a": "\u00`],
    ['a number', '{"a": 15'],
    ['a number', '{"a": -1.5'],
    ['a value', '{"a": 1.'],
    ['a value', '{"a": 1e'],
    ['a value', '{"a": -'],
    ['a value', '{"a": tru'],
    ['a value', "{'a': Non"],
    ['a value', '{"a": true'],
    ['an object', '{"a": 1 '],
    ['an object', '{"a": '],
    ['an object', '{"a": {"b": 1}'],
    ['an object', '{"a": [1]'],
    ['an object', '{'],
    ['a key', '{a'],
    ['a list', '{"a": [1,'],
    ['a list', '[[1]'],
    ['a text', '{"paths": ["/srv/a", "/srv/b'],
    ['an object', '```json\n{"a": 1, // the first'],
    ['an object', 'Here it is: {"a": "x",'],
  ])('inside %s: %s', (inside, text) => {
    expect(valueOf(text)).toBe(
      `the text was cut off: it ends inside of ${inside}. Nothing was done with it. Send it again, complete, and shorter if it was too long.`,
    );
  });
});

describe('a text with two readings is not read', () => {
  test.each([
    ['two objects', '{"a":1}{"b":2}'],
    ['a bracket too many', '{"a":1,}}'],
    ['an object and a list in prose', 'See [1]: {"a":1}'],
    ['a closing bracket first', '} {"a":1}'],
    ['a missing value', '{"a":}'],
    ['a missing value of a list', '[1,,2]'],
    ['two commas', '{"a":1,,"b":2}'],
    ['a bare word', '{"a": foo}'],
    ['two numbers without a comma', '[1 500]'],
    ['two texts without a comma', '["a" "b"]'],
    ['joined texts', '{"a": "x" + "y"}'],
    ['an ellipsis', '{"a": [1, 2, ...]}'],
    ['quotation marks inside a text', '{"a": "say "hi" there"}'],
    ['an unknown escape', String.raw`{"a": "C:\dir"}`],
    ['NaN', '{"a": NaN}'],
    ['zeros before a number', '{"a": 007}'],
    ['a number without its fraction', '{"a": 15.}'],
    ['the wrong closing bracket', '{"a": [1}'],
    ['no colon', '{"a" 1}'],
    ['prose alone', 'I will call add with 1 and 2'],
    ['too many levels', `{a:${'['.repeat(70)}${']'.repeat(70)}}`],
  ])('%s', (_, text) => {
    expect(parseJsonText(text, true).ok).toBe(false);
  });
});

test('nothing but JSON is read if the provider says that the answer was cut off', () => {
  expect(parseJsonText('{"a":1}', false)).toEqual({ ok: true, value: { a: 1 }, repaired: false });
  expect(parseJsonText("{'a':1}", false)).toMatchObject({ ok: false, problem: expect.stringContaining('the answer was cut off') });
});

/** Writes a value as a model might: `style` chooses at each place. */
function spelled(value: JsonValue, style: () => number): string {
  if (typeof value === 'string') {
    const quote = style() % 2 === 0 ? '"' : "'";
    const inner = JSON.stringify(value).slice(1, -1);
    return quote === '"' ? `"${inner}"` : `'${inner.replaceAll("'", String.raw`\'`)}'`;
  }
  if (Array.isArray(value))
    return `[${value.map((one) => spelled(one, style)).join(', ')}${value.length > 0 && style() % 2 === 0 ? ',' : ''}]`;
  if (value === null || typeof value === 'boolean') {
    const python = value === null ? 'None' : value ? 'True' : 'False';
    return style() % 2 === 0 ? JSON.stringify(value) : python;
  }
  if (typeof value !== 'object') return JSON.stringify(value);
  const members = Object.entries(value).map(([key, one]) => {
    const name = /^[A-Za-z_]+$/.test(key) && style() % 2 === 0 ? key : spelled(key, style);
    return `${name}${style() % 2 === 0 ? ':' : ' : '}${spelled(one, style)}`;
  });
  const comment = style() % 4 === 0 ? '/* } */' : '';
  return `{${comment}${members.join(style() % 3 === 0 ? ',\n' : ', ')}${members.length > 0 && style() % 2 === 0 ? ',' : ''}}`;
}

const someObject = fc.dictionary(fc.string({ maxLength: 6 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4 });

test('any object in any spelling is read as itself, and no beginning of it is read as anything', () => {
  fc.assert(
    fc.property(someObject, fc.array(fc.nat(11), { minLength: 1, maxLength: 20 }), (given, choices) => {
      const value = JSON.parse(JSON.stringify(given)) as JsonValue;
      let at = 0;
      const text = spelled(value, () => choices[(at += 1) % choices.length] ?? 0);
      expect(valueOf(text)).toEqual(value);
      for (let length = 0; length < text.length; length += 1) {
        if (parseJsonText(text.slice(0, length), true).ok) throw new Error(`read ${text.slice(0, length)} of ${text}`);
      }
    }),
    { numRuns: 200 },
  );
}, 60_000);

test('the time grows with the length of the text', () => {
  const texts = [
    '{"a":'.repeat(60),
    "{'a':'".repeat(100_000),
    '['.repeat(300_000),
    `{a:"${'\\n'.repeat(200_000)}`,
    '/*'.repeat(300_000),
    ' '.repeat(500_000),
  ];
  for (const text of texts) expect(parseJsonText(text, true).ok).toBe(false);
});
