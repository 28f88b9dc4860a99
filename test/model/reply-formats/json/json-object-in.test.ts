import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jsonObjectIn } from '../../../../src/model/reply-formats.ts';

test('an object is found bare, in a fence with or without a language, and after reasoning', () => {
  const written = [
    '{"answer":"a"}',
    '  {"answer":"a"}\n',
    '```json\n{"answer":"a"}\n```',
    '```\n{"answer":"a"}```',
    'I know it.\n```JSON\n{"answer":"a"}\n```\nDone.',
    '<think>{"answer":"no"}</think>{"answer":"a"}',
    '<think></think>\n```json\n{"answer":"a"}\n```',
    '</think>{"answer":"a"}',
  ];
  expect(written.map(jsonObjectIn)).toEqual(written.map(() => ({ answer: 'a' })));
});

test('a fence or a tag inside a value is part of the value', () => {
  for (const value of ['```js\n1\n```', 'write <think> and </think>']) {
    expect(jsonObjectIn(JSON.stringify({ answer: value }))).toEqual({ answer: value });
  }
});

test('other JSON, JSON that needs a repair, and prose are not an object', () => {
  const others = ['', 'a', '[1]', '"a"', '5', 'null', '{answer: 1}', '{"answer": "a"', 'So: {"answer":"a"}', '```json\n{"answer":"a"}'];
  expect(others.map(jsonObjectIn)).toEqual(others.map(() => undefined));
});

test('any object is found in its fence and after reasoning', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 })), (object) => {
      // Numbers that JSON writes in another way, such as -0, are compared as it writes them.
      const text = JSON.stringify(object);
      const expected: unknown = JSON.parse(text);
      expect(jsonObjectIn(text)).toEqual(expected);
      fc.pre(!text.includes('```') && !text.includes('think>'));
      expect(jsonObjectIn(`<think>hm</think>\n\`\`\`json\n${text}\n\`\`\``)).toEqual(expected);
    }),
  );
});

test('a text of a million tags or fences is read in proportion to its length', () => {
  for (const text of ['<think>'.repeat(150_000), '</think>'.repeat(150_000), '`'.repeat(1_000_001), '``` '.repeat(250_000)]) {
    expect(jsonObjectIn(text)).toBeUndefined();
  }
});
