// The program of docs/migrate/openai-agents.md, with the OpenAI Agents SDK: the state of a run is a text that the caller keeps.
import { Agent, OpenAIProvider, Runner, RunState, setTracingDisabled, tool } from '@openai/agents';
import { z } from 'zod';

const lookUpOrder = tool({
  name: 'look_up_order',
  description: 'Looks up an order by its number',
  parameters: z.object({ order: z.number().int() }),
  execute: async ({ order }) => JSON.stringify({ order, status: 'returned', paid: 120 }),
});

const refund = tool({
  name: 'refund',
  description: 'Pays money back to the customer',
  parameters: z.object({ order: z.number().int(), amount: z.number().positive() }),
  needsApproval: true,
  execute: async ({ order, amount }) => `paid $${amount} for order ${order}`,
});

const desk = new Agent({ name: 'desk', model: 'gpt-5-mini', instructions: 'You handle returned orders.', tools: [lookUpOrder, refund] });

export async function refundOrder(baseURL: string, question: string, decide: () => Promise<boolean>): Promise<string> {
  setTracingDisabled(true);
  const runner = new Runner({ modelProvider: new OpenAIProvider({ baseURL, apiKey: 'unused', useResponses: false }) });
  let result = await runner.run(desk, question, { maxTurns: 10 });
  while (result.interruptions.length > 0) {
    const saved = result.state.toString(); // kept by the caller until the decision
    const state = await RunState.fromString<undefined, typeof desk>(desk, saved);
    for (const waiting of state.getInterruptions()) {
      if (await decide()) state.approve(waiting);
      else state.reject(waiting);
    }
    result = await runner.run(desk, state, { maxTurns: 10 });
  }
  return result.finalOutput ?? '';
}
