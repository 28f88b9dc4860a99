import { defineTool, quickjs } from '../../../src/index.ts';
import { z } from 'zod';
import { approve, reject, say, type ScriptEntry } from '../../../src/testing/index.ts';
import { agentWith, ran, scenario } from './scenario.ts';
import { refund } from './json-replies.ts';

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
