// The program of docs/migrate/temporal-openai-agents.md: an agent of the OpenAI Agents SDK in a workflow, with Temporal's plugin.
import { Agent, tool } from '@openai/agents-core';
import { activityAsTool, TemporalOpenAIRunner } from '@temporalio/openai-agents/workflow';
import { condition, defineSignal, proxyActivities, setHandler } from '@temporalio/workflow';

export const decide = defineSignal<[boolean]>('decide');

interface RefundInput {
  order: number;
  amount: number;
}
const activities = proxyActivities<{ refund(input: RefundInput): Promise<string> }>({ startToCloseTimeout: '1 minute' });

const parametersOf = (names: readonly string[]) => ({
  type: 'object' as const,
  properties: Object.fromEntries(names.map((name) => [name, { type: 'number' }])),
  required: [...names],
  additionalProperties: false as const,
});

export async function deskWithOpenAIAgents(question: string): Promise<string | undefined> {
  let decision: boolean | undefined;
  setHandler(decide, (approved) => void (decision = approved));
  const lookUpOrder = activityAsTool(
    { name: 'lookUpOrder', description: 'Looks up an order by its number', parameters: parametersOf(['order']) },
    { startToCloseTimeout: '1 minute', retryPolicy: { maximumAttempts: 3 } },
  );
  const refund = tool({
    name: 'refund',
    description: 'Pays money back to the customer',
    parameters: parametersOf(['order', 'amount']),
    strict: true,
    execute: async (input: unknown) => {
      await condition(() => decision !== undefined);
      return decision === true ? activities.refund(input as RefundInput) : 'The refund was denied';
    },
  });
  const desk = new Agent({ name: 'desk', model: 'gpt-5-mini', instructions: 'You handle returned orders.', tools: [lookUpOrder, refund] });
  const { finalOutput } = await new TemporalOpenAIRunner().run(desk, question, { maxTurns: 10 });
  return finalOutput;
}
