import { z } from 'zod';
import { defineAgent, defineTool } from '../../src/index.ts';
import { TOOL } from './paced-provider.ts';

/** The agent of all runs, which looks something up until the provider says that it is done. */
export const governedAgent = defineAgent({
  name: 'reader',
  model: 'paced/model',
  instructions: 'You read pages.',
  tools: [
    defineTool({
      name: TOOL,
      description: 'Reads a page',
      parameters: z.object({ page: z.int() }),
      tier: 'local',
      execute: () => 'a page',
    }),
  ],
  window: { keepResults: 4 },
  limits: { steps: 10_000 },
});
