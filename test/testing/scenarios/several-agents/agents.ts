import { z } from 'zod';
import { defineAgent, defineTool, quickjs } from '../../../../src/index.ts';

const lookUp = defineTool({
  name: 'look_up',
  description: 'Looks an order up',
  parameters: z.object({ text: z.string() }),
  execute: ({ text }) => `${text} is open`,
});

const refund = defineTool({
  name: 'refund',
  description: 'Pays back',
  parameters: z.object({ amount: z.number() }),
  approval: 'always',
  execute: ({ amount }) => `refunded ${amount}`,
});

const price = defineTool({
  name: 'price',
  description: 'Returns a price',
  parameters: z.object({}),
  callers: ['code'],
  execute: () => 42,
});

/** Hands back to triage, by its name. */
export const billing = defineAgent({
  name: 'billing',
  model: 'other/m',
  description: 'Answers questions about invoices.',
  instructions: 'You are billing.',
  tools: [lookUp],
  handoffs: ['triage'],
});

/** Answers with a form. */
export const clerk = defineAgent({
  name: 'clerk',
  model: 'scripted/m',
  instructions: 'You are the clerk.',
  output: z.object({ paid: z.boolean() }),
});

/** Answers in code. */
export const coder = defineAgent({
  name: 'coder',
  model: 'scripted/m',
  instructions: 'You are the coder.',
  tools: [price],
  code: { executor: quickjs() },
  replyFormat: 'code',
});

/** Needs deps that the runs of triage may lack. */
export const account = defineAgent({
  name: 'account',
  model: 'scripted/m',
  instructions: ({ customer }) => `You serve ${customer}.`,
  deps: z.object({ customer: z.string() }),
});

/** Hands over to all others. */
export const triage = defineAgent({
  name: 'triage',
  model: 'scripted/m',
  instructions: 'You are triage.',
  tools: [lookUp, refund],
  handoffs: [billing, clerk, coder, account],
});

/** May hand over once. */
export const hasty = defineAgent({
  name: 'hasty',
  model: 'scripted/m',
  instructions: 'You are hasty.',
  tools: [lookUp],
  handoffs: [triage],
  maxHandoffs: 1,
});
