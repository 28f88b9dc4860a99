import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool, quickjs, type ToolDefinition } from '../../../src/index.ts';

const billing = defineAgent({ name: 'billing', model: 'p/m', description: 'Answers questions about invoices.', handoffs: ['triage'] });
const BASE = { name: 'triage', model: 'p/m' as const };

test('an agent hands over to agents, and to names of agents', () => {
  const triage = defineAgent({ ...BASE, handoffs: [billing, 'sales'], maxHandoffs: 3 });
  expect(triage.handoffs).toEqual([{ name: 'billing', agent: billing }, { name: 'sales' }]);
  expect(triage.maxHandoffs).toBe(3);
  expect(billing.description).toBe('Answers questions about invoices.');
});

test('the tool has limits, and may be chosen, like any other', () => {
  const limits = { toolCallsByName: { transfer_to_agent: 1 } };
  expect(() =>
    defineAgent({ ...BASE, handoffs: [billing], limits, settings: { toolChoice: { tool: 'transfer_to_agent' } } }),
  ).not.toThrow();
  expect(() => defineAgent({ ...BASE, limits })).toThrow('names the tool "transfer_to_agent", which the agent does not have');
});

describe('handoffs that cannot work are refused', () => {
  const own: ToolDefinition = defineTool({
    name: 'transfer_to_agent',
    description: 'Its own',
    parameters: z.object({}),
    execute: () => '',
  });
  const find: ToolDefinition = defineTool({ name: 'find', description: 'Finds', parameters: z.object({}), execute: () => '' });

  test.each([
    ['a value that is neither', { handoffs: [7 as never] }, 'agent "triage": "handoffs" has a value that is neither an agent nor a name'],
    ['no list', { handoffs: billing as never }, 'agent "triage": "handoffs" is not a list: write [billing], or ["billing"]'],
    ['an empty name', { handoffs: [''] }, 'agent "triage": a name in "handoffs" is ""'],
    ['the agent itself', { handoffs: ['triage'] }, 'agent "triage": "handoffs" names the agent itself'],
    ['one agent twice', { handoffs: [billing, 'billing'] }, 'agent "triage": "handoffs" names the agent "billing" twice'],
    ['a tool of that name', { handoffs: [billing], tools: [own] }, 'agent "triage" has a tool named "transfer_to_agent"'],
    [
      'no handoff at all',
      { handoffs: [billing], maxHandoffs: 0 },
      'agent "triage": "maxHandoffs" is 0: write a whole number of at least 1',
    ],
    ['a number without agents', { maxHandoffs: 3 }, 'agent "triage" has "maxHandoffs" and no "handoffs"'],
    ['a blank description', { description: ' ' }, 'agent "triage": "description" is " "'],
    [
      'answers in code',
      { handoffs: [billing], tools: [find], code: { executor: quickjs() }, replyFormat: 'code' as const },
      'agent "triage" answers in code, which cannot call transfer_to_agent',
    ],
  ])('%s', (_, options, message) => {
    expect(() => defineAgent({ ...BASE, ...options })).toThrow(message);
  });
});
