import { describe, expect, test } from 'vitest';
import type { ModelCallOutcome } from '../../../src/core/kernel/ports.ts';
import type { SummaryOutcome } from '../../../src/core/capabilities/compaction.ts';
import { call, called, said } from '../loop/fakes/fake-ports.ts';
import { testSnapshot, testTool } from '../loop/fakes/snapshot.ts';
import { type FakeSession, runFakeSession, type SessionCaller, type SessionScript } from './fake-session.ts';
import { endedTurns } from '../../../src/core/domain/sessions.ts';

let ids = 0;
const says =
  (content: string): SessionCaller =>
  ({ update }) =>
    update('send', { id: `m${++ids}`, content });

const window = { maxTokens: 100_000, maxBytes: 100_000, keepResults: 2, summarize: true };
const snapshot = testSnapshot({ window, tools: [testTool('look')] });
const summary = (): SummaryOutcome => ({ type: 'summary', id: `s${++ids}`, text: 'They met.', usage: null });
const refused = (message: string, code: 'model_bad_request' | 'model_unprocessable' = 'model_bad_request'): ModelCallOutcome => ({
  type: 'failed',
  code,
  message,
});

/** A provider that refuses each conversation with the word "poison". */
const poisoned =
  (message: () => string, answer: ModelCallOutcome): ((session: FakeSession) => ModelCallOutcome) =>
  ({ state }) =>
    JSON.stringify(state.window.events).includes('poison') ? refused(message()) : answer;

function run(script: Partial<SessionScript> & Pick<SessionScript, 'model' | 'callers'>): ReturnType<typeof runFakeSession> {
  return runFakeSession({ snapshot, summarize: summary, ...script });
}

const repairs = ({ events }: FakeSession): string[] => events.flatMap(({ notices = [] }) => notices.map(({ code }) => code));

describe('a session whose provider refuses its conversation', () => {
  const places = (words: (n: number) => string) => (): string => `Provider answered 400 for model "p/m": ${words(++ids)}`;

  test.each([
    ['in the same words', places(() => 'messages: bad')],
    ['at another place', places((n) => `messages.${n}: bad`)],
    ['at another place in brackets', places((n) => `messages[${n}].content[${n + 1}]: bad`)],
    ['at another place in words', places((n) => `Missing reasoning_content field in the assistant message at message index ${n}`)],
    ['with another id of the request', places((n) => `bad (request id: req-${n}a)`)],
    ['with a UUID', places((n) => `bad, request 6f1c9c2e-1d3b-4c1e-9a59-${String(n).padStart(12, '0')}`)],
    ['about another call', places((n) => `No tool output found for function call call_${n}Xy.`)],
    ['about several calls', places((n) => `tool_call_ids did not have response messages: call_${n}, call_${n + 1}`)],
    ['with other lengths', places((n) => `string too long: got ${n} characters, expected at most ${n - 1}`)],
    ['with a time', places((n) => `bad at 2026-11-27T09:00:${String(n % 60).padStart(2, '0')}.123Z`)],
    ['with other numbers in a code fence', places((n) => `{"error":{"message":"bad","trace":"0af${n}","param":"input[${n}]"}}`)],
    ['that has no end', places((n) => `input[${n}] is bad: ${'x'.repeat(1_000)}${n}`)],
    ['in another language', places((n) => `第${n}条消息的内容无效`)],
  ])('a second time, %s, is compacted to a summary and the newest message, and asks again', async (_, message) => {
    const answers = poisoned(message, said('A'));
    const session = await run({ model: Array.from({ length: 3 }, () => answers), callers: [says('poison'), says('b')] });
    expect(endedTurns(session.state)).toMatchObject([
      { turn: 1, status: 'error', errorCode: 'model_bad_request' },
      { turn: 2, status: 'completed', output: 'A' },
    ]);
    expect(session.modelCalls).toBe(3);
    expect(repairs(session)).toEqual(['conversation_repaired']);
    expect(session.state.window.events.map(({ content }) => content)).toMatchObject([
      [{ content: 'Summary of the conversation so far:\nThey met.' }],
      [{ content: 'b' }],
      [{ content: 'A' }],
    ]);
  });

  test('over an execution that continues as new, too', async () => {
    const answers = poisoned(() => 'bad', said('A'));
    const session = await run({ model: Array.from({ length: 3 }, () => answers), callers: [says('poison'), says('b')], continues: true });
    expect(session.executions).toBeGreaterThan(1);
    expect(session.result).toMatchObject({ turns: 2, output: 'A' });
    expect(repairs(session)).toEqual(['conversation_repaired']);
  });

  test('also if it refuses the results of a tool', async () => {
    const answers = poisoned(() => 'bad', said('B'));
    const session = await run({
      tool: () => ({ type: 'result', status: 'success', content: ['poison'], durationMs: 1 }),
      model: [called(call('c1', 'look')), answers, answers, answers],
      callers: [says('a'), says('b')],
    });
    expect(endedTurns(session.state)).toMatchObject([{ status: 'error' }, { status: 'completed', output: 'B' }]);
  });

  test("and refuses it still ends the turn with the provider's message, and stays open", async () => {
    const session = await run({
      model: [refused('bad'), refused('bad'), refused('bad'), refused('bad'), said('C')],
      callers: [says('a'), says('b'), says('c')],
    });
    expect(endedTurns(session.state)).toMatchObject([
      { status: 'error', error: 'bad' },
      { status: 'error', error: 'bad' },
      { status: 'completed', output: 'C' },
    ]);
    expect(session.modelCalls).toBe(5);
    expect(session.result).toMatchObject({ status: 'completed', stopReason: 'closed' });
  });

  test.each([
    ['another refusal', [refused('bad'), refused('worse'), said('C')]],
    ['an answer in between', [refused('bad'), said('B'), refused('bad')]],
    ['another error', [refused('bad'), { type: 'failed', code: 'content_filter', message: 'bad' } as const, said('C')]],
  ])('is not compacted after %s', async (_, model) => {
    const session = await run({ model, callers: [says('a'), says('b'), says('c')] });
    expect(repairs(session)).toEqual([]);
    expect(session.modelCalls).toBe(3);
  });

  test("a failed summary does not hide the provider's message", async () => {
    const session = await run({
      model: [refused('bad'), refused('bad')],
      callers: [says('a'), says('b')],
      summarize: () => ({ type: 'failed', code: 'model_server_error', message: 'no summary' }),
    });
    expect(endedTurns(session.state)).toMatchObject([{ error: 'bad' }, { error: 'bad' }]);
  });

  test('has the results of its tools removed if its agent makes no summaries', async () => {
    const answers = poisoned(() => 'bad', said('B'));
    const long = `poison ${'x'.repeat(400)}`;
    const session = await run({
      snapshot: testSnapshot({ window: { ...window, summarize: false }, tools: [testTool('look')] }),
      tool: () => ({ type: 'result', status: 'success', content: [long], durationMs: 1 }),
      model: [called(call('c1', 'look')), answers, answers, answers],
      callers: [says('a'), says('b')],
    });
    expect(endedTurns(session.state)).toMatchObject([{ status: 'error' }, { status: 'completed', output: 'B' }]);
  });

  test('422 is a refusal, too', async () => {
    const session = await run({
      model: [refused('bad', 'model_unprocessable'), refused('bad', 'model_unprocessable'), said('B')],
      callers: [says('a'), says('b')],
    });
    expect(endedTurns(session.state)).toMatchObject([{ status: 'error' }, { status: 'completed', output: 'B' }]);
  });
});
