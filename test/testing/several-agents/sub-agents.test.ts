import { expect, test } from 'vitest';
import { z } from 'zod';
import { agentTool, defineAgent } from '../../../src/index.ts';
import { callTool, say, type ScriptedModel, scriptedModel, testAgent } from '../../../src/testing/index.ts';

const researcher = defineAgent({ name: 'researcher', model: 'scripted/m', instructions: 'Research.' });
const chief = defineAgent({ name: 'chief', model: 'scripted/m', tools: [agentTool(researcher)] });

/** Returns the message of the user in a request. */
function asked({ requests }: ScriptedModel, index: number): unknown {
  const [item] = requests[index]?.conversation.at(-1)?.content ?? [];
  return item?.type === 'message' ? item.content : undefined;
}

test('the model reads the answer of an agent that it has called, and the record names the run', async () => {
  const model = scriptedModel([callTool('researcher', { request: 'Who?' }), say('Ada.'), say('It was Ada.')]);
  const run = await testAgent(chief, { model, input: 'Who was it?' });
  expect(run.result).toMatchObject({ status: 'completed', output: 'It was Ada.', descendants: { runs: 1, usage: { llmCalls: 1 } } });
  const [call] = run.steps[0]?.toolCalls ?? [];
  expect(call).toMatchObject({ result: 'Ada.', isError: false, childRunId: expect.stringMatching(/^chief-.*\/researcher\.1\.0\./) });
  expect(asked(model, 1)).toBe('Who?');
});

test('a long request and large deps reach the agent although its input refers to the call', async () => {
  const long = 'x'.repeat(5_000);
  const teller = defineAgent({
    name: 'teller',
    model: 'scripted/m',
    deps: z.object({ note: z.string() }),
    instructions: ({ note }) => `The note has ${note.length} characters.`,
  });
  const asking = defineAgent({
    name: 'asking',
    model: 'scripted/m',
    deps: z.object({ note: z.string(), own: z.string() }),
    tools: [agentTool(teller, { share: ['note'] })],
  });
  const model = scriptedModel([callTool('teller', { request: long }), say('Done.'), say('So it is.')]);
  const run = await testAgent(asking, { model, input: 'Go', deps: { note: 'n'.repeat(3_000), own: 'x' } });
  expect(run.result.output).toBe('So it is.');
  expect(model.requests[1]?.instructions).toEqual(['The note has 3000 characters.']);
  expect(asked(model, 1)).toBe(long);
});

test('a tool may name an agent that the test gives to the worker', async () => {
  const naming = defineAgent({ name: 'naming', model: 'scripted/m', tools: [agentTool('researcher')] });
  const script = [callTool('researcher', { request: 'Who?' }), say('Ada.'), say('It was Ada.')];
  const run = await testAgent(naming, { model: scriptedModel(script), input: 'Who was it?', agents: [researcher] });
  expect(run.result.output).toBe('It was Ada.');
  const lost = testAgent(naming, { model: scriptedModel(script), input: 'Who was it?' });
  await expect(lost).rejects.toThrow('agents.naming.tools.researcher.agent: this worker has no agent "researcher"');
});
