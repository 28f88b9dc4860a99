import { z } from 'zod';
import { defineAgent } from '../../src/define/define-agent.ts';
import { defineTool } from '../../src/define/define-tool.ts';

const note = defineTool({ name: 'note', description: 'Notes something', parameters: z.object({}), execute: () => 'noted' });
const ask = defineTool({
  name: 'ask',
  description: 'Waits for a decision',
  parameters: z.object({}),
  approval: 'always',
  execute: () => 'decided',
});

/** The agent of all runs that stream. */
export const streamer = defineAgent({
  name: 'streamer',
  model: 'tokens/model',
  instructions: 'You count.',
  tools: [note, ask],
  limits: { steps: 10_000 },
});
