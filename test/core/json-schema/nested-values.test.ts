import { expect, test } from 'vitest';
import { checkJson, problemsText } from '../../../src/core/json-schema/check-json-schema.ts';
import { decisionProblem, messageProblem, raiseProblem } from '../../../src/core/wire-schemas/request-schemas.ts';
import { checkRunInput } from '../../../src/core/wire-schemas/run-input-schema.ts';

const TOO_DEEP = 'nested deeper than 64 levels';
const DECISION = { callId: 'c1', id: 'd1', digest: 'x' };

function lists(levels: number): unknown {
  return JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`);
}

test('10,000 levels in any request to a run are refused with the path to them', () => {
  const deep = lists(10_000);
  expect(decisionProblem('respond', { ...DECISION, content: deep })).toContain(`content: ${TOO_DEEP}`);
  expect(decisionProblem('approve', { ...DECISION, arguments: { list: deep } })).toContain(`arguments: ${TOO_DEEP}`);
  expect(decisionProblem('reject', deep)).toContain(TOO_DEEP);
  expect(raiseProblem({ id: 'r1', limits: { totalTokens: deep } })).toContain(`limits: ${TOO_DEEP}`);
  expect(messageProblem({ id: 'm1', content: deep })).toEqual({
    code: 'invalid_input',
    message: expect.stringContaining(`content: ${TOO_DEEP}`) as string,
  });
  expect(checkRunInput({ agent: 'a', input: 'Q', deps: { deep } })).toMatchObject({
    ok: false,
    code: 'invalid_input',
    problem: expect.stringContaining(`deps: ${TOO_DEEP}`) as string,
  });
  expect(checkRunInput(deep)).toMatchObject({ ok: false, code: 'invalid_input' });
});

test('64 levels are accepted', () => {
  expect(decisionProblem('respond', { ...DECISION, content: lists(64) })).toBeUndefined();
  expect(decisionProblem('respond', { ...DECISION, content: lists(65) })).toContain(TOO_DEEP);
  expect(checkRunInput({ agent: 'a', input: 'Q', deps: { deep: lists(63) } })).toMatchObject({ ok: true });
  expect(checkRunInput({ agent: 'a', input: 'Q', deps: { deep: lists(64) } })).toMatchObject({ ok: false });
});

test('a recursive schema does not follow a value through 10,000 levels', () => {
  const schema = { $ref: '#/$defs/list', $defs: { list: { type: 'array', items: { $ref: '#/$defs/list' } } } };
  expect(problemsText(checkJson(schema, lists(10_000)))).toBe('the value could not be checked: it is nested deeper than 128 levels');
  expect(checkJson(schema, lists(100))).toEqual([]);
});
