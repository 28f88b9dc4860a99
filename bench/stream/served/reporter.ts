import { z } from 'zod';
import { defineAgent } from '../../../src/define/define-agent.ts';
import { defineTool } from '../../../src/define/define-tool.ts';
import { tokenText } from '../token.ts';

const note = defineTool({
  name: 'note',
  description: 'Notes the time',
  parameters: z.object({}),
  execute: () => tokenText(0),
});
const ask = defineTool({
  name: 'ask',
  description: 'Waits for a decision',
  parameters: z.object({}),
  approval: 'always',
  execute: () => tokenText(0),
});

/** The agent of the runs that a service streams. Its model and its tools put the time of the answer into the answer. */
export const reporter = defineAgent({
  name: 'reporter',
  model: 'tokens/model',
  instructions: 'You report the time.',
  tools: [note, ask],
  limits: { steps: 10_000 },
});
