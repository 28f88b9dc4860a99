import { expect, test } from 'vitest';
import { z } from 'zod';
import { agentTool, defineAgent, defineTool } from '../../../src/index.ts';
import { approve, callTool, say, type ScriptedModel, scriptedModel, testAgent, together } from '../../../src/testing/index.ts';

const helper = defineAgent({ name: 'helper', model: 'scripted/m' });
const chief = defineAgent({ name: 'chief', model: 'scripted/m', tools: [agentTool(helper, { kept: true })] });
const ask = (request: string) => callTool('helper', { request });

/** Returns the texts of the conversation of a request. */
function texts({ requests }: ScriptedModel, index: number): unknown[] {
  const { conversation = [] } = requests[index] ?? {};
  return conversation.flatMap(({ content }) => content.flatMap((item) => (item.type === 'message' ? [item.content] : [])));
}

test('the second call of a kept agent goes to the session of the first', async () => {
  const model = scriptedModel([ask('Who?'), say('Ada.'), ask('When?'), say('In 1843.'), say('Ada, in 1843.')]);
  const run = await testAgent(chief, { model, input: 'Go' });
  expect(run.result).toMatchObject({ status: 'completed', output: 'Ada, in 1843.' });
  expect(texts(model, 3)).toEqual(['Who?', 'Ada.', 'When?']);
  const ids = run.steps.flatMap(({ toolCalls }) => toolCalls.map(({ childRunId }) => childRunId));
  expect(ids).toEqual([expect.stringMatching(/^chief-.*\/helper\./), ids[0]]);
});

test('the usage of each turn counts once, and the session as one run', async () => {
  const model = scriptedModel([ask('Who?'), say('Ada.'), ask('When?'), say('In 1843.'), say('Done.')]);
  const run = await testAgent(chief, { model, input: 'Go' });
  expect(run.result.descendants).toMatchObject({ runs: 1, usage: { llmCalls: 2 } });
});

test('two calls of a kept agent in one response run sequentially, in order', async () => {
  const model = scriptedModel([together(ask('One?'), ask('Two?')), say('1'), say('2'), say('Done.')]);
  const run = await testAgent(chief, { model, input: 'Go' });
  expect(run.steps[0]?.toolCalls.map(({ result }) => result)).toEqual(['1', '2']);
  expect(texts(model, 2)).toEqual(['One?', '1', 'Two?']);
});

test('each turn has the part of the limits that its call gives', async () => {
  const limited = agentTool(helper, { kept: true, limits: { totalTokens: 50 } });
  const parent = defineAgent({ name: 'parent', model: 'scripted/m', tools: [limited], limits: { totalTokens: 1_000 } });
  const model = scriptedModel([ask('One?'), say('1'), ask('Two?'), say('2'), say('Done.')]);
  const run = await testAgent(parent, { model, input: 'Go' });
  expect(run.steps.flatMap(({ toolCalls }) => toolCalls.map(({ isError }) => isError))).toEqual([false, false]);
});

test('a turn that fails leaves the session for the next call', async () => {
  const look = defineTool({ name: 'look', description: 'Looks', parameters: z.object({}), execute: () => 'seen' });
  const brief = defineAgent({ name: 'helper', model: 'scripted/m', limits: { steps: 1 }, tools: [look] });
  const parent = defineAgent({ name: 'parent', model: 'scripted/m', tools: [agentTool(brief, { kept: true })] });
  const model = scriptedModel([ask('One?'), callTool('look', {}), ask('Two?'), say('2'), say('Done.')]);
  const run = await testAgent(parent, { model, input: 'Go' });
  const [first, second] = run.steps.flatMap(({ toolCalls }) => toolCalls);
  expect(first).toMatchObject({ isError: true, result: expect.stringContaining('max_iterations_reached (step_limit)') });
  expect(second).toMatchObject({ isError: false, result: '2' });
});

test('an approval in a kept agent is decided like any other', async () => {
  const sign = defineTool({ name: 'sign', description: 'Signs', parameters: z.object({}), approval: 'always', execute: () => 'signed' });
  const signer = defineAgent({ name: 'signer', model: 'scripted/m', tools: [sign] });
  const parent = defineAgent({ name: 'parent', model: 'scripted/m', tools: [agentTool(signer, { kept: true })] });
  const signs = () => callTool('signer', { request: 'Sign' });
  const model = scriptedModel([signs(), callTool('sign', {}), say('Once.'), signs(), callTool('sign', {}), say('Twice.'), say('Done.')]);
  const run = await testAgent(parent, { model, input: 'Go', decide: () => approve() });
  expect(run.steps.flatMap(({ toolCalls }) => toolCalls.map(({ result }) => result))).toEqual(['Once.', 'Twice.']);
});

test('a long message reaches the session although the run sends a reference to its call', async () => {
  const long = 'x'.repeat(5_000);
  const model = scriptedModel([ask('Who?'), say('Ada.'), ask(long), say('So it is.'), say('Done.')]);
  await testAgent(chief, { model, input: 'Go' });
  expect(texts(model, 3)).toEqual(['Who?', 'Ada.', long]);
});

test('a kept agent acts for the same user as the run in each of its turns', async () => {
  const seen: unknown[] = [];
  const look = defineTool({
    name: 'look',
    description: 'Looks',
    parameters: z.object({}),
    execute: (_, { principal }) => {
      seen.push(principal);
      return 'seen';
    },
  });
  const looking = defineAgent({ name: 'helper', model: 'scripted/m', tools: [look] });
  const parent = defineAgent({ name: 'parent', model: 'scripted/m', tools: [agentTool(looking, { kept: true })] });
  const turn = [ask('Look'), callTool('look', {}), say('Seen.')];
  const model = scriptedModel([...turn, ...turn, say('Done.')]);
  await testAgent(parent, { model, input: 'Go', principal: { tenant: 'acme', user: 'ada' } });
  expect(seen).toEqual([
    { tenant: 'acme', user: 'ada' },
    { tenant: 'acme', user: 'ada' },
  ]);
});
