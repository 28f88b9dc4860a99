// The program of docs/migrate/ai-sdk.md, with the AI SDK: the caller holds the conversation while a person decides.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { type ModelMessage, stepCountIs, tool, ToolLoopAgent } from 'ai';
import { z } from 'zod';

const deskOn = (baseURL: string) =>
  new ToolLoopAgent({
    model: createOpenAICompatible({ name: 'openai', baseURL })('gpt-5-mini'),
    instructions: 'You handle returned orders.',
    tools: {
      look_up_order: tool({
        description: 'Looks up an order by its number',
        inputSchema: z.object({ order: z.int() }),
        execute: async ({ order }) => ({ order, status: 'returned', paid: 120 }),
      }),
      refund: tool({
        description: 'Pays money back to the customer',
        inputSchema: z.object({ order: z.int(), amount: z.number().positive() }),
        needsApproval: true,
        execute: async ({ order, amount }) => `paid $${amount} for order ${order}`,
      }),
    },
    stopWhen: stepCountIs(10),
  });

export async function refundOrder(baseURL: string, question: string, decide: () => Promise<boolean>): Promise<string> {
  const desk = deskOn(baseURL);
  const messages: ModelMessage[] = [{ role: 'user', content: question }];
  for (;;) {
    const { text, content, responseMessages } = await desk.generate({ messages });
    messages.push(...responseMessages);
    const waiting = content.filter((part) => part.type === 'tool-approval-request');
    if (waiting.length === 0) return text;
    // Until the decision, `messages` must be kept somewhere: they are the whole state.
    const approved = await decide();
    const answers = waiting.map(({ approvalId }) => ({ type: 'tool-approval-response' as const, approvalId, approved }));
    messages.push({ role: 'tool', content: answers });
  }
}
