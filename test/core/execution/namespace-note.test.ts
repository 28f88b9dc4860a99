import { expect, test } from 'vitest';
import { EXECUTION_ERROR_KINDS, namespaceNote, newExecutionResult } from '../../../src/core/domain/execution.ts';

test('a model is told what is lost after an error that leaves no values, and after no other', () => {
  const told = EXECUTION_ERROR_KINDS.filter((kind) => namespaceNote({ error: { kind, message: 'no' } }) !== undefined);
  expect(told).toEqual(['timeout', 'memory', 'killed', 'protocol']);
  expect(namespaceNote(newExecutionResult())).toBeUndefined();
});

test('a model is told that code began with an empty namespace, and why', () => {
  expect(namespaceNote(newExecutionResult({ emptiedBy: 'memory' }))).toBe(
    'This code began with an empty namespace, because earlier code ended with "memory": define again what you need.',
  );
});
