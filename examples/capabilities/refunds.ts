// A capability for refunds, as a package could publish it.
import { callRules, defineCapability, defineTool, type RunContext } from 'longhaul';
import { z } from 'zod';

const lookUpOrder = defineTool({
  name: 'look_up_order',
  description: 'Looks up an order of the customer',
  category: 'read',
  parameters: z.object({ order: z.int() }),
  execute: ({ order }, { deps }: RunContext<{ customer: string }>) => `order ${order} of ${deps.customer}: a pump, delivered broken`,
});

const refund = defineTool({
  name: 'refund',
  description: 'Pays money back to the customer',
  category: 'write',
  parameters: z.object({ order: z.int(), amount: z.number().positive() }),
  execute: ({ order, amount }) => `refunded $${amount} for order ${order}`,
});

export const refunds = defineCapability({
  name: 'refunds',
  instructions: 'Refund only what was delivered broken.',
  tools: [lookUpOrder, refund],
  permissions: { ask: ['refund'] },
  guardrails: [callRules({ name: 'closed-orders', arguments: { order: /^13$/ } })],
  settings: { temperature: 0 },
  deps: z.object({ customer: z.string() }),
});
