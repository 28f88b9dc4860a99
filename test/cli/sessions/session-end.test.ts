import { expect, test } from 'vitest';
import { LonghaulError } from '../../../src/core/domain/errors.ts';
import { fakeChat, type FakeChat } from './fake-chat.ts';

/** A chat whose session ends before it answers. */
async function ended(result: () => Promise<unknown>): Promise<{ chat: FakeChat; exitCode: number; said: string[] }> {
  const chat = fakeChat({ send: () => Promise.resolve({ turn: 1 }), result }, { events: async function* () {} });
  await chat.lines.enter('hello');
  const exitCode = await chat.exitCode;
  return { chat, exitCode, said: chat.kept.stderr().split('\n').slice(1, -1) };
}

test('a closed session is not an error', async () => {
  const { exitCode, said } = await ended(() => Promise.resolve({ status: 'completed', stopReason: 'closed', error: null }));
  expect(exitCode).toBe(0);
  expect(said).toEqual(['The session is closed', 'To begin another one: npx longhaul chat clerk']);
});

const failure =
  (errorCode: string, error: string): (() => Promise<unknown>) =>
  () =>
    Promise.resolve({ status: 'error', error, errorCode });
const rejection =
  (code: 'run_terminated' | 'run_timed_out', message: string): (() => Promise<unknown>) =>
  () =>
    Promise.reject(new LonghaulError(code, message));

interface End {
  by: string;
  result: () => Promise<unknown>;
  code: number;
  why: RegExp;
  next: RegExp;
}

const another = /^To begin another one: npx longhaul chat clerk$/;
const unfit = /options that fit, such as --deps: npx/;
const cancelled = { status: 'cancelled', error: null, cancelReason: 'no\u001b[2J' };

test.each<End>([
  {
    by: 'deps',
    result: failure('invalid_input', 'deps.x: missing'),
    code: 2,
    why: /error \(invalid_input\): deps\.x: missing$/,
    next: unfit,
  },
  { by: 'an unknown agent', result: failure('unknown_agent', 'No'), code: 2, why: /\(unknown_agent\): No$/, next: /^Start a worker that/ },
  { by: 'another error', result: failure('mcp_unreachable', 'no MCP'), code: 3, why: /\(mcp_unreachable\): no MCP$/, next: another },
  { by: 'an operator', result: rejection('run_terminated', 'ended'), code: 3, why: /\(run_terminated\): ended$/, next: another },
  { by: 'a timeout', result: rejection('run_timed_out', 'too late'), code: 3, why: /\(run_timed_out\): too late$/, next: another },
  { by: 'a cancellation', result: () => Promise.resolve(cancelled), code: 4, why: /was cancelled: no\ufffd\[2J$/, next: another },
])(
  'the end of a session by $by is reported with its code and what to do next, and sets the exit code',
  async ({ result, code, why, next }) => {
    const { exitCode, said } = await ended(result);
    expect(exitCode).toBe(code);
    expect(said).toEqual([expect.stringMatching(why), expect.stringMatching(next)]);
  },
);
