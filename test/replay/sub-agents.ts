import { z } from 'zod';
import { agentTool, defineAgent, defineFlow, defineTool } from '../../src/index.ts';

const approveText = defineTool({
  name: 'approve_text',
  description: 'Waits for a decision',
  parameters: z.object({ text: z.string() }),
  approval: 'always',
  execute: ({ text }) => `approved ${text}`,
});

const editor = defineAgent({ name: 'editor', model: 'child/m', deps: z.object({ user: z.number() }), tools: [approveText] });

const reader = defineAgent({ name: 'reader', model: 'scripted/m' });

/** Runs both agents at the same time. */
export const sideBySide = defineFlow({ name: 'side_by_side', kind: 'parallel', agents: [editor, reader] });

/** Keeps an agent between its calls. */
export const keeper = defineAgent({
  name: 'keeper',
  model: 'scripted/m',
  tools: [agentTool(editor, { share: ['user'], kept: true })],
});

/** Runs an agent that may wait for a decision. */
export const leader = defineAgent({ name: 'leader', model: 'scripted/m', tools: [agentTool(editor, { share: ['user'] })] });
