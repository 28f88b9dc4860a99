import { expect, test } from 'vitest';
import { answer, clientWithRun } from '../requests.ts';
import { checkedHandler } from '../checked-handler.ts';

const start = { agent: 'clerk', input: 'hello' };

test.each([
  ['a misspelt field', { ...start, limts: {} }, '#/limts', 'unknown field "limts". Did you mean "limits"?'],
  ['a misspelt field inside', { ...start, limits: { step: 3 } }, '#/limits/step', 'unknown field "step". Did you mean "steps"?'],
  ['an unknown field like no other', { ...start, zzzzzzzz: 1 }, '#/zzzzzzzz', 'unknown field "zzzzzzzz"'],
  ['a missing field', { input: 'hello' }, '#/agent', 'missing'],
  ['another type', { ...start, limits: { steps: 'ten' } }, '#/limits/steps', 'expected number, got string'],
  ['a fraction', { ...start, limits: { steps: 1.5 } }, '#/limits/steps', 'expected integer, got 1.5'],
  ['a value of a union', { ...start, input: 5 }, '#/input', 'expected string or array, got 5'],
  [
    'a misspelt word',
    { ...start, ifExists: 'retrun' },
    '#/ifExists',
    'expected "fail", "return" or "restartFailed", got "retrun". Did you mean "return"?',
  ],
  ['a cost of 0', { ...start, limits: { costUsd: 0 } }, '#/limits/costUsd', 'expected more than 0, got 0'],
  ['a negative cost', { ...start, limits: { costUsd: -1 } }, '#/limits/costUsd', 'expected more than 0, got -1'],
  ['too many items', { ...start, tags: Array.from({ length: 21 }, String) }, '#/tags', 'expected at most 20 items, got 21'],
  ['an empty text', { ...start, tags: [''] }, '#/tags/0', 'expected at least 1 character, got 0'],
  [
    'a model without a provider',
    { ...start, model: 'gpt-5' },
    '#/model',
    'expected a provider and a model, such as "openai/gpt-5", got "gpt-5"',
  ],
  [
    'a time span',
    { ...start, deadline: 'soon' },
    '#/deadline',
    'expected milliseconds, or a time span such as "30s", "5m", "1.5h" or "2d", got "soon"',
  ],
  [
    'another kind of part',
    { ...start, input: [{ type: 'txet', text: '' }] },
    '#/input/0/type',
    'expected "text", "image", "audio", "video" or "file", got "txet". Did you mean "text"?',
  ],
] as const)('a body with %s is refused in the words of the product', async (_, body, pointer, detail) => {
  const refused = await answer(await checkedHandler(clientWithRun({})), 'POST', '/v1/runs', { body });
  expect(refused).toMatchObject({ status: 422, body: { code: 'invalid_request', errors: [{ pointer, detail }] } });
});

test.each([
  [{ limits: { costUsd: 0 } }, '#/limits/costUsd', 'expected more than 0, got 0'],
  [{ limits: { turns: 0 } }, '#/limits/turns', 'expected at least 1, got 0'],
  [{ compactAfter: 0 }, '#/compactAfter', 'expected at least 1, got 0'],
])('a session with %j is refused with the bound that the session has', async (settings, pointer, detail) => {
  const refused = await answer(await checkedHandler(clientWithRun({})), 'POST', '/v1/sessions', { body: { agent: 'clerk', ...settings } });
  expect(refused).toMatchObject({ status: 422, body: { code: 'invalid_request', errors: [{ pointer, detail }] } });
});

test.each([
  ['/v1/runs?stauts=failed', 'stauts', 'unknown parameter "stauts". Did you mean "status"?'],
  ['/v1/runs?status=complete', 'status', 'got "complete". Did you mean "completed"?'],
  ['/v1/runs?limit=many', 'limit', 'expected a whole number, got "many"'],
  ['/v1/runs?limit=0', 'limit', 'expected at least 1, got 0'],
  ['/v1/runs?startedAfter=yesterday', 'startedAfter', 'expected a time such as "2026-11-26T22:06:35Z", got "yesterday"'],
  ['/v1/runs/r1/result?wait=long', 'wait', 'expected a time such as "500ms", "30s" or "1m", got "long"'],
  ['/v1/runs?waiting=yes', 'waiting', 'expected "true" or "false", got "yes"'],
])('the query %s is refused in the words of the product', async (path, parameter, detail) => {
  const refused = await answer(await checkedHandler(clientWithRun({})), 'GET', path);
  expect(refused).toMatchObject({ status: 422, body: { errors: [{ parameter, detail: expect.stringContaining(detail) as string }] } });
});
