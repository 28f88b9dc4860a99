import { describe, expect, it } from 'vitest';
import { addEvent, incrementStep, newExecutionContext, setState } from '../../../../src/core/domain/record.ts';
import { hasToolCalls, newStep, newToolCallRecord } from '../../../../src/core/domain/tool-calls.ts';

describe('an execution context', () => {
  it('begins empty', () => {
    expect(newExecutionContext('run-1')).toEqual({ executionId: 'run-1', events: [], currentStep: 0, state: {}, finalResult: null });
  });

  it('shares no data with another', () => {
    const [first, second] = [newExecutionContext('1'), newExecutionContext('2')];
    addEvent(first, { id: 'e', executionId: '1', timestamp: '2023-11-14T22:13:20.000Z', author: 'user', content: [] });
    incrementStep(first);
    setState(first, 'k', 1);
    expect(second).toEqual(newExecutionContext('2'));
  });

  it('takes any key into its state as data', () => {
    const context = newExecutionContext('1');
    setState(context, '__proto__', { polluted: true });
    setState(context, 'k', 1);
    setState(context, 'k', 2);
    expect(Object.getPrototypeOf(context.state)).toBe(Object.prototype);
    expect(JSON.stringify(context.state)).toBe('{"__proto__":{"polluted":true},"k":2}');
  });
});

describe('a step', () => {
  it('has no thought, calls or usage and finished by stop by default', () => {
    expect(newStep(3)).toEqual({ step: 3, thought: null, toolCalls: [], usage: null, finishReason: 'stop' });
  });

  it('has tool calls if there is at least one', () => {
    const record = newToolCallRecord('search', 'c1', '2026-01-01T00:00:00.000Z');
    expect(record).toMatchObject({ arguments: {}, result: '', isError: false, durationMs: null });
    expect([newStep(1), { ...newStep(1), toolCalls: [record] }].map(hasToolCalls)).toEqual([false, true]);
  });
});
