// An agent with two capabilities.
import { defineAgent, defineCapability, defineTool } from 'longhaul';
import { z } from 'zod';
import { refunds } from './refunds.ts';

const billing = defineCapability({
  name: 'billing',
  instructions: ({ currency }) => `Name amounts in ${currency}.`,
  tools: [
    defineTool({
      name: 'list_invoices',
      description: 'Lists the open invoices of the customer',
      parameters: z.object({}),
      execute: () => 'invoice 7: $70',
    }),
  ],
  deps: z.object({ currency: z.string().default('dollars') }),
});

export const desk = defineAgent({
  name: 'desk',
  model: 'openai/gpt-5-mini',
  instructions: 'You answer the customers of a shop for pumps.',
  capabilities: [refunds, billing],
});
