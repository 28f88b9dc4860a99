// An agent whose refunds over $100 wait for a person, and the part of a service where that person decides.
import { askHuman, defineAgent, defineTool } from 'longhaul';
import type { LonghaulClient } from 'longhaul/client';
import { z } from 'zod';

const refund = defineTool({
  name: 'refund',
  description: 'Pays the price of an order back to the customer',
  parameters: z.object({ order: z.int(), amount: z.number().positive() }),
  approval: ({ amount }) => amount > 100 && { reason: `$${amount} is over $100`, deadline: '24h' },
  // The key is the same for every attempt of this call: the payment provider can tell that it has paid already.
  execute: ({ order, amount }, { idempotencyKey }) => `refunded $${amount} for order ${order} (${idempotencyKey})`,
});

const askCustomer = askHuman({
  name: 'ask_customer',
  description: 'Asks the customer what they want instead',
  answer: z.object({ wish: z.enum(['refund', 'exchange']) }),
});

export const desk = defineAgent({
  name: 'refund_desk',
  model: `openai/${process.env['OPENAI_MODEL'] ?? 'gpt-5-mini'}`,
  instructions: 'You handle returned orders. Ask what the customer wants, then do it.',
  tools: [refund, askCustomer],
  limits: { toolCallsByName: { refund: 1 }, totalTokens: 50_000 },
});

/** Decides all pending refunds of all runs: approves those that the clerk may pay, and rejects the others. */
export async function decideRefunds(client: LonghaulClient, clerk: string, mayPay: number): Promise<void> {
  for await (const waiting of client.approvals({ agent: desk.name, tool: refund.name })) {
    const run = client.handle(waiting.runId);
    // The decision is about exactly the call that was listed. If two clerks decide, the first decision counts, and the second is refused with its author.
    if (Number(waiting.arguments['amount']) <= mayPay) await run.approve(waiting, { by: clerk });
    else await run.reject(waiting, { by: clerk, reason: `${clerk} may pay $${mayPay}: offer that much` });
  }
}
