import { describe, expect, test } from 'vitest';
import type { ModelCallOutcome, SummaryOutcome } from '../../../src/core/loop/ports.ts';
import { call, called, said } from '../loop/fakes/fake-ports.ts';
import { testSnapshot, testTool } from '../loop/fakes/snapshot.ts';
import { type FakeSession, runFakeSession, type SessionCaller, type SessionScript } from './fake-session.ts';

let ids = 0;
const says =
  (content: string): SessionCaller =>
  ({ update }) =>
    update('send', { id: `m${++ids}`, content });

const window = { maxTokens: 100_000, maxBytes: 100_000, keepResults: 2, summarise: true };
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
  return runFakeSession({ snapshot, summarise: summary, ...script });
}

const repairs = ({ events }: FakeSession): string[] => events.flatMap(({ notices = [] }) => notices.map(({ code }) => code));

describe('a session whose provider refuses its conversation', () => {
  test.each([
    ['in the same words', () => 'Provider answered 400: messages.3: bad'],
    ['with other ids and places', () => `Provider answered 400: messages.${++ids}: bad (request id: req-${++ids}a)`],
  ])('a second time, %s, is compacted to a summary and the newest message, and asks again', async (_, message) => {
    const answers = poisoned(message, said('A'));
    const session = await run({ model: Array.from({ length: 3 }, () => answers), callers: [says('poison'), says('b')] });
    expect(session.state.turns).toMatchObject([
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

  test('also if the results of a tool are what it refuses', async () => {
    const answers = poisoned(() => 'bad', said('B'));
    const session = await run({
      tool: () => ({ type: 'result', status: 'success', content: ['poison'], durationMs: 1 }),
      model: [called(call('c1', 'look')), answers, answers, answers],
      callers: [says('a'), says('b')],
    });
    expect(session.state.turns).toMatchObject([{ status: 'error' }, { status: 'completed', output: 'B' }]);
  });

  test('and refuses it still ends the turn with what the provider said, and lives on', async () => {
    const session = await run({
      model: [refused('bad'), refused('bad'), refused('bad'), refused('bad'), said('C')],
      callers: [says('a'), says('b'), says('c')],
    });
    expect(session.state.turns).toMatchObject([
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

  test('a failed summary does not hide what the provider said', async () => {
    const session = await run({
      model: [refused('bad'), refused('bad')],
      callers: [says('a'), says('b')],
      summarise: () => ({ type: 'failed', code: 'model_server_error', message: 'no summary' }),
    });
    expect(session.state.turns).toMatchObject([{ error: 'bad' }, { error: 'bad' }]);
  });

  test('has the results of its tools removed if its agent makes no summaries', async () => {
    const answers = poisoned(() => 'bad', said('B'));
    const long = `poison ${'x'.repeat(400)}`;
    const session = await run({
      snapshot: testSnapshot({ window: { ...window, summarise: false }, tools: [testTool('look')] }),
      tool: () => ({ type: 'result', status: 'success', content: [long], durationMs: 1 }),
      model: [called(call('c1', 'look')), answers, answers, answers],
      callers: [says('a'), says('b')],
    });
    expect(session.state.turns).toMatchObject([{ status: 'error' }, { status: 'completed', output: 'B' }]);
  });

  test('422 is a refusal, too', async () => {
    const session = await run({
      model: [refused('bad', 'model_unprocessable'), refused('bad', 'model_unprocessable'), said('B')],
      callers: [says('a'), says('b')],
    });
    expect(session.state.turns).toMatchObject([{ status: 'error' }, { status: 'completed', output: 'B' }]);
  });
});
