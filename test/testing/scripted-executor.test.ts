import { expect, test } from 'vitest';
import { z } from 'zod';
import { createExecutor } from '../../activities/executors/create-executor.ts';
import { defineAgent, defineTool } from '../../src/index.ts';
import { callTool, say, scriptedExecutor, scriptedModel, testAgent } from '../../src/testing/index.ts';

const orders = defineTool({
  name: 'orders',
  description: 'Reads an order.',
  parameters: z.object({ id: z.int() }),
  execute: ({ id }) => ({ id, total: id * 10 }),
});

function desk(executor: ReturnType<typeof scriptedExecutor>) {
  return defineAgent({ name: 'desk', model: 'scripted/m', tools: [orders], code: { executor } });
}

const order = (id: number) => ({ tool: 'orders', arguments: { id } });

test('code has the results of the script, its calls are made, and their results are recorded', async () => {
  const executor = scriptedExecutor([{ calls: [[order(1), order(2)], [order(3)]], output: 'sum 60', finalValue: 60 }]);
  const model = scriptedModel([callTool('run_code', { code: 'total()' }), say('60')]);
  const { steps } = await testAgent(desk(executor), { input: 'Q', model });
  expect(steps[0]?.toolCalls.map(({ toolName, result }) => [toolName, result])).toEqual([
    ['run_code', 'sum 60\nFinal answer: 60'],
    ['orders', '{"id":1,"total":10}'],
    ['orders', '{"id":2,"total":20}'],
    ['orders', '{"id":3,"total":30}'],
  ]);
  expect(executor.given).toMatchObject([
    {
      code: 'total()',
      results: [[{ value: { id: 1, total: 10 } }, { value: { id: 2, total: 20 } }], [{ value: { id: 3, total: 30 } }]],
    },
  ]);
  executor.assertUsedUp();
});

test('after a timeout the names of earlier code are made again, with the same results', async () => {
  const executor = scriptedExecutor([
    { calls: [[order(1)]], output: 'first' },
    { error: { kind: 'timeout', message: 'Execution timed out after 1s' } },
    { output: 'third' },
  ]);
  const model = scriptedModel([...['a', 'b', 'c'].map((code) => callTool('run_code', { code })), say('done')]);
  const { steps } = await testAgent(desk(executor), { input: 'Q', model });
  expect(steps.map(({ toolCalls }) => toolCalls[0]?.result)).toEqual([
    'first',
    expect.stringContaining('Error (timeout)'),
    'third',
    undefined,
  ]);
  expect(executor.given.map(({ code }) => code)).toEqual(['a', 'b', 'c']);
});

test('code beyond the script fails, and the rest of the script is reported', async () => {
  const executor = scriptedExecutor([{ output: 'one' }]);
  expect(() => executor.assertUsedUp()).toThrow('was given 0 runs of code, but its script has 1 entry');
  const alone = await createExecutor(executor);
  const moment = { now: 0 };
  expect(await alone.run('1', { ...moment, seed: 1 })).toMatchObject({ output: 'one', success: true });
  expect(await alone.run('1', { ...moment, seed: 2 })).toMatchObject({
    success: false,
    error: { kind: 'runtime', message: 'The scripted executor has no result for run 2 of code: its script has 1. Add an entry.' },
  });
  expect(() => executor.assertUsedUp()).toThrow('was given 2 runs of code');
});

test('the whole result can be scripted', async () => {
  const alone = await createExecutor(
    scriptedExecutor([
      { error: { kind: 'memory', message: 'The code ran out of memory' }, output: 'a' },
      { finalValue: null, namespace: { n: 1 }, durationMs: 5, memoryUsedBytes: 6 },
      { calls: [[order(1)]] },
    ]),
  );
  expect(await alone.run('1')).toEqual({
    success: false,
    output: 'a',
    error: { kind: 'memory', message: 'The code ran out of memory' },
    isFinal: false,
    finalValue: null,
    timeout: false,
    durationMs: 0,
    memoryUsedBytes: 0,
    namespace: {},
    emptiedBy: null,
  });
  expect(await alone.run('2')).toMatchObject({
    isFinal: true,
    finalValue: null,
    namespace: { n: { type: 'number', value: 1 } },
    durationMs: 5,
    memoryUsedBytes: 6,
    emptiedBy: 'memory',
  });
  expect((await alone.run('3')).error?.message).toBe("A tool can be called only by an agent's code");
});
