import { z } from 'zod';
import { agentTool, defineAgent, defineTool } from '../../../../src/index.ts';
import type { ModelClient } from '../../../../src/core/domain/model.ts';
import { isToolCall } from '../../../../src/core/domain/content.ts';
import { callTool, say, scriptedModel } from '../../../../src/testing/index.ts';

const sign = defineTool({
  name: 'sign',
  description: 'Signs.',
  parameters: z.object({ n: z.number() }),
  approval: 'always',
  execute: ({ n }) => `signed ${n}`,
});

/** Waits for a decision before it answers. */
export const careful = defineAgent({ name: 'careful', model: 'below/m', tools: [sign] });

/** Runs the agent above. */
export const chief = defineAgent({ name: 'chief', model: 'above/m', tools: [agentTool(careful)] });

/** A model that asks for a signature of the number in the request, and then answers with it. */
export function signing(): ModelClient {
  return {
    capabilities: { structuredOutput: true },
    call: (request, context) => {
      const items = request.conversation.flatMap(({ content }) => content);
      const [first] = items;
      const n = first?.type === 'message' ? Number(first.content) : 0;
      const entry = items.some(isToolCall) ? say(`answer ${n}`) : callTool('sign', { n });
      return scriptedModel([entry]).call(request, context);
    },
  };
}
