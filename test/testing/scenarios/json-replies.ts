import { z } from 'zod';
import { defineTool } from '../../../src/index.ts';
import { approve, reject, say } from '../../../src/testing/index.ts';
import { act, agentWith, scenario, toolThat } from './scenario.ts';

const look = toolThat('look', ({ text }, context) => (act(context, 'look') ? `seen${text ?? ''}` : 'seen again'));
const broken = toolThat('broken', () => {
  throw new Error('nope');
});
export const refund = defineTool({
  name: 'refund',
  description: 'Pays back',
  parameters: z.object({ amount: z.number() }),
  approval: 'always',
  execute: ({ amount }) => `refunded ${amount}`,
});
const json = { replyFormat: 'json' } as const;
const reply = (object: object) => say(JSON.stringify(object));
const done = reply({ answer: 'Done.' });

/** Runs of agents that answer with JSON objects. */
export const JSON_REPLIES = [
  scenario('a reply in JSON calls a tool, with its note as text', agentWith([look], json), {
    script: [reply({ scratchpad: 'look first', tool: 'look', arguments: { text: ' a' } }), done],
    timeline: ['agent: look first', 'agent calls look {"text":" a"}', 'look: seen a', 'agent: Done.'],
  }),
  scenario('replies that cannot be used are sent back', agentWith([look], json), {
    script: [say('I would look.'), reply({ scratchpad: 'hm' }), reply({}), done],
    timeline: [
      'agent: I would look.',
      'agent calls unusable_reply {"reason":"not_json"}',
      /^unusable_reply failed: Your reply was not valid JSON/,
      'agent: hm',
      'agent calls unusable_reply {"reason":"scratchpad"}',
      'unusable_reply failed: Scratchpad noted.',
      'agent: {}',
      'agent calls unusable_reply {"reason":"empty"}',
      /^unusable_reply failed: The reply has none of the fields/,
      'agent: Done.',
    ],
  }),
  scenario('unknown tools, invalid arguments and failing tools are feedback', agentWith([look, broken], json), {
    script: [
      reply({ tool: 'nope', arguments: {} }),
      reply({ tool: 'look', arguments: { text: 1 } }),
      reply({ tool: 'broken' }),
      say('```json\n{"answer":"Done."}\n```'),
    ],
    timeline: [
      /calls nope/,
      "nope failed: Tool 'nope' not found in agent's tool list",
      /calls look/,
      "look failed: Invalid arguments for 'look': text: expected string, got number",
      /calls broken/,
      /^broken failed: /,
      'agent: Done.',
    ],
  }),
  scenario('a tool that a JSON reply calls waits for a decision', agentWith([refund], json), {
    script: [reply({ tool: 'refund', arguments: { amount: 5 } }), reply({ tool: 'refund', arguments: { amount: 6 } }), done],
    decide: ({ arguments: args }) => (args['amount'] === 5 ? approve({ by: 'ann' }) : reject('enough', { by: 'ann' })),
    timeline: [
      /calls refund/,
      'ann approves refund',
      'refund: refunded 5',
      /calls refund/,
      'ann rejects refund: enough',
      /^refund failed: .*enough/s,
      'agent: Done.',
    ],
  }),
  scenario('an answer in JSON must fit the output schema', agentWith([look], { ...json, output: z.object({ n: z.number() }) as never }), {
    script: [reply({ answer: { n: 'one' } }), reply({ answer: { n: 1 } })],
    timeline: ['agent: {"n":"one"}', /^user: Your previous answer did not fit/, 'agent: {"n":1}'],
  }),
  scenario(
    'the final attempt of a JSON agent gives its best answer',
    agentWith([look], { ...json, limits: { steps: 1 }, finalAttempt: true }),
    {
      script: [say('Hm.'), reply({ answer: 'My best.' })],
      timeline: ['agent: Hm.', /calls unusable_reply/, /^unusable_reply failed/, 'agent: My best.'],
      status: 'max_iterations_reached',
    },
  ),
];
