import { z } from 'zod';
import { defineAgent, defineTool } from '../../../src/index.ts';

/** Looks something up. */
export const search = defineTool({
  name: 'search',
  description: 'Looks something up',
  parameters: z.object({ query: z.string() }),
  execute: ({ query }) => `found: ${query}`,
});

/** Always fails. */
export const broken = defineTool({
  name: 'broken',
  description: 'Fails',
  parameters: z.object({}),
  retryOn: 'none',
  execute: () => {
    throw new Error('boom');
  },
});

/** Has a result that is spilled to the store of the worker. */
export const dump = defineTool({
  name: 'dump',
  description: 'Says much',
  parameters: z.object({}),
  maxResultBytes: 2_000,
  overflow: 'spill',
  execute: () => 'a long tale '.repeat(900),
});

/** An agent with both tools, on the provider `scripted`. */
export const assistant = defineAgent({
  name: 'assistant',
  model: 'scripted/model-1',
  instructions: 'Answer.',
  tools: [search, broken],
  modelMaxAttempts: 3,
});
