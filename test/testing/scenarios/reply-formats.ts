import { z } from 'zod';
import { defineTool, quickjs } from '../../../src/index.ts';
import { approve, reject, say, type ScriptEntry } from '../../../src/testing/index.ts';
import { act, agentWith, ran, scenario, toolThat } from './scenario.ts';

const look = toolThat('look', ({ text }, context) => (act(context, 'look') ? `seen${text ?? ''}` : 'seen again'));
const broken = toolThat('broken', () => {
  throw new Error('nope');
});
const refund = defineTool({
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

const add = defineTool({
  name: 'add',
  description: 'Adds two numbers.',
  parameters: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => a + b,
});
const coder = agentWith([add, refund], { replyFormat: 'code', code: { executor: quickjs() } });
const block = (code: string): ScriptEntry => say(`\`\`\`javascript\n${code}\n\`\`\``);

/** Runs of agents that answer with blocks of code. */
export const CODE_REPLIES = [
  scenario('a block of code calls tools and gives the final answer', coder, {
    script: [block('final_answer(add(1, 2) + 1)')],
    timeline: [
      /^agent: ```javascript/,
      'agent calls run_code {}',
      'agent calls add {"a":1,"b":2}',
      'add: 3',
      /^run_code: .*Final answer: 4$/s,
    ],
  }),
  scenario('an answer without a block is sent back, and names stay for the next block', coder, {
    script: [say('Let me see.'), block("globalThis.x = 1; store('k', 2)"), block("final_answer(x + recall('k'))")],
    timeline: [
      'agent: Let me see.',
      'agent calls run_code {}',
      'run_code failed: Please respond with a javascript block only.',
      /^agent: ```/,
      ...ran('run_code {}', '(no output)\n\n## Working Memory\n\n### Stored Values\n- k: 2'),
      /^agent: ```/,
      'agent calls run_code {}',
      /^run_code: .*Final answer: 3/s,
    ],
  }),
  scenario('a rejected call of a block throws, and the error is sent back', coder, {
    script: [block('print(refund({ amount: 5 }))'), block('final_answer(refund({ amount: 1 }))')],
    decide: ({ arguments: args }) => (args['amount'] === 5 ? reject('too much', { by: 'ann' }) : approve({ by: 'ann' })),
    timeline: [
      /^agent: ```/,
      'agent calls run_code {}',
      'agent calls refund {"amount":5}',
      'ann rejects refund: too much',
      /^refund failed: .*too much/s,
      /^run_code failed: Execution error: .*too much.*\n\nHint - refund\(\) docstring:\nPays back$/s,
      /^agent: ```/,
      'agent calls run_code {}',
      'agent calls refund {"amount":1}',
      'ann approves refund',
      'refund: refunded 1',
      /^run_code: .*Final answer: refunded 1/s,
    ],
  }),
];
