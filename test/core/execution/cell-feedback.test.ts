import { describe, expect, test } from 'vitest';
import { cellFeedback, type EndedCell, type ExecutionErrorKind } from '../../../src/core/domain/execution.ts';
import { finalText } from '../../../src/core/domain/code.ts';

const NOTHING = { output: '', error: null, timeout: false, isFinal: false, finalValue: null };
const add = { name: 'add', description: 'Add two numbers.' };
const drop = { name: 'drop', description: '' };
const CELL: EndedCell = { result: NOTHING, code: '', tools: [add, drop], language: 'python', limits: { maxOutputBytes: 10_000 } };

function failed(message: string, code: string, kind: ExecutionErrorKind = 'runtime'): string {
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
    expect(failed('TypeError: b', "add('a')")).toBe('Execution error: TypeError: b\n\nHint - add() docstring:\nAdd two numbers.');
    expect(failed('NameError: x', 'x')).toBe('Execution error: NameError: x');
    expect(failed('NameError: x', 'address(); added; drop()')).toBe('Execution error: NameError: x');
    expect(failed('Execution timed out after 30s', 'add', 'timeout')).toContain('Execution error: Execution timed out after 30s\n\nHint');
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
