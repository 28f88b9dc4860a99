import { expect, test } from 'vitest';
import { defineAgent } from '../../../src/index.ts';
import { reachableAgents } from '../../../src/testing/harness/worker-parts.ts';

test('the agents of a test are those that are given, and those that they hand over to as agents, each once', () => {
  const billing = defineAgent({ name: 'billing', model: 'p/m', handoffs: ['triage'] });
  const sales = defineAgent({ name: 'sales', model: 'p/m', handoffs: [billing] });
  const triage = defineAgent({ name: 'triage', model: 'p/m', handoffs: [billing, sales] });
  expect(reachableAgents([triage]).map(({ name }) => name)).toEqual(['triage', 'billing', 'sales']);
  expect(reachableAgents([billing, triage]).map(({ name }) => name)).toEqual(['billing', 'triage', 'sales']);
});
