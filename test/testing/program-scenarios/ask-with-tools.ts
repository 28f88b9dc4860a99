import { z } from 'zod';
import { defineTool } from '../../../src/define/define-tool.ts';
import { ask } from '../../../src/define/program/index.ts';
import { approve, callTool, say, structured } from '../../../src/testing/index.ts';
import { one, type ProgramScenario, programScenario } from './scenario.ts';

const find = defineTool({
  name: 'find',
  description: 'Finds a price.',
  parameters: z.object({ item: z.string() }),
  execute: ({ item }) => `${item} costs 5`,
});

const order = defineTool({
  name: 'order',
  description: 'Orders an item.',
  parameters: z.object({ item: z.string() }),
  approval: 'always',
  execute: ({ item }) => `ordered ${item}`,
});

const tools = [find, order];
const searched = callTool('find', { item: 'pen' });
const ordered = callTool('order', { item: 'pen' });

/** Steps whose model calls tools before it answers. */
export const ASKS_WITH_TOOLS: readonly ProgramScenario[] = [
  programScenario(
    'the model of an ask with tools calls them before it answers, and later steps read the fields of its answer',
    one([
      ask('Item', 'Which?'),
      ask('Price', 'What does {{Item}} cost?', { tools, output: z.object({ price: z.number() }) }),
      ask('Tell', 'Say {{Price.price}}'),
    ]),
    {
      script: [say('pen'), searched, structured({ price: 5 }), say('five')],
      course: { status: 'completed', output: 'five', prompts: ['Which?', 'What does pen cost?', 'What does pen cost?', 'Say 5'] },
    },
  ),
  programScenario(
    'an ask with tools whose answer breaches an anchor is retried with the failure in its prompt',
    one([ask('Price', 'What does it cost?', { tools, anchors: ['RequiresCitation'], refine: { maxAttempts: 2 } })]),
    {
      script: [searched, say('It costs 5'), say('It costs 5 [1]')],
      course: {
        status: 'completed',
        output: 'It costs 5 [1]',
        steps: { 'u.Price': 'completed after 2' },
        prompted: ['Previous attempt failed: The answer breaches the anchor "RequiresCitation": Citation Breach'],
      },
    },
  ),
  programScenario(
    'a tool of an ask waits for its decision in the run of the step',
    one([ask('Order', 'Order it', { tools, approval: true })]),
    {
      script: [ordered, say('done')],
      decide: ({ toolName }) =>
        toolName === 'order' ? approve({ arguments: { item: 'book' } }) : approve({ arguments: { prompt: 'Go' } }),
      course: { status: 'completed', output: 'done', prompts: ['Go', 'Go'] },
    },
  ),
  programScenario(
    'an ask with tools that reaches its limit takes the output of its fallback',
    one([
      ask('Best', 'Think', { tools, limits: { steps: 1 }, refine: { maxAttempts: 1, onExhaustion: 'fallback', fallback: 'Short' } }),
      ask('Short', 'Guess'),
    ]),
    {
      script: [searched, say('5')],
      course: { status: 'completed', output: '5', steps: { 'u.Best': 'completed: taken from "Short"', 'u.Short': 'completed' } },
    },
  ),
  programScenario(
    'an ask with tools whose model calls are more than the program has left fails, and then the program ends at its limit',
    one([ask('First', 'a', { tools, refine: { maxAttempts: 1, onExhaustion: 'skip' } }), ask('Then', 'b')], {
      limits: { steps: 2 },
    }),
    {
      script: [searched, searched],
      course: { status: 'max_iterations_reached', stopReason: 'step_limit', steps: { 'u.First': 'skipped: its attempts are used up' } },
    },
  ),
];
