import { z } from 'zod';
import { askHuman, defineAgent, defineTool } from '../../../src/index.ts';
import { search } from '../testbed/agents.ts';

/** What tools of this file did, by the worker's process. */
export const refunds: { amount: number; key: string }[] = [];

/** Pays money back: each call waits for a person. */
export const refund = defineTool({
  name: 'refund',
  description: 'Pays money back',
  parameters: z.object({ amount: z.number().positive() }),
  approval: 'always',
  execute: ({ amount }, { idempotencyKey }) => {
    refunds.push({ amount, key: idempotencyKey });
    return `paid ${amount}`;
  },
});

/** Sends a mail: calls to strangers wait for a person. */
export const mail = defineTool({
  name: 'mail',
  description: 'Sends a mail',
  parameters: z.object({ to: z.string() }),
  approval: ({ to }) => !to.endsWith('@example.org') && { reason: `"${to}" is a stranger` },
  execute: ({ to }) => `sent to ${to}`,
});

/** Asks a person. */
export const askColour = askHuman({
  name: 'ask_colour',
  description: 'Asks a person for a colour',
  answer: z.object({ colour: z.enum(['red', 'green']) }),
});

/** An agent with tools that wait and one that does not. */
export const clerk = defineAgent({
  name: 'clerk',
  model: 'scripted/model-1',
  instructions: 'Answer.',
  tools: [search, refund, mail, askColour],
});
