// The program of docs/migrate/temporal-ai-sdk.md: `generateText` in a workflow, with Temporal's plugin for the AI SDK.
import { temporalProvider } from '@temporalio/ai-sdk/workflow';
import { condition, defineSignal, proxyActivities, setHandler } from '@temporalio/workflow';
import { generateText, stepCountIs, tool } from 'ai';
import { z } from 'zod';

export const decide = defineSignal<[boolean]>('decide');

interface Activities {
  lookUpOrder(input: { order: number }): Promise<{ order: number; status: string; paid: number }>;
  refund(input: { order: number; amount: number }): Promise<string>;
}
const activities = proxyActivities<Activities>({ startToCloseTimeout: '1 minute', retry: { maximumAttempts: 3 } });

export async function deskWithAiSdk(question: string): Promise<string> {
  let decision: boolean | undefined;
  setHandler(decide, (approved) => void (decision = approved));
  const { text } = await generateText({
    model: temporalProvider.languageModel('gpt-5-mini'),
    system: 'You handle returned orders.',
    prompt: question,
    tools: {
      look_up_order: tool({
        description: 'Looks up an order by its number',
        inputSchema: z.object({ order: z.int() }),
        execute: (input) => activities.lookUpOrder(input),
      }),
      refund: tool({
        description: 'Pays money back to the customer',
        inputSchema: z.object({ order: z.int(), amount: z.number().positive() }),
        execute: async (input) => {
          await condition(() => decision !== undefined);
          return decision === true ? activities.refund(input) : 'The refund was denied';
        },
      }),
    },
    stopWhen: stepCountIs(10),
  });
  return text;
}
