import { describe, expect, it } from 'vitest';
import { said, tokens } from '../loop/fakes/fake-ports.ts';
import { runFakeSession, type SessionCaller } from './fake-session.ts';

let ids = 0;
const says =
  (content: string): SessionCaller =>
  ({ update }) =>
    update('send', { id: `m${++ids}`, content });

describe('a session without a title', () => {
  const title = { type: 'summary', id: 's', text: 'Order\n42', usage: tokens(3, 2) } as const;

  it('gets one by a model call after its first answer, whose usage is in the session and in no turn', async () => {
    const { state, result, events } = await runFakeSession({
      terms: { generateTitle: true },
      model: [said('A', { usage: tokens(10, 5) }), said('B', { usage: tokens(10, 5) })],
      callers: [says('a'), says('b')],
      summarise: () => title,
    });
    expect(state.session.title).toBe('Order 42');
    expect(events.filter((event) => event.title !== undefined)).toHaveLength(1);
    expect(state.turns?.map(({ usage }) => usage.totalTokens)).toEqual([15, 15]);
    expect(result.usage).toMatchObject({ totalTokens: 35, llmCalls: 3 });
  });

  it('stays without one if the call fails', async () => {
    const { state, result } = await runFakeSession({
      terms: { generateTitle: true },
      model: [said('A')],
      callers: [says('a')],
      summarise: () => ({ type: 'failed', code: 'internal', message: 'no' }),
    });
    expect(state.session.title).toBeUndefined();
    expect(result).toMatchObject({ status: 'completed', output: 'A' });
  });

  it('answers a message that arrives during the call at once, and counts what the call may have cost', async () => {
    const { state, result, events } = await runFakeSession({
      terms: { generateTitle: true },
      model: [said('A', { usage: tokens(10, 5) }), said('B', { usage: tokens(10, 5) })],
      callers: [says('a'), says('b')],
      summarise: () => new Promise(() => undefined),
    });
    expect(state.turns).toMatchObject([{ output: 'A' }, { turn: 2, output: 'B', usage: { llmCalls: 1 } }]);
    expect(result).toMatchObject({ stopReason: 'closed', usage: { totalTokens: 30, estimated: { totalTokens: expect.any(Number) } } });
    expect(events.filter(({ interrupted, content }) => interrupted === true && content.length === 0)).toHaveLength(2);
  });

  it('asks for a title again after the next answers, three times in all', async () => {
    let calls = 0;
    const { state } = await runFakeSession({
      terms: { generateTitle: true },
      model: Array.from({ length: 5 }, () => said('A')),
      callers: Array.from({ length: 5 }, () => says('a')),
      summarise: () => ((calls += 1) === 3 ? title : new Promise(() => undefined)),
    });
    expect(calls).toBe(3);
    expect(state.session.title).toBe('Order 42');
    const never = await runFakeSession({
      terms: { generateTitle: true },
      model: Array.from({ length: 5 }, () => said('A')),
      callers: Array.from({ length: 5 }, () => says('a')),
      summarise: () => {
        calls += 1;
        return new Promise(() => undefined);
      },
    });
    expect(calls).toBe(6);
    expect(never.state.session.generateTitle).toBeUndefined();
  });

  it('is closed during the call at once, and goes on in its next execution without it', async () => {
    const { result, executions, state, events } = await runFakeSession({
      terms: { generateTitle: true, refresh: 'never', limits: { turns: 10 } },
      model: [said('A'), said('B')],
      callers: [says('a'), (session) => session.update('raise', { id: 'r1', session: { turns: 20 } }), says('b')],
      summarise: () => new Promise(() => undefined),
      continues: true,
    });
    expect(executions).toBeGreaterThan(1);
    expect(events.filter(({ interrupted }) => interrupted)).toHaveLength(state.session.titleCalls ?? 0);
    expect(result).toMatchObject({ stopReason: 'closed', turns: 2 });
  });
});
