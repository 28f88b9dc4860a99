import { describe, expect, it, test } from 'vitest';
import type { AgentSnapshot } from '../../../src/core/domain/agent.ts';
import type { MessageReceiver } from '../../../src/core/handlers/decisions.ts';
import { refuseUpdate, takeSignal } from '../../../src/core/handlers/requests.ts';
import { called, said } from '../loop/fakes/fake-ports.ts';
import { testSnapshot, testTool } from '../loop/fakes/snapshot.ts';
import { agentTo, to } from '../loop/handoffs/agents.ts';
import { type FakeSession, runFakeSession, type SessionCaller } from './fake-session.ts';
import { endedTurns } from '../../../src/core/domain/sessions.ts';
import { parentOf } from '../../../src/core/domain/run-input.ts';
import { points } from '../../../src/core/kernel/points.ts';

const parent = { runId: 'above', depth: 1, checkMs: 1_000, tree: { depth: 3, alive: 20, runs: 5 }, kept: true as const };

type Request = 'nextTurn' | 'interrupt' | 'close';

function signal({ state, inbox, now }: FakeSession, name: Request, input: object): void {
  deliver({ runId: 'talk', state, inbox }, name, input, now);
}

function deliver(run: MessageReceiver, name: Request, input: object, now = 0): void {
  const refused = takeSignal(run, name, input, now);
  if (refused !== undefined) throw new Error(refused.message);
}

const asks =
  (turn: number, changes: object = {}): SessionCaller =>
  (session) =>
    signal(session, 'nextTurn', { turn, content: `message ${turn}`, runs: 1, ...changes });

/** Returns the messages of the user in the record. */
function messages({ events }: FakeSession): unknown[] {
  return events.flatMap(({ content }) =>
    content.flatMap((item) => (item.type === 'message' && item.role === 'user' ? [item.content] : [])),
  );
}

test('a session that a run keeps notifies that run at the end of each turn, and takes its next message from it', async () => {
  const session = await runFakeSession({ parent, input: 'first', model: [said('A'), said('B')], callers: [asks(2)] });
  expect(session.reported).toEqual(['above: 1', 'above: 2']);
  expect(messages(session)).toEqual(['first', 'message 2']);
  expect(session.result).toMatchObject({ status: 'completed', stopReason: 'closed', turns: 2 });
});

test('each turn has the part of the limits and of the runs that its message gives', async () => {
  const left: unknown[] = [];
  const noting = (session: FakeSession): ReturnType<typeof said> => {
    left.push([session.state.limits.totalTokens, parentOf(session.state)?.tree?.runs]);
    return said('A');
  };
  await runFakeSession({
    parent: { ...parent, left: { totalTokens: 70 } },
    input: 'first',
    model: [noting, noting, noting],
    callers: [asks(2, { left: { totalTokens: 90 } }), asks(3, { runs: 0 })],
  });
  expect(left).toEqual([
    [70, 5],
    [90, 1],
    [undefined, 0],
  ]);
});

describe.each([false, true])('the limits of a turn (continues as new between turns: %s)', (continues) => {
  const limits = (steps: number, toolCallsByName?: Record<string, number>): Pick<AgentSnapshot, 'limits'> => ({
    limits: { steps, finalAttempt: false, ...(toolCallsByName === undefined ? {} : { toolCallsByName }) },
  });

  /** Returns a model's outcome that notes the limits with which it is asked. */
  function noting(seen: unknown[], outcome = said('A')) {
    return ({ state }: FakeSession): typeof outcome => {
      const { steps, toolCallsByName, totalTokens } = state.limits;
      seen.push([state.snapshot.name, steps, toolCallsByName, totalTokens]);
      return outcome;
    };
  }

  it('are those of the agent that the session began with, whichever agent answers', async () => {
    const seen: unknown[] = [];
    await runFakeSession({
      parent,
      input: 'first',
      continues,
      snapshot: agentTo('one', ['two'], limits(5, { look: 9 })),
      agents: [agentTo('two', [], limits(50, { look: 3, find: 2 }))],
      model: [noting(seen, called(to('two'))), noting(seen), noting(seen)],
      callers: [asks(2, { left: { totalTokens: 70 } })],
    });
    expect(seen).toEqual([
      ['one', 5, { look: 9 }, undefined],
      ['two', 5, { look: 3, find: 2 }, undefined],
      ['two', 5, { look: 3, find: 2 }, 70],
    ]);
  });

  it('have the raises that were accepted before it, within its share', async () => {
    const seen: unknown[] = [];
    const raises: SessionCaller = ({ update }) => update('raise', { id: 'raise', limits: { steps: 20, totalTokens: 90 } });
    await runFakeSession({
      parent: { ...parent, left: { totalTokens: 100 } },
      input: 'first',
      continues,
      snapshot: testSnapshot({ limits: { steps: 10, finalAttempt: false, totalTokens: 60 } }),
      model: [noting(seen), noting(seen), noting(seen)],
      callers: [raises, asks(2, { left: { totalTokens: 80 } }), asks(3, { left: { totalTokens: 70 } })],
    });
    expect(seen).toEqual([
      ['a', 10, undefined, 60],
      ['a', 20, undefined, 80],
      ['a', 10, undefined, 60],
    ]);
  });
});

describe('the permissions that come with a message', () => {
  const own = { mode: 'default' as const };
  const denied = { mode: 'default' as const, deny: [{ tool: 'look' }] };
  const tools = [testTool('look')];

  it.each([false, true])('hold for each agent that takes over, also if it was pinned before (continues as new: %s)', async (continues) => {
    const held: unknown[] = [];
    const noting =
      (outcome: ReturnType<typeof said>) =>
      ({ state: { snapshot } }: FakeSession) => {
        held.push([snapshot.name, snapshot.permissions]);
        return outcome;
      };
    await runFakeSession({
      parent,
      input: 'first',
      continues,
      snapshot: agentTo('one', ['two'], { tools }),
      agents: [agentTo('two', ['one'], { tools })],
      model: [noting(called(to('two'))), noting(said('A')), noting(called(to('one'))), noting(said('B')), noting(said('C'))],
      callers: [asks(2, { permissions: [denied] }), asks(3, { permissions: [] })],
    });
    expect(held).toEqual([
      ['one', undefined],
      ['two', undefined],
      ['two', [own, denied]],
      ['one', [own, denied]],
      ['one', [own]],
    ]);
  });

  it('are given to the agents that the session keeps itself', async () => {
    const given: unknown[] = [];
    const noting = ({ state }: FakeSession): ReturnType<typeof said> => {
      given.push(points.passesOnLater(state));
      return said('A');
    };
    const kept = testTool('ask', { agent: { name: 'below', share: [], request: true, kept: true } });
    const snapshot = testSnapshot({ tools: [kept, ...tools] });
    await runFakeSession({ parent, input: 'first', snapshot, model: [noting, noting], callers: [asks(2, { permissions: [denied] })] });
    expect(given).toEqual([{}, { permissions: [own, denied] }]);
  });
});

test('a session that waits for the run which keeps it refuses other messages', async () => {
  await runFakeSession({
    parent,
    input: 'first',
    model: [said('A')],
    callers: [
      ({ state, inbox, now }) => {
        const refused = refuseUpdate({ runId: 'talk', state, inbox }, 'send', { id: 'm1', content: 'Hello' }, now);
        expect(refused).toMatchObject({ code: 'invalid_input', message: expect.stringContaining('is kept by run "above"') });
        signal({ state, inbox, now } as FakeSession, 'close', {});
      },
    ],
  });
});

test('a session that waits for the run which keeps it knows a message again that it accepted during a turn', async () => {
  const receipts: unknown[] = [];
  const sends: SessionCaller = ({ update }) => receipts.push(update('send', { id: 'm1', content: 'Hello' }));
  await runFakeSession({
    parent,
    input: 'first',
    model: [
      (session) => {
        sends(session);
        return said('A');
      },
      said('B'),
    ],
    callers: [sends],
  });
  expect(receipts).toMatchObject([
    { status: 'queued', turn: 1 },
    { status: 'duplicate', turn: 1 },
  ]);
});

test('a resent message begins no other turn, and a message without its content is read from the call', async () => {
  const byReference: SessionCaller = (session) => signal(session, 'nextTurn', { turn: 2, of: { eventId: 'e1', index: 0 }, runs: 0 });
  const session = await runFakeSession({
    parent,
    input: 'first',
    model: [said('A'), said('B')],
    callers: [byReference, asks(2)],
    continues: true,
  });
  expect(messages(session)).toEqual(['first', 'a long message']);
  expect(session.executions).toBeGreaterThan(1);
});

describe.each([false, true])('the calls of a run that was reset, and no longer knows some turns (continues as new: %s)', (continues) => {
  const of = (eventId: string) => ({ of: { eventId, index: 0 } });
  const before = [asks(2, of('e1')), asks(3, of('e2'))];

  it('are answered in turns of their own, whatever numbers the run gives them', async () => {
    const session = await runFakeSession({
      parent,
      input: 'first',
      continues,
      model: [said('A'), said('B'), said('C'), said('D'), said('E')],
      callers: [...before, asks(2, { ...of('e3'), content: 'another' }), asks(5, of('e4'))],
    });
    expect(session.reported).toEqual(['above: 1', 'above: 2 of e1/0', 'above: 3 of e2/0', 'above: 4 of e3/0', 'above: 5 of e4/0']);
    expect(messages(session)).toEqual(['first', 'message 2', 'message 3', 'another', 'message 5']);
    // Results of turns stay in the execution in which they ended.
    expect(endedTurns(session.state).at(-1) ?? {}).toMatchObject(continues ? {} : { turn: 5, call: 'e4/0', output: 'E' });
  });

  it('are answered once if they repeat a question, and the run is notified again', async () => {
    const session = await runFakeSession({
      parent,
      input: 'first',
      continues,
      model: [said('A'), said('B'), said('C')],
      callers: [...before, asks(2, of('e1'))],
    });
    expect(session.reported).toEqual(['above: 1', 'above: 2 of e1/0', 'above: 3 of e2/0', 'above: 2 of e1/0']);
    expect(messages(session)).toEqual(['first', 'message 2', 'message 3']);
    expect(session.result).toMatchObject({ turns: 3 });
  });

  it('are answered by the turn that runs if they repeat its question', async () => {
    const session = await runFakeSession({
      parent,
      input: 'first',
      continues,
      model: [
        said('A'),
        (running) => {
          asks(2, of('e1'))(running);
          return said('B');
        },
      ],
      callers: [asks(2, of('e1'))],
    });
    expect(session.reported).toEqual(['above: 1', 'above: 2 of e1/0']);
  });

  it('are given up by themselves, whatever turns they have', async () => {
    const session = await runFakeSession({
      parent,
      input: 'first',
      continues,
      model: [said('A'), said('B'), said('C')],
      callers: [
        ...before,
        (open) => {
          asks(2, of('e3'))(open);
          signal(open, 'interrupt', { turn: 2, call: 'e1/0' });
          signal(open, 'interrupt', { turn: 2, call: 'e3/0' });
        },
      ],
    });
    expect(session.reported.at(-1)).toBe('above: 4 of e3/0');
    expect(endedTurns(session.state).at(-1) ?? {}).toMatchObject(continues ? {} : { turn: 4, status: 'cancelled' });
  });
});

test('a turn that is given up before it begins is interrupted', async () => {
  const { state } = await runFakeSession({
    parent,
    input: 'first',
    model: [said('A')],
    callers: [
      (session) => {
        asks(2)(session);
        signal(session, 'interrupt', { turn: 2 });
      },
    ],
  });
  expect(endedTurns(state)).toMatchObject([{ status: 'completed' }, { turn: 2, status: 'cancelled' }]);
});

test.each([false, true])(
  'a turn that is given up while the one before is still ending ends once it begins (continues as new: %s)',
  async (continues) => {
    const session = await runFakeSession({
      parent,
      input: 'first',
      continues,
      model: [
        (running) => {
          asks(2)(running);
          signal(running, 'interrupt', { turn: 2, reason: 'no longer needed' });
          return said('A');
        },
        said('C'),
      ],
      callers: [asks(3)],
    });
    expect(session.reported).toEqual(['above: 1', 'above: 2', 'above: 3']);
    expect(endedTurns(session.state).find(({ turn }) => turn === 2)).toMatchObject(
      continues ? {} : { status: 'cancelled', cancelReason: 'no longer needed', stepsUsed: 0 },
    );
    expect(messages(session)).toEqual(['first', 'message 3']);
  },
);

test('a run that is not such a session refuses a next message', async () => {
  await runFakeSession({
    model: [],
    callers: [
      ({ state, inbox, now }) => {
        const refused = takeSignal({ runId: 'talk', state, inbox }, 'nextTurn', { turn: 2, content: 'x', runs: 0 }, now);
        expect(refused?.message).toContain('the run is not a session that another run keeps');
      },
    ],
  });
});

describe('the requests of the run that keeps a session are kept until its agent is resolved', () => {
  it('the next message, whose turn follows the first one', async () => {
    const session = await runFakeSession({
      parent,
      input: 'first',
      earlier: (run) => {
        deliver(run, 'interrupt', { turn: 1 });
        deliver(run, 'nextTurn', { turn: 2, content: 'message 2', runs: 1 });
      },
      model: [said('B')],
      callers: [],
    });
    expect(session.reported).toEqual(['above: 1', 'above: 2']);
    expect(endedTurns(session.state)).toMatchObject([{ status: 'cancelled' }, { turn: 2, output: 'B' }]);
  });

  it('its close, after the first turn', async () => {
    const { result, reported } = await runFakeSession({
      parent,
      input: 'first',
      earlier: (run) => deliver(run, 'close', {}),
      model: [said('A')],
      callers: [],
    });
    expect(reported).toEqual(['above: 1']);
    expect(result).toMatchObject({ status: 'completed', stopReason: 'closed', output: 'A' });
  });
});

test('a session with requests from many callers takes the requests of the run that keeps it', async () => {
  const session = await runFakeSession({
    parent,
    input: 'first',
    model: [said('A'), said('B')],
    callers: [
      (busy) => {
        busy.inbox.updates = 2_000;
        asks(2)(busy);
      },
      (busy) => signal(busy, 'close', {}),
    ],
  });
  expect(session.result).toMatchObject({ stopReason: 'closed', turns: 2 });
});
