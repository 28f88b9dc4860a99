// A refund over $100 waits for a person: for days, across restarts and deploys. If nobody decides within a day, it is rejected.
import { defineAgent, defineTool } from 'longhaul';
import type { RunApproval, LonghaulClient } from 'longhaul/client';
import { z } from 'zod';

const refund = defineTool({
  name: 'refund',
  description: 'Pays money back to the customer',
  parameters: z.object({ order: z.int(), amount: z.number().positive() }),
  approval: ({ amount }) => amount > 100 && { reason: `$${amount} is over $100`, deadline: '24h' },
  // The key is the same for every attempt of this call: the payment provider pays once.
  execute: ({ order, amount }, { idempotencyKey }) => `paid $${amount} for order ${order} (${idempotencyKey})`,
});

export const refundDesk = defineAgent({
  name: 'refund_desk',
  model: 'openai/gpt-5-mini',
  instructions: 'You handle returned orders. Refund what the customer has paid.',
  tools: [refund],
  limits: { toolCallsByName: { refund: 1 } },
});

/** What a page of your back office lists: every refund that waits, of all runs, with the question that led to it. */
export async function waitingRefunds(client: LonghaulClient): Promise<RunApproval[]> {
  return Array.fromAsync(client.approvals({ agent: refundDesk.name, tool: refund.name }));
}

/** What its buttons do. The decision is about exactly the arguments that were listed; a second clerk is told who was first. */
export async function pay(client: LonghaulClient, waiting: RunApproval, clerk: string, amount?: number): Promise<void> {
  const edited = amount === undefined ? {} : { arguments: { ...waiting.arguments, amount } };
  await client.handle(waiting.runId).approve(waiting, { by: clerk, ...edited });
}

export async function refuse(client: LonghaulClient, waiting: RunApproval, clerk: string, reason: string): Promise<void> {
  await client.handle(waiting.runId).reject(waiting, { by: clerk, reason });
}
