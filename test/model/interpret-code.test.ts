import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/define/define-tool.ts';
import { quickjs } from '../../src/define/code.ts';
import { isToolCall, type ToolCall } from '../../src/core/domain/content.ts';
import type { RecordedResponse } from '../../src/core/domain/model.ts';
import { interpretResponse } from '../../src/model/interpret-response.ts';
import { newSnapshot } from '../fakes/snapshot.ts';

const add = defineTool({ name: 'add', description: 'd', parameters: z.object({ a: z.number() }), execute: () => 1 });
const pay = defineTool({ name: 'pay', description: 'd', parameters: z.object({}), execute: () => 1, callers: ['code'] });
const WITH_CODE = newSnapshot({ tools: [add, pay], code: { executor: quickjs() } });
const WITHOUT = newSnapshot({ tools: [add] });

function interpret(toolCalls: unknown[], snapshot = WITH_CODE, known: string[] = []): RecordedResponse {
  const response = { content: '', toolCalls: toolCalls as never, usage: null, finishReason: 'stop' };
  return interpretResponse(response, { snapshot, isUsedCallId: (id) => known.includes(id), eventId: 'event', uuid: () => 'uuid' });
}

function idsOf({ content }: RecordedResponse): string[] {
  return content.filter(isToolCall).map(({ toolCallId }: ToolCall) => toolCallId);
}

test('code is recorded as the model wrote it', () => {
  const code = '\nprint(1)\n';
  const recorded = interpret([{ id: 'c1', name: 'run_code', arguments: JSON.stringify({ code }) }]);
  expect(recorded.content).toEqual([{ type: 'tool_call', toolCallId: 'c1', name: 'run_code', arguments: { code } }]);
  expect(recorded).not.toHaveProperty('problems');
});

test.each([
  ['no code', {}, `missing required field "code"`],
  ['code that is not text', { code: 7 }, 'code: expected string, got number'],
  ['empty code', { code: '' }, 'code: expected code, got empty text'],
  ['blank code', { code: ' \n\t' }, 'code: expected code, got empty text'],
  ['code over 100,000 characters', { code: 'x'.repeat(100_001) }, 'code: expected at most 100000 characters, got 100001'],
  ['a list', [1], 'expected object, got array'],
])('%s is a problem that the model reads', (_, given, problem) => {
  const { problems } = interpret([{ id: 'c1', name: 'run_code', arguments: given }]);
  expect(problems).toEqual({ c1: expect.stringContaining(`Invalid arguments for 'run_code': ${problem}`) });
});

test('code of 100,000 characters has no problem', () => {
  expect(interpret([{ id: 'c1', name: 'run_code', arguments: { code: 'x'.repeat(100_000) } }])).not.toHaveProperty('problems');
});

test('code whose arguments are not JSON is a problem', () => {
  const { problems } = interpret([{ id: 'c1', name: 'run_code', arguments: '{"code": ' }]);
  expect(Object.keys(problems ?? {})).toEqual(['c1']);
});

test('without code, run_code is left to the loop like any unknown tool', () => {
  expect(interpret([{ id: 'c1', name: 'run_code', arguments: { code: '' } }], WITHOUT)).not.toHaveProperty('problems');
});

test('a tool that only code may call is unknown to the model', () => {
  const { problems } = interpret([{ id: 'c1', name: 'pay', arguments: {} }]);
  expect(problems).toEqual({ c1: "Tool 'pay' not found in agent's tool list" });
});

test('no call of the model has an id that a call of code may have', () => {
  const call = { name: 'add', arguments: { a: 1 } };
  const calls = ['c1.1', 'c1.1', 'c1.x', 'c1.', '.5', '7'].map((id) => ({ id, ...call }));
  expect(idsOf(interpret(calls))).toEqual(['c1.1-2', 'c1.1-3', 'c1.x', 'c1.', '.5-2', '7']);
  expect(idsOf(interpret(calls.slice(0, 2), WITHOUT))).toEqual(['c1.1', 'c1.1-2']);
});
