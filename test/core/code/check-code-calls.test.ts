import fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkCodeCalls } from '../../../src/core/code/run-code.ts';
import { isCodeCallId } from '../../../src/core/code/callable-tools.ts';
import type { CodeCall } from '../../../src/core/domain/execution.ts';
import { testSnapshot, testTool } from '../loop/fakes/snapshot.ts';

const schema = {
  type: 'object',
  properties: { id: { type: 'number' }, note: { type: 'string' }, tag: { type: ['string', 'null'] } },
  required: ['id'],
  additionalProperties: false,
};
const snapshot = testSnapshot({
  tools: [testTool('orders', { schema }), testTool('plan', { callers: ['model'] }), testTool('pay', { callers: ['code'] })],
});
const place = { snapshot, callId: 'c1', before: 0 };

test('calls are named by the call of run_code and their number in the cell', () => {
  const calls = [
    { tool: 'orders', arguments: { id: 41 } },
    { tool: 'pay', arguments: { any: true } },
  ];
  expect(checkCodeCalls(calls, { ...place, before: 2 })).toEqual({
    calls: [
      { type: 'tool_call', toolCallId: 'c1.3', name: 'orders', arguments: { id: 41 } },
      { type: 'tool_call', toolCallId: 'c1.4', name: 'pay', arguments: { any: true } },
    ],
  });
});

test('arguments that do not fit are a problem, in the words that a model reads', () => {
  expect(checkCodeCalls([{ tool: 'orders', arguments: { id: 'x' } }], place).problems).toEqual({
    'c1.1': "Invalid arguments for 'orders': id: expected number, got string",
  });
});

test.each(['run_code', 'final_answer', 'nothing', 'plan', '__proto__'])('%s is unknown to code', (tool) => {
  expect(checkCodeCalls([{ tool, arguments: {} }], place).problems).toEqual({ 'c1.1': `Tool '${tool}' not found in agent's tool list` });
});

test('a null for an argument that may be left out is left out, and stays if the schema accepts it', () => {
  const { calls, problems } = checkCodeCalls([{ tool: 'orders', arguments: { id: 1, note: null, tag: null } }], place);
  expect(calls[0]?.arguments).toEqual({ id: 1, tag: null });
  expect(problems).toBeUndefined();
});

test('an argument that is required must not be null', () => {
  expect(checkCodeCalls([{ tool: 'orders', arguments: { id: null } }], place).problems).toHaveProperty(['c1.1']);
});

test('each call has an id of its own, in order, that no call of the model has, and every problem belongs to a call', () => {
  const call = fc.record({ tool: fc.constantFrom('orders', 'pay', 'plan', 'x'), arguments: fc.dictionary(fc.string(), fc.jsonValue()) });
  fc.assert(
    fc.property(fc.array(call), fc.nat({ max: 100 }), (codeCalls, before) => {
      const { calls, problems = {} } = checkCodeCalls(codeCalls as CodeCall[], { ...place, before });
      const ids = calls.map(({ toolCallId }) => toolCallId);
      expect(ids).toEqual(codeCalls.map((_, index) => `c1.${before + index + 1}`));
      expect(ids.every(isCodeCallId)).toBe(true);
      expect(calls.map(({ name }) => name)).toEqual(codeCalls.map(({ tool }) => tool));
      for (const id of Object.keys(problems)) expect(ids).toContain(id);
    }),
  );
});
