import { describe, expect, it, test } from 'vitest';
import type { ModelCallOutcome } from '../../../src/core/kernel/ports.ts';
import { call, called, message, responded, said, tokens } from '../loop/fakes/fake-ports.ts';
import { agentTo, to } from '../loop/handoffs/agents.ts';
import { testSnapshot, testTool } from '../loop/fakes/snapshot.ts';
import { type FakeSession, runFakeSession, type SessionCaller } from './fake-session.ts';
import { endedTurns } from '../../../src/core/domain/sessions.ts';
import { stateOf } from '../../../src/core/sessions/open-session.ts';

const HOUR = 3_600_000;
let ids = 0;

/** Sends a message. */
function says(content: string, principal?: { user: string }): SessionCaller {
  return ({ update }) => update('send', { id: `m${++ids}`, content, ...(principal === undefined ? {} : { principal }) });
}

/** Lets time pass, and sends a message. */
function later(ms: number, content: string): SessionCaller {
  return (session) => {
    session.now += ms;
    says(content)(session);
  };
}

const window = { maxTokens: 100_000, maxBytes: 100_000, keepResults: 2, summarize: true };

test('a session without an input waits for its first message, answers each in a turn, and is idle in between', async () => {
  const { state, result, shown } = await runFakeSession({ model: [said('A'), said('B')], callers: [says('a'), says('b')] });
  expect(shown).toEqual(['running', 'idle', 'running', 'idle']);
  expect(endedTurns(state)).toMatchObject([
    { turn: 1, firstStep: 1, stepsUsed: 1, status: 'completed', stopReason: 'final_answer', output: 'A' },
    { turn: 2, firstStep: 2, stepsUsed: 1, output: 'B' },
  ]);
  expect(result).toMatchObject({ status: 'completed', stopReason: 'closed', output: 'B', stepsUsed: 2, turns: 2 });
});

test('a session with an input begins with a turn', async () => {
  const { state } = await runFakeSession({ input: 'Q', model: [said('A')], callers: [] });
  expect(endedTurns(state)).toMatchObject([{ turn: 1, output: 'A' }]);
});

test('each turn has its own steps, usage and calls, and the session has their sums', async () => {
  const snapshot = testSnapshot({ tools: [testTool('look')] });
  const { state, result } = await runFakeSession({
    snapshot,
    model: [called(call('c1', 'look')), said('A', { usage: tokens(10, 5) }), said('B', { usage: tokens(20, 1) })],
    callers: [says('a'), says('b')],
  });
  expect(endedTurns(state)).toMatchObject([
    { stepsUsed: 2, toolCallsByName: { look: 1 }, usage: { promptTokens: 10, llmCalls: 2 } },
    { stepsUsed: 1, toolCallsByName: {}, usage: { promptTokens: 20, totalTokens: 21, llmCalls: 1 } },
  ]);
  expect(result).toMatchObject({ toolCallsByName: { look: 1 }, usage: { promptTokens: 30, completionTokens: 6, llmCalls: 3 } });
});

test.each([
  ['an error', { type: 'failed', code: 'content_filter', message: 'withheld' } as const, { status: 'error', errorCode: 'content_filter' }],
  ['a cancelled call', { type: 'cancelled' } as const, { status: 'cancelled' }],
])('%s ends the turn and not the session', async (_, outcome, expected) => {
  const { state } = await runFakeSession({ model: [outcome, said('B')], callers: [says('a'), says('b')] });
  expect(endedTurns(state)).toMatchObject([expected, { turn: 2, status: 'completed', output: 'B' }]);
});

test('the limit of steps counts the steps of the turn', async () => {
  const snapshot = testSnapshot({ tools: [testTool('look')], limits: { steps: 2, finalAttempt: false } });
  const { state } = await runFakeSession({
    snapshot,
    model: [said('A'), called(call('c1', 'look')), called(call('c2', 'look')), said('C')],
    callers: [says('a'), says('b'), says('c')],
  });
  expect(endedTurns(state)?.map(({ status, stepsUsed }) => [status, stepsUsed])).toEqual([
    ['completed', 1],
    ['max_iterations_reached', 2],
    ['completed', 1],
  ]);
});

describe('an interrupt', () => {
  it('ends the turn with the part of the answer that had arrived, and the reason', async () => {
    const interrupts = (session: FakeSession): ModelCallOutcome => {
      session.update('interrupt', { reason: 'enough', by: 'ada' });
      return { type: 'cancelled', partial: { id: 'p', content: [message('Hal')], finishReason: 'stop', usage: null } };
    };
    const { state } = await runFakeSession({ model: [interrupts, said('B')], callers: [says('a'), says('b')] });
    expect(endedTurns(state)).toMatchObject([
      { status: 'cancelled', output: 'Hal', cancelReason: 'enough (ada)' },
      { status: 'completed', output: 'B' },
    ]);
  });

  it('of an idle session, or of another turn, does nothing', async () => {
    const receipts: unknown[] = [];
    const interrupts: SessionCaller = (session) => {
      receipts.push(session.update('interrupt', {}), session.update('interrupt', { turn: 7 }));
      says('b')(session);
    };
    const { state } = await runFakeSession({ model: [said('A'), said('B')], callers: [says('a'), interrupts] });
    expect(receipts).toEqual([
      { version: 1, interrupted: false },
      { version: 1, interrupted: false },
    ]);
    expect(endedTurns(state)).toHaveLength(2);
  });
});

describe('the limits of a session', () => {
  it.each([
    ['turns', { turns: 1 }, '1 of 1 turns are used'],
    ['tokens', { totalTokens: 15 }, '15 of 15 tokens are used'],
    ['the cost', { costUsd: 0.00002 }, '$0.000020 of $0.000020 are spent'],
    ['the deadline', { deadlineMs: HOUR / 2 }, 'its deadline of 1800 s from its start is over'],
  ])('refuse a message: %s', async (_, limits, reason) => {
    const refusals: string[] = [];
    const tries: SessionCaller = (session) => {
      session.now += HOUR / 2;
      try {
        says('b')(session);
      } catch (error) {
        refusals.push(String(error));
        session.update('close', {});
      }
    };
    await runFakeSession({
      terms: { limits },
      snapshot: testSnapshot({ prices: { 'scripted/model': { input: 1, output: 2 } } }),
      model: [said('A', { usage: tokens(10, 5) })],
      callers: [says('a'), tries],
    });
    expect(refusals).toEqual([expect.stringContaining(reason)]);
    expect(refusals[0]).toContain('session_limit');
  });

  it('is raised for the next message at once, and the receipt has it, while the loop has not applied it yet', async () => {
    const receipts: unknown[] = [];
    await runFakeSession({
      terms: { limits: { turns: 1, totalTokens: 1_000 } },
      model: [said('A'), said('B')],
      callers: [
        says('a'),
        (session) => {
          receipts.push(session.update('raise', { id: 'r1', session: { turns: 3 } }));
          expect(() => session.update('raise', { id: 'r2', session: { turns: 2 } })).toThrow('is 3, and 2 would lower it');
          receipts.push(session.update('send', { id: 'b', content: 'message b' }));
        },
      ],
    });
    expect(receipts).toMatchObject([
      { status: 'raised', session: { turns: 3, totalTokens: 1_000, costUsd: null, deadlineMs: null } },
      { status: 'queued', turn: 2 },
    ]);
  });

  it('can be raised, and lifted', async () => {
    const raises: SessionCaller = (session) => {
      session.update('raise', { id: 'r1', session: { turns: null } });
    };
    const { state } = await runFakeSession({
      terms: { limits: { turns: 1 } },
      model: [said('A'), said('B')],
      callers: [says('a'), raises, says('b')],
    });
    expect(endedTurns(state)).toHaveLength(2);
  });

  it('do not limit turns by default', async () => {
    const { result } = await runFakeSession({
      model: Array.from({ length: 12 }, () => said('A')),
      callers: [...Array.from({ length: 12 }, () => says('a')), (session) => session.update('close', {})],
    });
    expect(result.turns).toBe(12);
  });
});

test('a message to the session of another user is refused as if the session did not exist', async () => {
  await runFakeSession({
    model: [],
    callers: [
      (session) => {
        expect(() => says('a', { user: 'eve' })(session)).toThrow('run_not_found');
        session.update('close', {});
      },
    ],
  });
});

test('a message during a turn belongs to that turn', async () => {
  const answers = (session: FakeSession) => {
    expect(session.update('send', { id: `m${++ids}`, content: 'And?' })).toMatchObject({ turn: 1 });
    return said('A');
  };
  const { state } = await runFakeSession({ model: [answers, said('B')], callers: [says('a')] });
  expect(endedTurns(state)).toMatchObject([{ turn: 1, stepsUsed: 2, output: 'B' }]);
});

test('requests that only a session takes are refused by a run that ends with its answer', async () => {
  const { state } = await runFakeSession({ model: [], callers: [] });
  const run = { ...state, slices: {} };
  const { refuseUpdate } = await import('../../../src/core/handlers/requests.ts');
  for (const name of ['interrupt', 'close', 'refresh'] as const) {
    const refused = refuseUpdate({ runId: 'r', state: run, inbox: Object.create(null) }, name, {}, 0);
    expect(refused).toMatchObject({ code: 'invalid_input', message: expect.stringContaining(`"${name}" is for sessions`) });
  }
});

describe('the agent is resolved again', () => {
  const next = testSnapshot({ digest: 'next', instructions: ['New'] });

  it('with the notices about its tools, unless they are the same as before', async () => {
    const notices = [{ code: 'tool_adapted' as const, message: 'tool "x" is left out' }];
    const { events } = await runFakeSession({
      model: [said('A'), said('B'), said('C')],
      callers: [says('a'), later(HOUR, 'b'), later(2 * HOUR, 'c')],
      refreshed: [next, next],
      notices,
    });
    expect(
      events.flatMap(({ refresh, notices: noted }) => (refresh === undefined && noted === undefined ? [] : [[refresh, noted]])),
    ).toEqual([[{ digest: 'next' }, notices]]);
  });

  it('after an hour without a turn, and not before', async () => {
    const { refreshes, state, events } = await runFakeSession({
      model: [said('A'), said('B'), said('C')],
      callers: [says('a'), later(HOUR - 1, 'b'), later(HOUR, 'c')],
      refreshed: [next],
    });
    expect(refreshes).toBe(1);
    expect(state.snapshot.instructions).toEqual(['New']);
    expect(events.flatMap(({ refresh }) => refresh ?? [])).toEqual([{ digest: 'next' }]);
  });

  it('in the first turn of an execution', async () => {
    const { refreshes, executions } = await runFakeSession({
      model: [said('A'), said('B')],
      callers: [says('a'), says('b')],
      continues: true,
      refreshed: [testSnapshot(), testSnapshot()],
    });
    expect(executions).toBe(3);
    expect(refreshes).toBe(1);
  });

  it('again, if a caller asks for it while it is being resolved', async () => {
    const again = testSnapshot({ digest: 'again', instructions: ['Newest'] });
    const receipts: unknown[] = [];
    const { refreshes, state } = await runFakeSession({
      model: [said('A'), said('B'), said('C')],
      callers: [says('a'), later(HOUR, 'b'), says('c')],
      refreshed: [next, again],
      duringRefresh: ({ update, refreshes: before }) => {
        if (before === 1) receipts.push(update('refresh', {}));
      },
    });
    expect(receipts).toEqual([{ version: 1, beforeTurn: 3 }]);
    expect(refreshes).toBe(2);
    expect(state.snapshot.instructions).toEqual(['Newest']);
  });

  it('before the next turn if the session has continued as new during a turn', async () => {
    const { refreshes, executions, state } = await runFakeSession({
      snapshot: testSnapshot({ tools: [testTool('look')] }),
      model: [called(call('c1', 'look')), said('A'), said('B')],
      callers: [says('a'), says('b')],
      refreshed: [next],
      continuesInTurn: (session) => session.executions === 1 && session.modelCalls === 1,
    });
    expect(executions).toBe(2);
    expect(refreshes).toBe(1);
    expect(endedTurns(state)?.map(({ turn, output }) => [turn, output])).toEqual([
      [1, 'A'],
      [2, 'B'],
    ]);
    expect(state.snapshot.digest).toBe('next');
  });

  it('and does not change if that fails', async () => {
    const { state, events } = await runFakeSession({ model: [said('A'), said('B')], callers: [says('a'), later(HOUR, 'b')] });
    expect(endedTurns(state)).toMatchObject([{ output: 'A' }, { status: 'completed', output: 'B' }]);
    expect(events.flatMap(({ refresh }) => refresh ?? [])).toMatchObject([{ failed: { code: 'invalid_input' } }]);
    expect(state.lastError).toContain('stays as it was: the deps do not fit');
  });

  it('never, if the session is set to that', async () => {
    const { refreshes } = await runFakeSession({
      terms: { refresh: 'never' },
      model: [said('A'), said('B')],
      callers: [says('a'), later(HOUR, 'b')],
      refreshed: [next],
    });
    expect(refreshes).toBe(0);
  });
});

describe('the conversation is compacted', () => {
  const summary = { type: 'summary', id: 's', text: 'Short', usage: tokens(3, 2) } as const;
  const long = 'x'.repeat(2_000);
  const script = {
    snapshot: testSnapshot({ window }),
    model: Array.from({ length: 5 }, () => said(long)),
    callers: Array.from({ length: 5 }, () => says(long)),
  };

  it('after so many turns, its first message included', async () => {
    const { state, events } = await runFakeSession({ ...script, terms: { compactAfter: 3 }, summarize: () => summary });
    const [compaction, ...others] = events.flatMap((event) => event.compaction?.summarized ?? []);
    expect(compaction).toMatchObject({ head: null });
    expect(others).toEqual([]);
    expect(endedTurns(state)?.[3]?.usage).toMatchObject({ llmCalls: 2, promptTokens: 3 });
  });

  it('not at all if the session is set to that, and a failed summary does not end the turn', async () => {
    const never = await runFakeSession({ ...script, terms: { compactAfter: null }, summarize: () => summary });
    expect(never.events.some(({ compaction }) => compaction !== undefined)).toBe(false);
    const failing = await runFakeSession({
      ...script,
      terms: { compactAfter: 2 },
      summarize: () => ({ type: 'failed', code: 'internal', message: 'no' }),
    });
    expect(endedTurns(failing.state)?.map(({ status }) => status)).toEqual(Array.from({ length: 5 }, () => 'completed'));
  });
});

test('a session whose state is too large to be carried continues as new only once a turn has compacted it', async () => {
  const large = { maxTokens: 10_000_000, maxBytes: 1_900_000, keepResults: 2, summarize: true };
  const executions: number[] = [];
  const noting: SessionCaller = (session) => {
    executions.push(session.executions);
    says('b')(session);
  };
  const { result } = await runFakeSession({
    terms: { refresh: 'never', limits: { totalTokens: null } },
    snapshot: testSnapshot({ window: large }),
    model: [said('x'.repeat(1_400_000)), said('B'), said('C')],
    callers: [says('a'), noting, noting],
    summarize: () => ({ type: 'summary', id: 's', text: 'Short', usage: tokens(3, 2) }),
    continues: true,
  });
  expect(result).toMatchObject({ status: 'completed', stopReason: 'closed', turns: 3 });
  expect(executions).toEqual([1, 2]);
});

test('a session that continues as new before each wait has the same record as a session that does not', async () => {
  const script = { model: [said('A', { id: 'r1' }), said('B', { id: 'r2' })], terms: { refresh: 'never' as const } };
  const apart = await runFakeSession({ ...script, callers: [says('a'), says('b')], continues: true });
  const together = await runFakeSession({ ...script, callers: [says('a'), says('b')] });
  const plain = ({ events }: FakeSession): unknown => events.map(({ id: _, ...event }) => event);
  expect(apart.executions).toBe(3);
  expect(plain(apart)).toEqual(plain(together));
  expect(apart.result).toEqual({ ...together.result, steps: apart.result.steps });
});

test('a reset closes the sessions that the session keeps, so that their agents forget, too', async () => {
  const keeps: SessionCaller = ({ state, update }) => {
    state.slices['kept'] = [{ tool: 'helper', agent: 'helper', runId: 'talk/helper.1', turns: 1 }];
    update('reset', {});
  };
  const { state, closed } = await runFakeSession({ model: [said('A')], callers: [says('a'), keeps] });
  expect(closed).toEqual(['talk/helper.1']);
  expect(state.slices['kept']).toBeUndefined();
});

test('a reset empties the conversation before the next turn, and keeps deps, turns and the record', async () => {
  const resets: SessionCaller = (session) => {
    expect(session.update('reset', {})).toEqual({ version: 1, beforeTurn: 2 });
  };
  const { state, events } = await runFakeSession({ model: [said('A'), said('B')], callers: [says('a'), resets, says('b')] });
  expect(state.window.events.flatMap(({ content }) => content)).toMatchObject([{ content: 'b' }, { content: 'B' }]);
  expect(events.filter(({ cleared }) => cleared)).toHaveLength(1);
  expect(stateOf(state).turns).toBe(2);
});

test.each([false, true])(
  'the output of a session is the whole last answer, also after a reset (continues as new: %s)',
  async (continues) => {
    const answer = 'a long answer '.repeat(5_000);
    const resets: SessionCaller = ({ update }) => void update('reset', {});
    const { result } = await runFakeSession({ model: [said(answer)], callers: [says('a'), resets], continues });
    expect(result.output).toBe(answer);
  },
);

test.each([false, true])('each turn of a session has the handoffs of its first agent (continues as new: %s)', async (continues) => {
  const results: unknown[] = [];
  const noting =
    (outcome: ReturnType<typeof said>) =>
    ({ state }: FakeSession) => {
      results.push([state.snapshot.name, ...(state.steps.at(-1)?.toolCalls.map(({ result }) => result) ?? [])]);
      return outcome;
    };
  const turn = (there: string, back: string) => [called(to(there)), called(to(back)), called(to(there)), said('done')].map(noting);
  await runFakeSession({
    continues,
    snapshot: agentTo('a', ['b'], {}, 2),
    agents: [agentTo('b', ['a'], {}, 7)],
    model: [...turn('b', 'a'), ...turn('b', 'a')],
    callers: [says('one'), says('two')],
  });
  const refused = 'Not transferred: the turn has used its 2 handoffs. Go on yourself.';
  const ofTurn = [
    ['b', expect.stringContaining('b')],
    ['a', expect.stringContaining('a')],
    ['a', refused],
  ];
  expect(results.slice(1, 4)).toEqual(ofTurn);
  expect(results.slice(5)).toEqual(ofTurn);
});

test('a session that was handed over counts the usage of each agent by turn, without the calls for its title', async () => {
  const usage = (promptTokens: number) => ({ usage: tokens(promptTokens, 1) });
  const { state } = await runFakeSession({
    terms: { generateTitle: true },
    snapshot: agentTo('a', ['b']),
    agents: [agentTo('b', [])],
    model: [responded([to('b')], usage(10)), said('B', usage(20)), said('C', usage(30))],
    summarize: () => ({ type: 'summary', id: 'title', text: 'Talk', ...usage(500) }),
    callers: [says('one'), says('two')],
  });
  expect(endedTurns(state).map(({ usage: { promptTokens }, usageByAgent }) => [promptTokens, usageByAgent])).toMatchObject([
    [30, { a: { promptTokens: 10 }, b: { promptTokens: 20 } }],
    [30, { a: { promptTokens: 0 }, b: { promptTokens: 30 } }],
  ]);
});

test.each([false, true])(
  'the result of a session that was handed over has its last agent, and the usage of each agent in all turns (continues as new: %s)',
  async (continues) => {
    const usage = (promptTokens: number) => ({ usage: tokens(promptTokens, 1) });
    const { result } = await runFakeSession({
      continues,
      terms: { generateTitle: true },
      snapshot: agentTo('a', ['b']),
      agents: [agentTo('b', [])],
      model: [said('A', usage(5)), responded([to('b')], usage(10)), said('B', usage(20)), said('C', usage(30))],
      summarize: () => ({ type: 'summary', id: 'title', text: 'Talk', ...usage(500) }),
      callers: [says('zero'), says('one'), says('two')],
    });
    expect(result).toMatchObject({ agentName: 'a', lastAgent: 'b', usage: { promptTokens: 565 } });
    expect(Object.entries(result.usageByAgent ?? {}).map(([name, { promptTokens }]) => [name, promptTokens])).toEqual([
      ['a', 515],
      ['b', 50],
    ]);
  },
);

test('the result of a session that was not handed over has one agent', async () => {
  const { result } = await runFakeSession({ model: [said('A')], callers: [says('a')] });
  expect(result).not.toHaveProperty('lastAgent');
  expect(result).not.toHaveProperty('usageByAgent');
});

test.each(['x', '\n', 'é', '\u{1F600}'])(
  'an answer that is cut in the carried state is whole in the result of the session (%j)',
  async (character) => {
    const answer = `Answer: ${character.repeat(60_000)}`;
    const { result, executions } = await runFakeSession({ continues: true, model: [said(answer)], callers: [says('a')] });
    expect(executions).toBe(2);
    expect(result.output === answer).toBe(true);
  },
);

test('the next turn belongs to the agent that a turn was transferred to, also if the turn is interrupted at that moment', async () => {
  const agents: string[] = [];
  const { events, state } = await runFakeSession({
    snapshot: agentTo('a', ['b']),
    agents: [agentTo('b', [])],
    onHandoff: ({ update }) => update('interrupt', {}),
    model: [
      called(to('b')),
      (session) => {
        agents.push(session.state.snapshot.name);
        return said('B');
      },
    ],
    callers: [says('one'), says('two')],
  });
  expect(endedTurns(state)).toMatchObject([{ stopReason: 'cancelled' }, { output: 'B' }]);
  const results = events.flatMap(({ content }) => content.filter(({ type }) => type === 'tool_result'));
  expect(results).toMatchObject([{ name: 'transfer_to_agent', status: 'success' }]);
  expect(agents).toEqual(['b']);
});
