import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import { callable, type ReadAnswer } from '../../../activities/hooks/hooks.ts';
import { defineHook, type Duration } from '../../../src/index.ts';

const never = new AbortController().signal;
const payload = { toolName: 'refund', callId: 'c1', arguments: { amount: 7 } };

/** Runs a script of Node as the command of a hook. */
function answerOf(script: string, { timeout = '5s', args = [] }: { timeout?: Duration; args?: string[] } = {}): Promise<ReadAnswer> {
  const hook = defineHook({ name: 'h', on: 'pre_tool_use', timeout, command: [process.execPath, '-e', script, '--', ...args] });
  return callable(hook, () => ({}) as never, never).ask(payload);
}

function saying(value: unknown): string {
  return `process.stdout.write(${JSON.stringify(JSON.stringify(value))})`;
}

describe('the end of a command is its answer', () => {
  test.each<[string, string, ReadAnswer]>([
    ['no output', '', { type: 'allow' }],
    ['an allow', saying({ result: 'allow' }), { type: 'allow' }],
    ['a deny with its reason', saying({ result: 'deny', reason: 'no' }), { type: 'deny', text: 'no' }],
    ['exit code 2', 'process.exitCode = 2', { type: 'deny' }],
    ['exit code 2 with a reason', "process.stderr.write(' too much '); process.exitCode = 2", { type: 'deny', text: 'too much' }],
    ['a change', saying({ result: 'modify', changes: { arguments: {} } }), { type: 'modify', changes: { arguments: {} } }],
    ['a text', saying({ result: 'inject', text: 'hello' }), { type: 'inject', text: 'hello' }],
    ['a question', saying({ result: 'ask', reason: 'really?' }), { type: 'ask', text: 'really?' }],
    ['an error', saying({ result: 'error', error: 'broken' }), { type: 'failed', text: 'broken' }],
    ['another exit code', 'process.exitCode = 3', { type: 'failed', text: 'it ended with exit code 3' }],
    ['a signal', "process.kill(process.pid, 'SIGKILL')", { type: 'failed', text: 'it ended with a signal' }],
    ['no JSON', "process.stdout.write('yes')", { type: 'failed', text: 'it wrote "yes", which is not JSON' }],
    [
      'another result',
      saying({ result: 'maybe' }),
      { type: 'failed', text: 'it answered {"result":"maybe"}, which is not a valid answer of a hook' },
    ],
  ])('%s', async (_, script, answer) => {
    expect(await answerOf(script)).toEqual(answer);
  });
});

test('a command reads the event and the payload', async () => {
  const script = `
    process.stdin.setEncoding('utf8').on('data', (json) => {
      const { event, payload } = JSON.parse(json);
      process.stdout.write(JSON.stringify({ result: 'inject', text: event + ' ' + payload.toolName }));
    });`;
  expect(await answerOf(script)).toEqual({ type: 'inject', text: 'pre_tool_use refund' });
});

test('no shell reads its arguments', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'hook-')), 'made');
  const script = `process.stdout.write(JSON.stringify({ result: 'inject', text: process.argv[1] }))`;
  expect(await answerOf(script, { args: [`$(touch ${file}); touch ${file}`] })).toEqual({
    type: 'inject',
    text: `$(touch ${file}); touch ${file}`,
  });
  expect(existsSync(file)).toBe(false);
});

test('it gets no secrets from the environment of the worker', async () => {
  vi.stubEnv('OPENAI_API_KEY', 'a secret');
  const script = `process.stdout.write(JSON.stringify({ result: 'inject', text: process.env.OPENAI_API_KEY ?? 'none' }))`;
  expect(await answerOf(script)).toEqual({ type: 'inject', text: 'none' });
  vi.unstubAllEnvs();
});

test('a command that is late is ended with all that it has started', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'hook-')), 'made');
  const child = `setTimeout(() => require('node:fs').writeFileSync(${JSON.stringify(file)}, ''), 900)`;
  const script = `require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(child)}]); setInterval(() => {}, 1000)`;
  await expect(answerOf(script, { timeout: '400ms' })).rejects.toThrow('it gave no answer within 400 ms');
  await sleep(1_000);
  expect(existsSync(file)).toBe(false);
});

test('a command that writes too much has failed', async () => {
  const { type, text } = (await answerOf("process.stdout.write('x'.repeat(1_000_000))")) as { type: string; text: string };
  expect([type, text.includes('it wrote more than 256000 bytes')]).toEqual(['failed', true]);
});

test('a program that does not exist has failed', async () => {
  const hook = defineHook({ name: 'h', on: 'pre_tool_use', command: ['/no/such/program'] });
  expect(await callable(hook, () => ({}) as never, never).ask(payload)).toMatchObject({
    type: 'failed',
    text: expect.stringContaining('"/no/such/program" cannot be run') as string,
  });
});
