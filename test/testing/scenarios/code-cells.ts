import { z } from 'zod';
import { defineTool, quickjs } from '../../../src/index.ts';
import { callTool, say } from '../../../src/testing/index.ts';
import { agentWith, scenario } from './scenario.ts';

const find = defineTool({
  name: 'find',
  description: 'Finds a text',
  parameters: z.object({ text: z.string() }),
  execute: ({ text }) => `found ${text}`,
});
const coder = agentWith([find], { code: { executor: quickjs({ limits: { timeoutSeconds: 5 } }), tier: 'local' } });

/** Runs of agents that call tools in cells of code. */
export const CODE_CELLS = [
  scenario('code makes one call after the other', coder, {
    script: [callTool('run_code', { code: "const one = find('a'); print(one, find(one))" }, 'c1'), say('done')],
    timeline: [/^agent calls run_code/, 'agent calls find {"text":"a"}', 'find: found a', 'agent calls find {"text":"found a"}', 'find: found found a', 'run_code: found a found found a', 'agent: done'],
  }),
];
