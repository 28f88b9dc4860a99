// A support desk: one agent hands the run over to another, which lets further agents work, and follows a skill.
import { agentTool, defineAgent, defineTool } from 'longhaul';
import { z } from 'zod';

const model = `openai/${process.env['OPENAI_MODEL'] || 'gpt-5-mini'}` as const;

const findOrder = defineTool({
  name: 'find_order',
  description: 'Finds an order by its number',
  parameters: z.object({ order: z.int() }),
  category: 'read',
  execute: ({ order }) => ({ order, article: 'lamp', price: 80, deliveredDaysAgo: 9 }),
});

const findRule = defineTool({
  name: 'find_rule',
  description: 'Finds the rule of the shop for a case',
  parameters: z.object({ topic: z.string() }),
  category: 'read',
  execute: () => 'An article that arrives broken is paid back in full for 30 days.',
});

const refund = defineTool({
  name: 'refund',
  description: 'Pays money back to the customer',
  parameters: z.object({ order: z.int(), amount: z.number().positive() }),
  effect: 'once',
  approval: 'always',
  execute: ({ order, amount }) => `refunded €${amount} for order ${order}`,
});

const deleteOrder = defineTool({
  name: 'delete_order',
  description: 'Deletes an order',
  parameters: z.object({ order: z.int() }),
  execute: ({ order }) => `deleted order ${order}`,
});

const orderReader = defineAgent({ name: 'order_reader', model, instructions: 'You read orders.', tools: [findOrder] });

const ruleReader = defineAgent({ name: 'rule_reader', model, instructions: 'You read the rules of the shop.', tools: [findRule] });

const researcher = defineAgent({
  name: 'researcher',
  model,
  instructions: 'You find out what an answer needs: let both readers work at once.',
  tools: [
    agentTool(orderReader, { description: 'Reads an order.' }),
    agentTool(ruleReader, { description: 'Reads the rules of the shop.' }),
  ],
});

const cashier = defineAgent({ name: 'cashier', model, instructions: 'You pay refunds.', tools: [refund] });

/** Answers customers who want money back. Each of its tools but one is an agent; the other one is denied. */
export const refundDesk = defineAgent({
  name: 'refund_desk',
  description: 'Answers customers who want money back',
  model,
  instructions: 'You answer customers who want money back.',
  tools: [
    agentTool(researcher, { description: 'Finds out about an order and the rules.', limits: { totalTokens: 20_000 } }),
    agentTool(cashier, { description: 'Pays a refund.', limits: { totalTokens: 5_000 } }),
    deleteOrder,
  ],
  skills: [new URL('skills', import.meta.url)],
  permissions: { deny: ['delete_*'] },
});

/** Reads what a customer writes, and hands over to the agent that answers it. All descendants share its limits. */
export const triage = defineAgent({
  name: 'triage',
  model,
  instructions: 'You hand each customer over to the agent that answers best.',
  handoffs: [refundDesk],
  limits: { totalTokens: 100_000, toolCalls: 50 },
});
