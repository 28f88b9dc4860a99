import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hasChildEnded } from '../../../../src/core/capabilities/children/children.ts';
import type { RunResultFields } from '../../../../src/core/domain/result.ts';
import { takeSignal } from '../../../../src/core/handlers/requests.ts';
import { Inbox } from '../../../../src/core/kernel/inbox.ts';
import type { RunState } from '../../../../src/core/kernel/run-state.ts';
import { call, called, type Caller, type FakeRun, type FakeScript, runFake, said } from '../fakes/fake-ports.ts';
import { FakeChildren } from '../fakes/fake-children.ts';
import { testSnapshot, testTool } from '../fakes/snapshot.ts';
import { agentTo, to } from '../handoffs/agents.ts';

const kept = testTool('ask', { agent: { name: 'below', share: [], request: true, kept: true } });
const snapshot = testSnapshot({ tools: [kept, testTool('look')] });
const ask = (id: string): ReturnType<typeof call> => call(id, 'ask', { request: `do ${id}` });

/** Ends a turn of the only session. */
function endsTurn(children: FakeChildren, turn: number, changes: Partial<RunResultFields> = {}): Caller {
  const result = { output: `answer ${turn}`, ...changes, turn };
  return children.ends(0, result);
}

function runKept(children: FakeChildren, script: Partial<FakeScript>): ReturnType<typeof runFake> {
  return runFake({
    snapshot,
    model: [called(ask('c1')), called(ask('c2')), said('done')],
    children: (run) => children.ports(run),
    callers: [endsTurn(children, 1), endsTurn(children, 2)],
    ...script,
  });
}

const results = (run: FakeRun): unknown[] => run.state.steps.flatMap(({ toolCalls }) => toolCalls.map(({ result }) => result));

describe('an agent that is kept', () => {
  it('is a session without its own limits, which gets the next call as its next message', async () => {
    const children = new FakeChildren();
    const run = await runKept(children, {});
    const [[runId, start] = []] = children.started;
    expect(start?.input).toMatchObject({
      input: 'do c1',
      session: { limits: { turns: null, totalTokens: null }, refresh: 'never' },
      parent: { kept: true },
    });
    expect(children.asked).toMatchObject([{ turn: 2, content: 'do c2' }]);
    expect(results(run)).toEqual(['answer 1', 'answer 2']);
    expect(run.state.slices['kept']).toEqual([{ tool: 'ask', agent: 'below', runId, turns: 2 }]);
    expect(run.result.descendants?.runs).toBe(1);
  });

  it('answers the calls of one response one at a time, in order', async () => {
    const children = new FakeChildren();
    const run = await runKept(children, { model: [called(ask('c1'), ask('c2')), said('done')] });
    expect(children.asked).toMatchObject([{ turn: 2, content: 'do c2' }]);
    expect(results(run)).toEqual(['answer 1', 'answer 2']);
  });

  it('gets a share of the remaining limits for each turn, and the permissions that were set since', async () => {
    const children = new FakeChildren();
    const limits = { steps: 10, finalAttempt: false, totalTokens: 1_000 };
    await runKept(children, {
      snapshot: testSnapshot({ tools: [kept], limits }),
      model: [
        called(ask('c1')),
        (run: FakeRun) => {
          run.state.slices['permissions'] = { mode: 'default', deny: [{ tool: 'look' }] };
          return called(ask('c2'));
        },
        said('done'),
      ],
    });
    const [[, start] = []] = children.started;
    const first = start?.input.parent?.left?.totalTokens ?? 0;
    expect(first).toBeGreaterThan(0);
    expect(children.asked[0]?.left?.totalTokens).toBeLessThanOrEqual(first);
    expect(children.asked[0]?.permissions).toEqual([{ mode: 'default', deny: [{ tool: 'look' }] }]);
  });

  it('gets the permissions of each agent that takes the run over, also if it has none', async () => {
    const children = new FakeChildren();
    const tools = [kept, testTool('look')];
    const denied = { mode: 'default' as const, deny: [{ tool: 'look' }] };
    const strict = agentTo('strict', ['open'], { tools, permissions: [denied] });
    await runKept(children, {
      snapshot: agentTo('open', ['strict'], { tools }),
      model: [called(ask('c1')), called(to('strict')), called(ask('c2')), called(to('open')), called(ask('c3')), said('done')],
      callers: [endsTurn(children, 1), endsTurn(children, 2), endsTurn(children, 3)],
      ports: { resolveHandoff: () => Promise.resolve({ type: 'resolved', snapshot: strict }) },
    });
    expect(children.asked.map(({ permissions }) => permissions)).toEqual([[denied], []]);
  });

  it('has the next turn after those that it had before the run was reset', async () => {
    const children = new FakeChildren();
    const run = await runKept(children, {
      model: [called(ask('c1')), called(ask('c2')), called(ask('c3')), said('done')],
      callers: [endsTurn(children, 1), endsTurn(children, 7), endsTurn(children, 8)],
    });
    expect(children.asked).toMatchObject([{ turn: 2 }, { turn: 8 }]);
    expect(run.state.slices['kept']).toMatchObject([{ turns: 8 }]);
  });

  it('is waited for by the call that it answers: the end of another turn is not the answer', () => {
    const child = { eventId: 'e5', index: 0, runId: 'talk', startedAt: 1, seenAt: 1, runs: 0, turn: 2 };
    const run = { runId: 'above', state: { slices: { children: [child] } } as unknown as RunState, inbox: new Inbox() };
    const ended = (input: object): boolean => {
      takeSignal(run, 'childEnded', { runId: 'talk', ...input }, 0);
      return hasChildEnded(run.inbox, 'talk');
    };
    expect(ended({ turn: 2, call: 'e3/0' })).toBe(false);
    expect(ended({ turn: 4, call: 'e5/0' })).toBe(true);
  });

  it('is replaced by another session once it has ended without ending its turn', async () => {
    const children = new FakeChildren();
    const answered: Partial<RunResultFields> & { turn: number } = { turn: 1 };
    const failed = { status: 'error' as const, error: 'The run cannot continue' };
    const run = await runKept(children, { callers: [children.ends(0, failed), children.ends(1, answered)] });
    expect(children.started.size).toBe(2);
    expect(children.asked).toEqual([]);
    expect(run.state.slices['kept']).toMatchObject([{ runId: [...children.started.keys()][1], turns: 1 }]);
  });

  it('gets each message once, in whichever execution the run continues as new', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(fc.nat(12), { maxLength: 6 }), async (continued) => {
        const children = new FakeChildren();
        let asked = -1;
        const run = await runKept(children, { continueDue: () => continued.includes((asked += 1)) });
        expect(children.started.size).toBe(1);
        expect(children.asked.map(({ turn }) => turn)).toEqual([2]);
        expect(run.result).toMatchObject({ status: 'completed', output: 'done', descendants: { runs: 1 } });
      }),
      { numRuns: 100 },
    );
  });
});
