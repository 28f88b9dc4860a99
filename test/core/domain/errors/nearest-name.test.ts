import { expect, test } from 'vitest';
import { nearestName } from '../../../../src/core/domain/text.ts';

const known = ['clerk', 'research_assistant', 'writer'];

test.each([
  ['clrek', 'clerk'],
  ['Clerk', 'clerk'],
  ['clerks', 'clerk'],
  ['reserch_asistant', 'research_assistant'],
])('%s was probably meant to be %s', (name, meant) => {
  expect(nearestName(name, known)).toBe(meant);
});

test('for a name unlike all others there is no suggestion', () => {
  expect(nearestName('poet', known)).toBeUndefined();
  expect(nearestName('x', known)).toBeUndefined();
  expect(nearestName('', known)).toBeUndefined();
  expect(nearestName('clerk', [])).toBeUndefined();
});
