import { defineAgent, defineTool } from 'longhaul';
import { z } from 'zod';

const refund = defineTool({
  name: 'refund',
  description: 'Pays the price of an order back to the customer',
  parameters: z.object({ order: z.int(), amount: z.number().positive() }),
  approval: ({ amount }) => amount > 100, // the run waits for a person: for days, across deploys, at no cost
  execute: ({ order, amount }, { idempotencyKey }) => `Paid $${amount} for order ${order} (${idempotencyKey})`,
});

export const agents = [
  defineAgent({ name: 'desk', model: 'openai/gpt-5-mini', instructions: 'You handle returned orders.', tools: [refund] }),
];
