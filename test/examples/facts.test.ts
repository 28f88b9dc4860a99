import { expect, test } from 'vitest';
import { findFacts, WEB, WIKIPEDIA } from '../../examples/kipchoge/facts.ts';

test.each([
  ['Kipchoge marathon world record pace', '2:01:09'],
  ["What is Eliud Kipchoge's best marathon time?", '2:01:09'],
  ['average distance to the moon', '384,400 km'],
])('the web has an answer for %j', (query, answer) => {
  expect(findFacts(WEB, query, 1)[0]?.text).toContain(answer);
});

test.each([
  ['Moon perigee', '356,500 km'],
  ['moon', '406,700 km'],
  ['Eliud Kipchoge', '1984'],
])('the encyclopedia has an article for %j', (query, answer) => {
  expect(findFacts(WIKIPEDIA, query, 1)[0]?.text).toContain(answer);
});

test('at most the requested number of entries is found, and none if no significant word matches', () => {
  expect(findFacts(WEB, 'Kipchoge marathon', 2)).toHaveLength(2);
  expect(findFacts(WEB, 'the price of the tea in China', 2)).toEqual([]);
  expect(findFacts(WEB, '', 2)).toEqual([]);
});
