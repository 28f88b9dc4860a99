import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  cellCode,
  cellFeedback,
  type EndedCell,
  EXECUTION_ERROR_KINDS,
  type ExecutionErrorKind,
  failed,
  fencedBlock,
  injectionProblem,
  namespaceNote,
  newExecutionResult,
  succeeded,
} from '../../../src/core/domain/execution.ts';
import { utf8Length } from '../../../src/core/domain/text.ts';
import { finalText, truncateOutput } from '../../../src/core/domain/code.ts';

describe('the code of a fenced block', () => {
  test.each([
    ['with a language', '```python\nx = 1\n```', 'x = 1'],
    ['with another language', 'Look:\n```tool-code\nx = 1\n```', 'x = 1'],
    ['without a language', '```\nx = 1\n```', 'x = 1'],
    ['on one line', '```final_answer(1)```', 'final_answer(1)'],
    ['on one line with a language', '```python final_answer(1)```', 'final_answer(1)'],
    ['that begins on the line of its fence', '```x = 1\ny = 2\n```', 'x = 1\ny = 2'],
    ['whose closing fence is not on a separate line', '```js\nx = 1```', 'x = 1'],
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

  test('is found wherever the block is', () => {
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

  test('is the argument of its call, or else the first block of the accompanying text', () => {
    expect(cellCode([message], { arguments: { code: '2' } })).toBe('2');
    expect(cellCode([message], { arguments: {} })).toBe('1');
    expect(cellCode([{ ...message, content: [{ type: 'text', text: message.content }] }], { arguments: {} })).toBe('1');
    expect(cellCode([], { arguments: {} })).toBeUndefined();
    expect(cellCode([{ ...message, content: 'none' }], { arguments: {} })).toBeUndefined();
    expect(cellCode([{ ...message, content: '```python\n```' }], { arguments: {} })).toBeUndefined();
  });
});

const figures = { output: '', durationMs: 1, memoryUsedBytes: 2 };

test('a run without a final answer succeeds and is not final', () => {
  expect(succeeded({ ...figures, output: '\n 7 \n', namespace: {} }, 100)).toEqual({
    output: '7',
    isFinal: false,
    finalValue: null,
    error: null,
    timeout: false,
    durationMs: 1,
    memoryUsedBytes: 2,
    namespace: {},
    success: true,
    emptiedBy: null,
  });
});

test('null is a final answer', () => {
  const result = succeeded({ ...figures, finalAnswer: { value: null }, namespace: {} }, 100);
  expect(result).toMatchObject({ isFinal: true, finalValue: null });
});

test('a failed run keeps its output up to the limit, and has no answer and no namespace', () => {
  const output = 'x'.repeat(50);
  const result = failed({ ...figures, output }, { kind: 'runtime', message: 'Error: no' }, 10);
  expect(result).toMatchObject({
    output: 'xxxxxxxxxx\n[OUTPUT TRUNCATED]',
    isFinal: false,
    finalValue: null,
    timeout: false,
    namespace: {},
    success: false,
  });
  expect(failed(figures, { kind: 'timeout', message: 'late' }).timeout).toBe(true);
});

test.each([
  ['abcdef', 3, 'abc\n[OUTPUT TRUNCATED]'],
  ['abc', 3, 'abc'],
  ['ééé', 4, 'éé\n[OUTPUT TRUNCATED]'],
  ['ééé', 5, 'éé\n[OUTPUT TRUNCATED]'],
  ['a😀', 4, 'a\n[OUTPUT TRUNCATED]'],
  ['', 1, ''],
])('"%s" in %d bytes is "%s"', (text, bytes, cut) => {
  expect(truncateOutput(text, bytes)).toEqual({ text: cut, truncated: cut !== text });
});

test('a cut output is a prefix within its bytes, and ends between two characters', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 1, max: 40 }), (text, bytes) => {
      const cut = truncateOutput(text, bytes);
      const kept = cut.truncated ? cut.text.slice(0, -'\n[OUTPUT TRUNCATED]'.length) : cut.text;
      expect(text.startsWith(kept)).toBe(true);
      expect(utf8Length(kept)).toBeLessThanOrEqual(bytes);
      expect(kept.isWellFormed()).toBe(true);
    }),
  );
});

test('a result without fields describes a run that did nothing', () => {
  expect(newExecutionResult()).toEqual(succeeded({ output: '', durationMs: 0, memoryUsedBytes: 0, namespace: {} }, 1));
});

test('a result is a success without an error and without a timeout', () => {
  expect(newExecutionResult({ error: { kind: 'runtime', message: 'no' } }).success).toBe(false);
  expect(newExecutionResult({ timeout: true }).success).toBe(false);
  expect(newExecutionResult({ error: null, timeout: false }).success).toBe(true);
});

class Order {
  readonly id = 1;
}

const cyclic: Record<string, unknown> = {};
cyclic['self'] = cyclic;

test.each([
  [undefined, 'value is undefined, which is not JSON'],
  [{ a: [1, undefined] }, 'value.a[1] is undefined, which is not JSON'],
  [{ rate: NaN }, 'value.rate is NaN, which JSON has no number for'],
  [{ 'a b': { count: 1n } }, 'value["a b"].count is a bigint, which is not JSON'],
  [{ run: () => 1 }, 'value.run is a function, which is not JSON'],
  [{ at: new Date(0) }, 'value.at is an object of a class, which is not JSON'],
  [{ order: new Order() }, 'value.order is an object of a class, which is not JSON'],
  [{ [Symbol('hidden')]: 1 }, 'value has a member that is named by a symbol, which is not JSON'],
  // oxlint-disable-next-line no-sparse-arrays -- The hole is the case.
  [[1, , 2], 'value[1] is missing, which JSON cannot say'],
])('%o is refused with its path', (value, problem) => {
  expect(injectionProblem(value, 'value')).toBe(problem);
});

test('a getter is refused, and not run', () => {
  const withGetter = {
    get price(): number {
      throw new Error('a getter was run');
    },
  };
  expect(injectionProblem(withGetter, 'value')).toBe('value.price is computed by a getter, which is not JSON');
});

test('a value that contains itself is refused for its depth', () => {
  expect(injectionProblem(cyclic, 'value')).toContain('nested deeper than 64 levels');
});

test('any JSON is accepted', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 8 }), (value) => {
      expect(injectionProblem(value, 'value')).toBeUndefined();
    }),
  );
});

test('a model is told what is lost only after an error that leaves no values', () => {
  const told = EXECUTION_ERROR_KINDS.filter((kind) => namespaceNote({ error: { kind, message: 'no' } }) !== undefined);
  expect(told).toEqual(['timeout', 'memory', 'killed', 'protocol']);
  expect(namespaceNote(newExecutionResult())).toBeUndefined();
});

test('a model is told that code began with an empty namespace, and why', () => {
  expect(namespaceNote(newExecutionResult({ emptiedBy: 'memory' }))).toBe(
    'This code began with an empty namespace, because earlier code ended with "memory": define again what you need.',
  );
});

describe('what a model reads about a cell', () => {
  const NOTHING = { output: '', error: null, timeout: false, isFinal: false, finalValue: null };
  const add = { name: 'add', description: 'Add two numbers.' };
  const drop = { name: 'drop', description: '' };
  const CELL: EndedCell = { result: NOTHING, code: '', tools: [add, drop], language: 'python', limits: { maxOutputBytes: 10_000 } };

  function feedbackOn(message: string, code: string, kind: ExecutionErrorKind = 'runtime'): string {
    const result = { ...NOTHING, output: 'printed', error: { kind, message }, timeout: kind === 'timeout' };
    return cellFeedback({ ...CELL, result, code, workingMemory: '## Working Memory' });
  }

  describe('the result of a cell for the model', () => {
    test('is what the cell printed, or that it printed nothing', () => {
      expect(cellFeedback({ ...CELL, result: { ...NOTHING, output: 'p' } })).toBe('p');
      expect(cellFeedback(CELL)).toBe('(no output)');
    });

    test('is followed by the working memory', () => {
      expect(cellFeedback({ ...CELL, result: { ...NOTHING, output: 'p' }, workingMemory: '## Working Memory' })).toBe(
        'p\n\n## Working Memory',
      );
    });

    test('names a final answer', () => {
      const result = { ...NOTHING, isFinal: true, finalValue: [1, null] };
      expect(cellFeedback({ ...CELL, result })).toBe('(no output)\n\nFinal answer: [1, None]');
    });

    test('is the error alone, with the description of each tool that the code names', () => {
      expect(feedbackOn('TypeError: b', "add('a')")).toBe('Execution error: TypeError: b\n\nHint - add() docstring:\nAdd two numbers.');
      expect(feedbackOn('NameError: x', 'x')).toBe('Execution error: NameError: x');
      expect(feedbackOn('NameError: x', 'address(); added; drop()')).toBe('Execution error: NameError: x');
      expect(feedbackOn('Execution timed out after 30s', 'add', 'timeout')).toContain(
        'Execution error: Execution timed out after 30s\n\nHint',
      );
    });
  });

  describe('a final answer as text', () => {
    const limits = { maxOutputBytes: 10 };

    test('is written as its language writes it', () => {
      const value = [1, 'a', true, null];
      expect(finalText(value, { language: 'python', limits: { maxOutputBytes: 100 } })).toBe("[1, 'a', True, None]");
      expect(finalText(value, { language: 'javascript', limits: { maxOutputBytes: 100 } })).toBe('[1,"a",true,null]');
      expect(finalText('5', { language: 'python', limits })).toBe('5');
    });

    test('is cut to the limit of output', () => {
      expect(finalText('x'.repeat(30), { language: 'javascript', limits })).toBe('xxxxxxxxxx\n[OUTPUT TRUNCATED]');
    });
  });
});
