import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { checkExecutor, createAgentExecutor } from '../../../../activities/executors/create-executor.ts';
import type { Executor } from '../../../../src/core/domain/execution.ts';
import { custom } from '../../../../src/index.ts';

const COMMAND = [process.execPath, fileURLToPath(new URL('cells.ts', import.meta.url))];
const MOMENT = { now: 0, seed: 1 };
const CELLS = custom({ command: COMMAND, language: 'javascript', limits: { timeoutSeconds: 2 } });

const opened: Executor[] = [];

async function executor(): Promise<Executor> {
  const made = await createAgentExecutor(CELLS, { tools: [{ name: 'orders', parameters: ['id'] }], scratchpad: false });
  opened.push(made);
  return made;
}

afterAll(async () => {
  await Promise.all(opened.map((one) => one.close()));
});

test('a program of the operator runs cells, and keeps its names', async () => {
  const one = await executor();
  one.inject('rate', [1.5]);
  expect(await one.run('print "a"\nanswer {"b":[1]}', MOMENT)).toMatchObject({ output: 'a', isFinal: true, finalValue: { b: [1] } });
  expect(await one.run('answer "kept"', MOMENT)).toMatchObject({
    finalValue: { rate: [1.5] },
    namespace: { kept: { type: 'object', value: { rate: [1.5] } } },
  });
  expect(await one.run('print 1\nfail "Error: no"', MOMENT)).toMatchObject({
    output: '1',
    error: { kind: 'runtime', message: 'Error: no' },
  });
});

test('its calls of tools are a segment, whose results it gets in their order', async () => {
  const one = await executor();
  const calls = [
    { tool: 'orders', arguments: { id: 1 } },
    { tool: 'orders', arguments: { id: 2 } },
  ];
  const segment = await one.begin(`print 1\ncall ${JSON.stringify(calls)}\nprint 2\nanswer "kept"`, MOMENT);
  expect(segment).toMatchObject({ type: 'calls', calls, output: '1\n' });
  expect(await one.resume([{ value: 'A' }, { error: 'no' }])).toMatchObject({
    type: 'ended',
    result: { output: '1\n2', finalValue: { results: [{ value: 'A' }, { error: 'no' }] } },
  });
});

test.each([
  ['text that is not a frame', 'say "hello"', 'something else than a frame of this run'],
  ['a frame without the token', 'say "{\\"type\\":\\"done\\"}"', 'something else than a frame of this run'],
  ['an answer that is not JSON', 'frame {"type":"done","durationMs":0,"memoryUsedBytes":0,"answer":"}","namespace":{}}', 'something else'],
  ['a second beginning', 'frame {"type":"began"}', 'out of turn'],
  ['a tool that there is not', 'call [{"tool":"other","arguments":{}}]', 'called a tool that there is not'],
  ['more output than it may', `frame {"type":"output","text":"${'x'.repeat(90_000)}"}`, 'more output than it may'],
  ['output without any text, again and again', 'murmur 70000', 'more output than it may'],
  [
    'the claim that it was killed',
    'frame {"type":"failed","kind":"killed","message":"","durationMs":0,"memoryUsedBytes":0}',
    'something else',
  ],
  ['a line without an end', 'flood', 'more than a frame may have'],
  ['its end', 'exit 3', 'The process ended by itself, with code 3'],
  ['calls where there may be none', 'call [{"tool":"orders","arguments":{}}]', 'called tools, which it may not'],
])('a program that misbehaves fails its own run alone: %s', async (_, code, message) => {
  const one = await executor();
  const { error } = await one.run(code, MOMENT);
  expect(error).toEqual({ kind: 'protocol', message: expect.stringContaining(message) as string });
  expect(await one.run('print 2', MOMENT)).toMatchObject({ output: '2', success: true, emptiedBy: 'protocol' });
});

test('a program that never answers is killed at the limit of time', async () => {
  const result = await (await executor()).run('print 1\nspin', MOMENT);
  expect(result).toMatchObject({ output: '1', timeout: true, error: { kind: 'timeout', message: 'Execution timed out after 2s' } });
});

test('a program that runs an empty cell passes the check of a worker', async () => {
  await expect(checkExecutor(CELLS)).resolves.toBeUndefined();
});

test('the environment of the worker does not reach the program', async () => {
  process.env['LONGHAUL_TEST_SECRET'] = 'secret';
  try {
    const command = ['sh', '-c', 'env >&2; exit 1'];
    await expect(checkExecutor(custom({ command, language: 'python' }))).rejects.not.toThrow('secret');
  } finally {
    delete process.env['LONGHAUL_TEST_SECRET'];
  }
});
