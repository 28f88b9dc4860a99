import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { BYTE_BUDGETS, MAX_PAYLOAD_BYTES, MAX_QUEUED_MESSAGES } from '../../../../src/core/domain/byte-budgets.ts';

test('all permanent state of a run fits into one payload, and leaves room for the window', () => {
  const { snapshot, startInput, deps, state, queue } = BYTE_BUDGETS;
  expect(MAX_PAYLOAD_BYTES - (snapshot + startInput + deps + state + queue)).toBeGreaterThanOrEqual(600_000);
});

test('the largest event fits into a page of an answer, with state and final result', () => {
  expect(BYTE_BUDGETS.modelResponse + BYTE_BUDGETS.state + BYTE_BUDGETS.modelText).toBeLessThan(MAX_PAYLOAD_BYTES);
});

test('200 calls with 5 kB of arguments fit one response', () => {
  const call = { type: 'tool_call', toolCallId: 'x'.repeat(36), name: 'x'.repeat(30), arguments: '' };
  expect(200 * (JSON.stringify(call).length + 5_000)).toBeLessThan(BYTE_BUDGETS.modelResponse);
});

test.each(Object.entries({ ...BYTE_BUDGETS, messages: MAX_QUEUED_MESSAGES }))('the page about sizes has the value of %s', (_, budget) => {
  const page = readFileSync(new URL('../../../../docs/sizes.md', import.meta.url), 'utf8');
  const rows = page.split('\n').filter((line) => line.startsWith('|'));
  expect(rows.join('\n')).toMatch(new RegExp(`(?<![\\d,])${budget.toLocaleString('en-US')}(?![\\d,])`));
});
