import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cellCode, fencedBlock } from '../../../../src/core/domain/execution.ts';

describe('the code of a fenced block', () => {
  test.each([
    ['with a language', '```python\nx = 1\n```', 'x = 1'],
    ['with another language', 'Look:\n```tool-code\nx = 1\n```', 'x = 1'],
    ['without a language', '```\nx = 1\n```', 'x = 1'],
    ['on one line', '```final_answer(1)```', 'final_answer(1)'],
    ['on one line with a language', '```python final_answer(1)```', 'final_answer(1)'],
    ['that begins beside its fence', '```x = 1\ny = 2\n```', 'x = 1\ny = 2'],
    ['whose end is not on a line of its own', '```js\nx = 1```', 'x = 1'],
    ['with line ends of Windows', '```python\r\nx = 1\r\ny = 2\r\n```\r\n', 'x = 1\ny = 2'],
    ['in a longer fence', '````js\nconst t = "```";\n````', 'const t = "```";'],
    ['that is the first of two', '```js\n1\n``` and ```js\n2\n```', '1'],
  ])('%s', (_, text, code) => {
    expect(fencedBlock(text)).toBe(code);
  });

  test('has no indentation that all of its lines share', () => {
    expect(fencedBlock('```python\n    indented = 1\n```')).toBe('indented = 1');
    expect(fencedBlock('1. Do\n   ```python\n   if x:\n       y = 1\n\n   z\n   ```')).toBe('if x:\n    y = 1\n\nz');
    expect(fencedBlock('```python\n\tif x:\n\t\ty = 1\n```')).toBe('if x:\n\ty = 1');
  });

  test('is empty if it is blank', () => {
    expect(fencedBlock('```python\n\n```')).toBe('');
    expect(fencedBlock('```\n```')).toBe('');
  });

  test('is missing without a block and without its end', () => {
    const texts = ['', 'no block at all', '`x = 1`', '```python\nx = 1', '``````'];
    expect(texts.map(fencedBlock)).toEqual(texts.map(() => undefined));
  });

  test('is found wherever the block stands', () => {
    const lines = fc.array(fc.stringMatching(/^[a-z(]+[a-z =0-9()]*[a-z0-9)]$/), { minLength: 1 });
    fc.assert(
      fc.property(lines, fc.constantFrom('', 'python', 'javascript'), fc.nat(8), (code, language, indentation) => {
        const margin = ' '.repeat(indentation);
        const block = ['```' + language, ...code.map((line) => margin + line), '```'].join('\n');
        expect(fencedBlock(`Let me see.\n${block}\nDone.`)).toBe(code.join('\n'));
      }),
    );
  });

  test('is found in proportion to the length of the text', () => {
    for (const text of [
      '`'.repeat(1_000_000),
      '``` '.repeat(250_000),
      '```\n' + ' '.repeat(1_000_000),
      '```' + 'a'.repeat(1_000_000) + '!\n```',
    ]) {
      expect(() => fencedBlock(text)).not.toThrow();
    }
  });
});

describe('the code of a cell', () => {
  const message = { type: 'message' as const, role: 'assistant' as const, content: '```js\n1\n```' };

  test('is the argument of its call, or else the first block of the text beside it', () => {
    expect(cellCode([message], { arguments: { code: '2' } })).toBe('2');
    expect(cellCode([message], { arguments: {} })).toBe('1');
    expect(cellCode([{ ...message, content: [{ type: 'text', text: message.content }] }], { arguments: {} })).toBe('1');
    expect(cellCode([], { arguments: {} })).toBeUndefined();
    expect(cellCode([{ ...message, content: 'none' }], { arguments: {} })).toBeUndefined();
    expect(cellCode([{ ...message, content: '```python\n```' }], { arguments: {} })).toBeUndefined();
  });
});
