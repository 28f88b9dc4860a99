import { expect, test } from 'vitest';
import { z } from 'zod';
import { agentTool, defineAgent, defineGuardrail, defineHook, defineTool } from '../../../src/index.ts';
import { agent, defineProgram, unit } from '../../../src/define/program/index.ts';
import { callTool, say, scriptedModel, testAgent, testProgram } from '../../../src/testing/index.ts';

const tellPrincipal = { description: 'Tells the principal', parameters: z.object({}) };
const seen: unknown[] = [];
const tell = defineTool({
  ...tellPrincipal,
  name: 'tell',
  execute: (_, { principal, userId }) => {
    seen.push({ ...principal, userId });
    return 'told';
  },
});
const tellLocally = defineTool({ ...tellPrincipal, name: 'tell_locally', tier: 'local', execute: (_, { userId }) => userId ?? 'nobody' });
const teller = defineAgent({ name: 'teller', model: 'scripted/m', tools: [tell, tellLocally] });
const principal = { tenant: 'acme', user: 'ada', claims: { roles: ['admin'] } };

test('tools know the identity on whose behalf a run acts', async () => {
  seen.length = 0;
  const model = scriptedModel([callTool('tell'), callTool('tell_locally'), say('Done.')]);
  const { result, steps } = await testAgent(teller, { input: 'Go', principal, model });
  expect(result.status).toBe('completed');
  expect(seen).toEqual([{ ...principal, userId: 'ada' }]);
  expect(steps[1]?.toolCalls[0]?.result).toBe('ada');
});

test('a run without a principal has none, whatever its deps contain', async () => {
  seen.length = 0;
  await testAgent(teller, { input: 'Go', deps: { userId: 'eve' }, model: scriptedModel([callTool('tell'), say('Done.')]) });
  expect(seen).toEqual([{ userId: undefined }]);
});

test('children of agents and of programs act for the same', async () => {
  seen.length = 0;
  const lead = defineAgent({ name: 'lead', model: 'scripted/m', tools: [agentTool(teller)] });
  const called = [callTool('teller', { request: 'Tell' }), callTool('tell'), say('Told.'), say('Done.')];
  await testAgent(lead, { input: 'Go', principal, model: scriptedModel(called) });
  const program = defineProgram({ name: 'telling', model: 'scripted/m', units: [unit('all', {}, [agent('Tell', teller, 'Tell')])] });
  await testProgram(program, { principal, model: scriptedModel([callTool('tell'), say('Told.')]) });
  expect(seen).toEqual([
    { ...principal, userId: 'ada' },
    { ...principal, userId: 'ada' },
  ]);
});

test('hooks and guardrails know it, too', async () => {
  const known: unknown[] = [];
  const at = (on: 'session_start' | 'pre_tool_use' | 'stop') =>
    defineHook({ name: on, on, run: async (_, context) => void known.push([on, (await context.principal()).user]) });
  const checked = defineGuardrail({
    name: 'checked',
    type: 'output',
    check: (context) => {
      known.push(['output', context.principal.user]);
      return { passed: true };
    },
  });
  const asked = defineAgent({
    name: 'asked',
    model: 'scripted/m',
    tools: [tell],
    guardrails: [checked],
    hooks: [at('session_start'), at('pre_tool_use'), at('stop')],
  });
  await testAgent(asked, { input: 'Go', principal, model: scriptedModel([callTool('tell'), say('Done.')]) });
  expect(known).toEqual([
    ['session_start', 'ada'],
    ['pre_tool_use', 'ada'],
    ['output', 'ada'],
    ['stop', 'ada'],
  ]);
});

test.each([
  ['a field that it does not have', { user: 'ada', role: 'admin' }, 'role'],
  ['a user that is not text', { user: 7 }, 'principal.user'],
  ['no name', { user: '' }, 'principal.user'],
  ['too much', { claims: { text: 'x'.repeat(9_000) } }, 'principal: 90'],
])('a principal with %s is refused', async (_, given, message) => {
  const options = { input: 'Go', principal: given as never, model: scriptedModel([]) };
  await expect(testAgent(teller, options)).rejects.toThrow(message);
});

test('whether a call waits for a decision may depend on the principal of the run', async () => {
  const asked: unknown[] = [];
  const pay = defineTool({
    name: 'pay',
    description: 'Pays',
    parameters: z.object({}),
    approval: (_, context) => {
      asked.push(context.principal);
      return context.principal.user !== 'ada';
    },
    execute: () => 'paid',
  });
  const payer = defineAgent({ name: 'payer', model: 'scripted/m', tools: [pay] });
  const { result } = await testAgent(payer, { input: 'Go', principal, model: scriptedModel([callTool('pay'), say('Done.')]) });
  expect(result.status).toBe('completed');
  expect(asked).toEqual([principal]);
});
