import { expect, test } from 'vitest';
import { BYTE_BUDGETS } from '../../../../src/core/domain/byte-budgets.ts';
import { stateProblem } from '../../../../src/core/domain/deps.ts';

const state = { kept: 'a' };
/** Text with which the state is `more` bytes larger than the budget. */
const fill = (more: number): string => 'x'.repeat(BYTE_BUDGETS.state - JSON.stringify({ ...state, big: '' }).length + more);

test.each([
  ['one byte below the budget', -1, undefined],
  ['at the budget', 0, undefined],
  [
    'one byte above the budget',
    1,
    'The field "state" would be 150001 bytes of JSON, over 150000: setting "big" changed nothing. Keep less in the state.',
  ],
])('%s', (_, more, problem) => {
  expect(stateProblem(state, { big: fill(more) })).toBe(problem);
});

test('a key that is set again counts once, for any name', () => {
  expect(stateProblem({ ['__proto__']: fill(0) }, JSON.parse(`{"__proto__":"${fill(-100)}"}`) as { __proto__: string })).toBeUndefined();
});

test('a call that changes nothing is never refused', () => {
  expect(stateProblem({ big: fill(1_000) }, {})).toBeUndefined();
});
