import { z } from 'zod';
import { askHuman, defineAgent, defineTool } from '../../../src/index.ts';
import { search } from '../testbed/agents.ts';

/** Effects of the tools in this file, in order of time. */
export const refunds: { amount: number; key: string }[] = [];

/** Pays money back: each call waits for approval. */
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

/** Sends a mail: calls with an address outside the company wait for approval. */
export const mail = defineTool({
  name: 'mail',
  description: 'Sends a mail',
  parameters: z.object({ to: z.string() }),
  approval: ({ to }) => !to.endsWith('@example.org') && { reason: `"${to}" is a stranger` },
  execute: ({ to }) => `sent to ${to}`,
});

/** Asks a person a question. */
export const askColour = askHuman({
  name: 'ask_colour',
  description: 'Asks a person for a colour',
  answer: z.object({ colour: z.enum(['red', 'green']) }),
});

/** An agent with tools that wait for approval and one that does not. */
export const clerk = defineAgent({
  name: 'clerk',
  model: 'scripted/model-1',
  instructions: 'Answer.',
  tools: [search, refund, mail, askColour],
});

/** A tool whose schema changes arguments: they are parsed before anybody decides about a call. */
export const deploy = defineTool({
  name: 'deploy',
  description: 'Deploys',
  parameters: z.object({ version: z.string().trim(), env: z.enum(['test', 'prod']).default('prod') }),
  approval: 'always',
  execute: ({ version, env }) => `${version} is in ${env}`,
});
