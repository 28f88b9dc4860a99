import { createContext, runInContext } from 'node:vm';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { codeLiteral } from '../../../../src/core/domain/code.ts';

test('values are written as the language writes them', () => {
  const value = [1, -2.5, 'two', true, false, null, { three: [], 'fo ur': {} }];
  expect(codeLiteral(value, 'python')).toBe("[1, -2.5, 'two', True, False, None, {'three': [], 'fo ur': {}}]");
  expect(codeLiteral(value, 'javascript')).toBe("[1, -2.5, 'two', true, false, null, {'three': [], 'fo ur': {}}]");
});

test('a text with single quotes alone is put in double quotes', () => {
  expect(codeLiteral("it's", 'python')).toBe(`"it's"`);
  expect(codeLiteral(`"it's"`, 'python')).toBe(`'"it\\'s"'`);
  expect(codeLiteral('"', 'python')).toBe(`'"'`);
});

test('characters that a reader could not see are escaped', () => {
  expect(codeLiteral('a\n\t\\\u0000\u00a0\u200b😀é', 'python')).toBe(String.raw`'a\n\t\\\x00\xa0\u200b😀é'`);
  expect(codeLiteral('\u{e0001}', 'python')).toBe(String.raw`'\U000e0001'`);
  expect(codeLiteral('\u{e0001}', 'javascript')).toBe(String.raw`'\u{e0001}'`);
});

test('a text in JavaScript evaluates to itself', () => {
  const context = createContext({});
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(runInContext(codeLiteral(text, 'javascript'), context)).toBe(text);
    }),
  );
});
