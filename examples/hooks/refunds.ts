// An agent whose refunds are bounded by a hook, and a hook for every call of every agent of a worker.
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineAgent, defineHook, defineTool } from 'longhaul';
import { z } from 'zod';

const refund = defineTool({
  name: 'refund',
  description: 'Pays money back to the customer',
  parameters: z.object({ order: z.int(), amount: z.number().positive() }),
  execute: ({ order, amount }) => `refunded $${amount} for order ${order}`,
});

/** Lowers refunds to $50, and denies refunds of closed orders. */
const bounds = defineHook({
  name: 'bounds',
  on: 'pre_tool_use',
  match: 'refund',
  failClosed: true,
  run: ({ arguments: args }) => {
    if (args['order'] === 13) return { deny: 'order 13 is closed' };
    return Number(args['amount']) > 50 ? { modify: { arguments: { ...args, amount: 50 } } } : 'allow';
  },
});

export const clerk = defineAgent({
  name: 'clerk',
  model: 'openai/gpt-5-mini',
  instructions: 'You handle returned orders.',
  tools: [refund],
  hooks: [bounds],
});

/** For `hooks` of the worker: a program gets every call with its result. */
export const audit = defineHook({
  name: 'audit',
  on: 'post_tool_use',
  command: ['node', fileURLToPath(new URL('audit.ts', import.meta.url)), join(tmpdir(), 'audit.log')],
});
