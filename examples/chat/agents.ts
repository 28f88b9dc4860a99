// A clerk to talk to: it pays money back, if a person approves each payment.
import { defineAgent, defineTool } from 'longhaul';
import { z } from 'zod';

const refund = defineTool({
  name: 'refund',
  description: 'Pays money back to the customer',
  parameters: z.object({ order: z.int(), amount: z.number().positive() }),
  effect: 'once',
  approval: 'always',
  execute: ({ order, amount }) => `refunded €${amount} for order ${order}`,
});

export const clerk = defineAgent({
  name: 'clerk',
  model: `openai/${process.env['OPENAI_MODEL'] || 'gpt-5-mini'}`,
  instructions: 'You answer customers of a shop. If an article arrived broken, pay its price back.',
  tools: [refund],
  limits: { steps: 5 },
});

export const agents = [clerk];
