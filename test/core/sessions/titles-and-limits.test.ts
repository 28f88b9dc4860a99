import { describe, expect, it, test } from 'vitest';
import { call, called, said, tokens } from '../loop/fakes/fake-ports.ts';
import { type FakeSession, runFakeSession, type SessionCaller } from './fake-session.ts';
import type { SummaryOutcome } from '../../../src/core/capabilities/compaction.ts';
import type { RunLimits } from '../../../src/core/domain/limits.ts';
import { refreshRequest } from '../../../src/core/activity-requests/agent-requests.ts';
import { testSnapshot, testTool } from '../loop/fakes/snapshot.ts';
import { endedTurns } from '../../../src/core/domain/sessions.ts';
import { stateOf } from '../../../src/core/sessions/open-session.ts';

describe('the title of a session', () => {
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
        summarize: () => title,
      });
      expect(stateOf(state).title).toBe('Order 42');
      expect(events.filter((event) => event.title !== undefined)).toHaveLength(1);
      expect(endedTurns(state)?.map(({ usage }) => usage.totalTokens)).toEqual([15, 15]);
      expect(result.usage).toMatchObject({ totalTokens: 35, llmCalls: 3 });
    });

    it('stays without a title if the call fails', async () => {
      const { state, result } = await runFakeSession({
        terms: { generateTitle: true },
        model: [said('A')],
        callers: [says('a')],
        summarize: () => ({ type: 'failed', code: 'internal', message: 'no' }),
      });
      expect(stateOf(state).title).toBeUndefined();
      expect(result).toMatchObject({ status: 'completed', output: 'A' });
    });

    it('answers a message that arrives during the call at once, and counts the possible cost of the call', async () => {
      const { state, result, events } = await runFakeSession({
        terms: { generateTitle: true },
        model: [said('A', { usage: tokens(10, 5) }), said('B', { usage: tokens(10, 5) })],
        callers: [says('a'), says('b')],
        summarize: () => new Promise(() => undefined),
      });
      expect(endedTurns(state)).toMatchObject([{ output: 'A' }, { turn: 2, output: 'B', usage: { llmCalls: 1 } }]);
      expect(result).toMatchObject({ stopReason: 'closed', usage: { totalTokens: 30, estimated: { totalTokens: expect.any(Number) } } });
      expect(events.filter(({ interrupted, content }) => interrupted === true && content.length === 0)).toHaveLength(2);
    });

    it('asks for none of a conversation that was emptied, but after the next answer', async () => {
      const asked: unknown[] = [];
      const { state } = await runFakeSession({
        terms: { generateTitle: true },
        model: [
          ({ update }) => {
            update('reset', {});
            return said('A');
          },
          () => {
            expect(asked).toEqual([]);
            return said('B');
          },
        ],
        callers: [says('a'), says('b')],
        summarize: () => {
          asked.push('title');
          return title;
        },
      });
      expect(asked).toEqual(['title']);
      expect(stateOf(state).title).toBe('Order 42');
    });

    it('gives up the call for a conversation that is emptied meanwhile, and asks after the next answer', async () => {
      const old = Promise.withResolvers<SummaryOutcome>();
      let calls = 0;
      const { state, events } = await runFakeSession({
        terms: { generateTitle: true },
        model: [said('A'), said('B')],
        callers: [
          says('a'),
          ({ update }) => {
            update('reset', {});
            old.resolve({ ...title, text: 'Of the emptied conversation' });
          },
          (session) => expect(stateOf(session.state).title).toBeUndefined(),
          says('b'),
        ],
        summarize: () => ((calls += 1) === 1 ? old.promise : title),
      });
      expect(calls).toBe(2);
      expect(stateOf(state).title).toBe('Order 42');
      expect(events.filter(({ interrupted, content }) => interrupted === true && content.length === 0)).toHaveLength(1);
    });

    it('asks for a title again after the next answers, three times in all', async () => {
      let calls = 0;
      const { state } = await runFakeSession({
        terms: { generateTitle: true },
        model: Array.from({ length: 5 }, () => said('A')),
        callers: Array.from({ length: 5 }, () => says('a')),
        summarize: () => ((calls += 1) === 3 ? title : new Promise(() => undefined)),
      });
      expect(calls).toBe(3);
      expect(stateOf(state).title).toBe('Order 42');
      const never = await runFakeSession({
        terms: { generateTitle: true },
        model: Array.from({ length: 5 }, () => said('A')),
        callers: Array.from({ length: 5 }, () => says('a')),
        summarize: () => {
          calls += 1;
          return new Promise(() => undefined);
        },
      });
      expect(calls).toBe(6);
      expect(stateOf(never.state).generateTitle).toBeUndefined();
    });

    it('is closed at once during the call, and continues in its next execution without it', async () => {
      const { result, executions, state, events } = await runFakeSession({
        terms: { generateTitle: true, refresh: 'never', limits: { turns: 10 } },
        model: [said('A'), said('B')],
        callers: [says('a'), (session) => session.update('raise', { id: 'r1', session: { turns: 20 } }), says('b')],
        summarize: () => new Promise(() => undefined),
        continues: true,
      });
      expect(executions).toBeGreaterThan(1);
      expect(events.filter(({ interrupted }) => interrupted)).toHaveLength(stateOf(state).titleCalls ?? 0);
      expect(result).toMatchObject({ stopReason: 'closed', turns: 2 });
    });
  });
});

describe('the limits of a turn', () => {
  const tools = [testTool('look')];
  const limits: RunLimits = { steps: 2, finalAttempt: false, totalTokens: 1_000, toolCallsByName: { look: 3 } };
  let ids = 0;

  const says: SessionCaller = ({ update }) => update('send', { id: `m${(ids += 1)}`, content: 'Go' });
  const raises =
    (raised: object): SessionCaller =>
    ({ update }) =>
      update('raise', { id: `r${(ids += 1)}`, limits: raised });

  /** Answers, and records the limits of the turn. */
  function noting(seen: RunLimits[]): (session: FakeSession) => ReturnType<typeof said> {
    return ({ state }) => {
      seen.push(state.limits);
      return said('A');
    };
  }

  describe('a limit that is raised', () => {
    it('during a turn holds for that turn', async () => {
      const looks = (session: FakeSession) => {
        raises({ steps: 3 })(session);
        return called(call('c1', 'look'));
      };
      const { state } = await runFakeSession({
        snapshot: testSnapshot({ tools, limits }),
        model: [looks, called(call('c2', 'look')), said('A'), called(call('c3', 'look')), called(call('c4', 'look'))],
        callers: [says, says],
      });
      expect(endedTurns(state)).toMatchObject([
        { status: 'completed', stepsUsed: 3, limits: { steps: 3 } },
        { status: 'max_iterations_reached', stepsUsed: 2, limits: { steps: 2 } },
      ]);
    });

    it.each([[false], [true]])('between two turns holds for the next one (the session continues as new: %s)', async (continues) => {
      const seen: RunLimits[] = [];
      await runFakeSession({
        terms: { refresh: 'never' },
        snapshot: testSnapshot({ tools, limits }),
        model: [noting(seen), noting(seen), noting(seen)],
        callers: [says, raises({ totalTokens: 2_000 }), says, says],
        continues,
      });
      expect(seen.map(({ totalTokens }) => totalTokens)).toEqual([1_000, 2_000, 1_000]);
    });

    it('stays raised for its turn if the agent is resolved again, and the other limits come from the new agent', async () => {
      const seen: RunLimits[] = [];
      const next: RunLimits = { steps: 5, finalAttempt: false, totalTokens: 1_500, costUsd: 2, toolCallsByName: { look: 1 } };
      const { state } = await runFakeSession({
        snapshot: testSnapshot({ tools, limits }),
        model: [noting(seen), noting(seen), noting(seen)],
        callers: [
          says,
          raises({ totalTokens: 2_000, steps: 3, toolCallsByName: { look: 4 } }),
          (session) => {
            session.update('refresh', {});
            says(session);
          },
          says,
        ],
        refreshed: [testSnapshot({ digest: 'next', tools, limits: next })],
      });
      expect(seen).toEqual([limits, { ...next, totalTokens: 2_000, toolCallsByName: { look: 4 } }, next]);
      expect(state.limits).toEqual(next);
    });
  });

  test('the agent is resolved again with the limits of the start, and not with those that it has at the moment', async () => {
    const { state } = await runFakeSession({ snapshot: testSnapshot({ limits: { ...limits, costUsd: 1 } }), model: [], callers: [] });
    const { snapshot } = state;
    const inputOf = (overrides: object, terms: object = {}) => {
      const session = { ...stateOf(state), ...terms, overrides };
      return refreshRequest({ runId: 'talk', snapshot, state: { ...state, slices: { ...state.slices, session } } }).input;
    };
    expect(inputOf({})).not.toHaveProperty('limits');
    expect(inputOf({ limits: { steps: 7, costUsd: 3 } })).toMatchObject({ limits: { steps: 7, costUsd: 3 } });
    expect(inputOf({})).not.toHaveProperty('priced');
    expect(inputOf({}, { limits: { costUsd: 5 } })).toMatchObject({ priced: true });
  });
});
