import { defineAgent, defineTool } from 'longhaul';
import { z } from 'zod';

const orders = new Map([[42, { status: 'shipped', carrier: 'ACME Post' }]]);

const lookUpOrder = defineTool({
  name: 'look_up_order',
  description: 'Looks up an order by its number',
  parameters: z.object({ order: z.int().describe('The number of the order') }),
  execute: ({ order }) => orders.get(order) ?? `There is no order ${order}`,
});

const clerk = defineAgent({
  name: 'clerk',
  model: `openai/${process.env['OPENAI_MODEL'] ?? 'gpt-5-mini'}`,
  deps: z.object({ customer: z.string().default('a customer') }),
  instructions: ({ customer }) => `You answer questions of ${customer} about orders. Look them up; do not guess.`,
  tools: [lookUpOrder],
  limits: { steps: 5 },
});

export const agents = [clerk];
