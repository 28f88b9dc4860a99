import { expect, test } from 'vitest';
import { z } from 'zod';
import { type CodeOptions, defineAgent, defineTool, quickjs, UsageError } from '../../src/index.ts';
import { callTool, say, scriptedExecutor, scriptedModel, testAgent } from '../../src/testing/index.ts';

const rate = defineTool({ name: 'rate', description: 'Returns a rate.', parameters: z.object({}), execute: () => 2 });
const deps = z.object({ prices: z.record(z.string(), z.number()), user: z.string() });
const BASE = { name: 'desk', model: 'scripted/m', tools: [rate], deps } as const;
const DEPS = { prices: { apple: 2 }, user: 'Ann' };

test('values from the deps of the run are variables of its code, and the model is told about them', async () => {
  const agent = defineAgent({
    ...BASE,
    code: { executor: quickjs(), inject: ({ deps: { prices, user } }) => ({ prices, user, fruits: Object.keys(prices) }) },
  });
  const model = scriptedModel([
    callTool('run_code', { code: 'prices.apple += 1; print(user, fruits.length, prices.apple)' }),
    callTool('run_code', { code: 'throw new Error(user)' }),
    callTool('run_code', { code: 'print(prices.apple * rate())' }),
    say('done'),
  ]);
  const { requests, steps } = await testAgent(agent, { input: 'Q', deps: DEPS, model });
  expect(steps.map(({ toolCalls }) => toolCalls[0]?.result)).toEqual(['Ann 1 3', 'Error (runtime): Error: Ann', '6', undefined]);
  expect(requests[0]?.tools.find(({ name }) => name === 'run_code')?.description).toContain(
    'These variables are there from the start: prices (object with apple), user (string), fruits (list of 1).',
  );
});

test('values are there again after code that used up its time', async () => {
  const executor = quickjs({ limits: { timeoutSeconds: 0.2 } });
  const agent = defineAgent({ ...BASE, code: { executor, inject: ({ deps: { user } }) => Promise.resolve({ user }) } });
  const codes = ['let a = 1; print(user)', 'let b = 2; for (;;);', 'print(user, a, typeof b)'];
  const model = scriptedModel([...codes.map((code) => callTool('run_code', { code })), say('done')]);
  const { steps } = await testAgent(agent, { input: 'Q', deps: DEPS, model });
  expect(steps.map(({ toolCalls }) => toolCalls[0]?.result)).toEqual([
    'Ann',
    'Error (timeout): Execution timed out after 0.2s\n\nNothing that this code has defined or changed was kept. The names and values of earlier code are as they were before it.',
    'Ann 1 undefined',
    undefined,
  ]);
});

const misfits: [problem: string, inject: unknown, message: string][] = [
  ['a value that is not JSON', () => ({ at: new Date() }), 'its result.at is an object of a class, which is not JSON'],
  ['a function', () => ({ ask: () => 1 }), 'its result.ask is a function, which is not JSON'],
  ['no value', () => undefined, 'its result is undefined, which is not JSON'],
  ['a list', () => [1], 'its result is not an object: return {name: value}'],
  ['an invalid name', () => ({ 'a-b': 1 }), '"a-b" cannot be injected: it is not a variable name'],
  ['the name of a tool', () => ({ rate: 1 }), '"rate" cannot be injected: the executor has a function of this name'],
  ['too much', () => ({ text: 'x'.repeat(64_000) }), 'its result has 64011 bytes of JSON, over 64000: inject less'],
];

test.each(misfits)('%s fails the run at its start, with the reason', async (_, inject, message) => {
  const code = { executor: quickjs(), inject } as CodeOptions<z.output<typeof deps>>;
  const { result } = await testAgent(defineAgent({ ...BASE, code }), { input: 'Q', deps: DEPS, model: scriptedModel([]) });
  expect(result).toMatchObject({ status: 'error', errorCode: 'invalid_agent' });
  expect(result.error).toContain(`"code.inject" of agent "desk" returned values that its code cannot have: ${message}`);
});

test('an error of the function fails the run at its start', async () => {
  const inject = (): never => {
    throw new Error('no prices');
  };
  const agent = defineAgent({ ...BASE, code: { executor: quickjs(), inject } });
  const { result } = await testAgent(agent, { input: 'Q', deps: DEPS, model: scriptedModel([]) });
  expect(result.error).toContain('"code.inject" of agent "desk" failed: no prices');
});

test('the option is a function', () => {
  const code = { executor: quickjs(), inject: { user: 1 } } as unknown as CodeOptions<z.output<typeof deps>>;
  expect(() => defineAgent({ ...BASE, code })).toThrow(UsageError);
  expect(() => defineAgent({ ...BASE, code })).toThrow('"code.inject" is {"user":1}: write a function');
});

test('an executor of ones own gets the values before the first code', async () => {
  const executor = scriptedExecutor([{ output: 'a' }, { output: 'b' }]);
  const agent = defineAgent({ ...BASE, code: { executor, inject: ({ deps: { user } }) => ({ user }) } });
  const model = scriptedModel([callTool('run_code', { code: '1' }), callTool('run_code', { code: '2' }), say('done')]);
  await testAgent(agent, { input: 'Q', deps: DEPS, model });
  expect(executor.given).toMatchObject([
    { code: '1', injected: { user: 'Ann' } },
    { code: '2', injected: {} },
  ]);
});
