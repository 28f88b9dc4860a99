// The program of docs/migrate/langgraph.md, with LangGraph: a graph of two nodes, a checkpointer, and an interrupt.
import { tool } from '@langchain/core/tools';
import { Command, interrupt, isInterrupted, MemorySaver, MessagesAnnotation, StateGraph } from '@langchain/langgraph';
import { ToolNode, toolsCondition } from '@langchain/langgraph/prebuilt';
import { ChatOpenAI } from '@langchain/openai';
import { z } from 'zod';

const lookUpOrder = tool(({ order }) => JSON.stringify({ order, status: 'returned', paid: 120 }), {
  name: 'look_up_order',
  description: 'Looks up an order by its number',
  schema: z.object({ order: z.int() }),
});

const refund = tool(
  ({ order, amount }) => {
    // On resume the node runs again from its beginning: everything before an interrupt happens again.
    if (interrupt({ order, amount }) !== true) return 'The refund was denied';
    return `paid $${amount} for order ${order}`;
  },
  {
    name: 'refund',
    description: 'Pays money back to the customer',
    schema: z.object({ order: z.int(), amount: z.number().positive() }),
  },
);

const tools = [lookUpOrder, refund];

function graphOn(baseURL: string) {
  const model = new ChatOpenAI({ model: 'gpt-5-mini', apiKey: 'unused', configuration: { baseURL }, maxRetries: 0 }).bindTools(tools);
  const system = { role: 'system', content: 'You handle returned orders.' };
  return new StateGraph(MessagesAnnotation)
    .addNode('agent', async ({ messages }) => ({ messages: [await model.invoke([system, ...messages])] }))
    .addNode('tools', new ToolNode(tools))
    .addEdge('__start__', 'agent')
    .addConditionalEdges('agent', toolsCondition)
    .addEdge('tools', 'agent')
    .compile({ checkpointer: new MemorySaver() }); // PostgresSaver, for a state that outlasts the process
}

export async function refundOrder(baseURL: string, question: string, decide: () => Promise<boolean>): Promise<string> {
  const graph = graphOn(baseURL);
  const config = { configurable: { thread_id: 'order-42' }, recursionLimit: 25 };
  let state: unknown = await graph.invoke({ messages: [{ role: 'user', content: question }] }, config);
  while (isInterrupted(state)) state = await graph.invoke(new Command({ resume: await decide() }), config);
  return (state as { messages: { text: string }[] }).messages.at(-1)?.text ?? '';
}
