import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool, quickjs } from '../../src/index.ts';
import { say, scriptedModel, type ScriptEntry, testAgent } from '../../src/testing/index.ts';
import { messageTexts } from '../model/reply-formats/message-texts.ts';

const add = defineTool({
  name: 'add',
  description: 'Add two numbers.',
  parameters: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => a + b,
});
const BASE = { name: 'coder', model: 'scripted/m', tools: [add], replyFormat: 'code' } as const;
const coder = defineAgent({ ...BASE, code: { executor: quickjs({ limits: { maxOutputBytes: 100 } }) } });
const block = (code: string): ScriptEntry => say(`\`\`\`javascript\n${code}\n\`\`\``);

/** Runs a script, and returns the result with the message that follows each answer. */
async function run(script: readonly ScriptEntry[], agent = coder, options: { steps?: number } = {}) {
  const model = scriptedModel(script);
  const tested = await testAgent(agent, {
    input: 'Q',
    model,
    ...(options.steps === undefined ? {} : { limits: { steps: options.steps } }),
  });
  const feedback = tested.requests.slice(1).map((request) => messageTexts(request).at(-1));
  return { ...tested, feedback };
}

test('a block runs, calls tools as functions, and ends the run with its final answer', async () => {
  const { result, steps, requests } = await run([block('final_answer(add(10, 20) * 2)')]);
  expect(result).toMatchObject({ status: 'completed', output: '60', stepsUsed: 1, toolCallsByName: { run_code: 1, add: 1 } });
  expect(steps[0]?.toolCalls[0]).toMatchObject({ toolName: 'run_code', arguments: {} });
  expect(requests[0]?.tools).toEqual([]);
});

test('an answer without a block is corrected, and output is observed', async () => {
  const { result, feedback } = await run([
    say('I will compute it'),
    block('globalThis.x = 1'),
    block('print(x, 2)'),
    block('final_answer(x)'),
  ]);
  expect(result).toMatchObject({ status: 'completed', output: '1', stepsUsed: 4 });
  expect(feedback).toEqual([
    'user: Please respond with a javascript block only.',
    'user: Observation: (no output)',
    expect.stringMatching(/^user: Observation: 1 2$/),
  ]);
});

test('the working memory follows each observation, with the failed approaches', async () => {
  const { result, feedback } = await run([
    block("store('k', 41); observe('saw it'); print('p')"),
    block("add(1); throw new Error('missing b')"),
    block("print('q')"),
    block("final_answer(recall('k') + 1)"),
  ]);
  expect(result).toMatchObject({ status: 'completed', output: '42' });
  const memory = '## Working Memory\n\n### Stored Values\n- k: 41\n\n### Observations\n- saw it';
  expect(feedback[0]).toBe(`user: Observation: p\n\n${memory}`);
  expect(feedback[1]).toMatch(/^user: Execution error: .*\n\nHint - add\(\) docstring:\nAdd two numbers\.$/s);
  expect(feedback[2]).toMatch(/^user: Observation: q\n\n## Working Memory\n.*\n\n### Failed Approaches \(avoid these\)\n- Step 2: /s);
});

test('a long final answer is cut to the limit of output', async () => {
  const { result } = await run([block("final_answer('x'.repeat(200))")]);
  expect(result.output).toBe(`${'x'.repeat(100)}\n[OUTPUT TRUNCATED]`);
});

test('a final answer must fit the output schema, and is then the output itself', async () => {
  const typed = defineAgent({ ...BASE, code: { executor: quickjs() }, output: z.object({ n: z.number() }) });
  const { result, feedback } = await run([block("final_answer({ n: 'one' })"), block('final_answer({ n: 1 })')], typed as never);
  expect(result).toMatchObject({ status: 'completed', output: { n: 1 } });
  expect(feedback).toEqual([
    'user: Execution error: The final answer does not fit the required JSON Schema: n: expected number, got string',
  ]);
});

test('a run without a final answer ends at its limit of steps', async () => {
  const { result } = await run([say('no'), say('no')], coder, { steps: 2 });
  expect(result).toMatchObject({ status: 'max_iterations_reached', stopReason: 'step_limit', toolCallsByName: {} });
});
