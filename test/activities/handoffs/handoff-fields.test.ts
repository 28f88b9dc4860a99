import { expect, test } from 'vitest';
import { AgentRegistry } from '../../../activities/agents/agent-registry.ts';
import { handoffFields, transferTargets } from '../../../activities/agents/handoffs.ts';
import { defineAgent } from '../../../src/index.ts';
import { scriptedModel } from '../../../src/testing/index.ts';

const billing = defineAgent({ name: 'billing', model: 'p/m', description: 'Answers questions about invoices.' });
const sales = defineAgent({ name: 'sales', model: 'p/m' });
const triage = defineAgent({ name: 'triage', model: 'p/m', handoffs: ['billing', sales], maxHandoffs: 4 });
const registry = new AgentRegistry([billing, sales, triage], { p: scriptedModel([]) });

test('the snapshot of an agent names those that it hands over to, and has a tool for it', () => {
  const { fields, tools } = handoffFields(triage, transferTargets(registry, triage));
  expect(fields).toEqual({ handoffs: { agents: ['billing', 'sales'], max: 4 } });
  expect(tools).toMatchObject([
    { name: 'transfer_to_agent', handoff: true, callers: ['model'], schema: { properties: { agent: { enum: ['billing', 'sales'] } } } },
  ]);
  expect(tools[0]?.description).toMatch(/- billing: Answers questions about invoices\.\n- sales$/);
});

test('the snapshot of an agent without handoffs has no handoff fields', () => {
  expect(handoffFields(sales, transferTargets(registry, sales))).toEqual({ fields: {}, tools: [] });
});
