// The program of the pages in docs/migrate, in Longhaul: it looks up an order, and refunds it once a person has agreed.
import { defineAgent, defineTool } from 'longhaul';
import { z } from 'zod';

const lookUpOrder = defineTool({
  name: 'look_up_order',
  description: 'Looks up an order by its number',
  parameters: z.object({ order: z.int() }),
  execute: ({ order }) => ({ order, status: 'returned', paid: 120 }),
});

const refund = defineTool({
  name: 'refund',
  description: 'Pays money back to the customer',
  parameters: z.object({ order: z.int(), amount: z.number().positive() }),
  approval: 'always',
  execute: ({ order, amount }) => `paid $${amount} for order ${order}`,
});

export const desk = defineAgent({
  name: 'desk',
  model: 'openai/gpt-5-mini',
  instructions: 'You handle returned orders.',
  tools: [lookUpOrder, refund],
  limits: { steps: 10 },
});

// const run = await client.start(desk, { input: 'Order 42 came back' });
// const { pending: [waiting] } = await run.approvals(); // in any process, days later
// await run.approve(waiting);
// const { output } = await run.result();
