import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { AgentSnapshot } from '../../../src/core/domain/agent.ts';
import type { Permissions } from '../../../src/core/domain/permissions.ts';
import type { Authorization } from '../../../src/core/kernel/ports.ts';
import { approves, responds, update } from './fakes/callers.ts';
import { eventSummaries } from './fakes/event-summaries.ts';
import { FakeChildren } from './fakes/fake-children.ts';
import { call, called, type Caller, type FakeRun, type FakeScript, returned, runFake, said } from './fakes/fake-ports.ts';
import { testSnapshot, testTool } from './fakes/snapshot.ts';

const READ_ONLY: Permissions = { mode: 'default', deny: [{ tool: 'write' }] };
const NOTHING: Permissions = { mode: 'default', deny: [{ tool: 'write' }, { tool: 'read' }] };
const EVERYTHING: Permissions = { mode: 'default' };

/** An agent that may not write, on a worker that decides about wider permissions. */
const reader: AgentSnapshot = testSnapshot({ tools: [testTool('read'), testTool('write')], permissions: [READ_ONLY], authorize: true });

/** A run whose permissions are set during its first model call, and that reads and writes after it. */
async function runSetting(changes: readonly Permissions[], authorize: (id: string) => Authorization): Promise<FakeRun> {
  return runFake({
    snapshot: reader,
    model: [
      (run) => {
        for (const [index, permissions] of changes.entries())
          update(run, 'setPermissions', { id: `change ${index + 1}`, permissions, by: 'ann' });
        return called(call('r1', 'read'));
      },
      called(call('r2', 'read'), call('w2', 'write')),
      said('done'),
    ],
    // The worker takes a moment to decide.
    ports: { authorize: ({ id }) => setImmediate(authorize(id)) },
  });
}

/** The tools that have run, in order. */
function ran({ invocations }: FakeRun): string[] {
  return invocations.map(({ call: { toolCallId } }) => toolCallId);
}

describe('wider permissions of a run', () => {
  it('that the worker refuses do not hold, and the refusal is recorded once', async () => {
    const run = await runSetting([EVERYTHING], () => ({ type: 'refused', reason: 'not on call' }));
    expect(ran(run)).toEqual(['r1', 'r2']);
    expect(eventSummaries(run).filter((line) => line.includes('setPermissions'))).toEqual(['refused setPermissions: not_authorized']);
    expect(run.events.find(({ refused }) => refused !== undefined)?.refused).toMatchObject({
      id: 'change 1',
      by: 'ann',
      message: 'The permissions were not changed: not on call',
    });
    expect(run.events.some(({ permissions }) => permissions !== undefined)).toBe(false);
  });

  it('that the worker authorizes hold from the next model call on, with the identity that it has verified', async () => {
    const run = await runSetting([EVERYTHING], () => ({ type: 'authorized', as: 'ann@example.org' }));
    expect(ran(run)).toEqual(['r1', 'r2', 'w2']);
    const changes = run.events.filter(({ permissions }) => permissions !== undefined);
    expect(changes.map(({ author, permissions }) => [author, permissions?.id, permissions?.verifiedBy])).toEqual([
      ['ann@example.org', 'change 1', 'ann@example.org'],
    ]);
  });

  it('are decided in order: a refused request changes nothing for the next', async () => {
    const run = await runSetting([EVERYTHING, EVERYTHING], (id) =>
      id === 'change 1' ? { type: 'refused', reason: 'not on call' } : { type: 'authorized', as: 'bob' },
    );
    expect(ran(run)).toEqual(['r1', 'r2', 'w2']);
    expect(run.events.flatMap(({ refused, permissions }) => refused?.id ?? permissions?.id ?? [])).toEqual(['change 1', 'change 2']);
  });

  it('are not asked about if a narrower change follows, which holds at once', async () => {
    const asked: string[] = [];
    const run = await runSetting([EVERYTHING, NOTHING], (id) => {
      asked.push(id);
      return { type: 'authorized', as: 'bob' };
    });
    expect(asked).toEqual([]);
    expect(ran(run)).toEqual([]);
    expect(run.events.find(({ refused }) => refused !== undefined)?.refused?.message).toContain('a later change narrows them');
  });
});

describe('narrower permissions hold for the calls of an answer that have not begun', () => {
  const narrows: Caller = (run) => update(run, 'setPermissions', { id: 'change', permissions: READ_ONLY, by: 'ann' });
  const model = [called(call('r1', 'read'), call('w1', 'write')), said('done')];
  const refused = 'The permissions of this run do not allow this call of "write": the rule deny: tool "write" denies it.';

  describe.each([false, true])('(continues as new in between: %s)', (continues) => {
    it('in a sequence', async () => {
      const run = await runFake({
        snapshot: testSnapshot({ tools: [testTool('read'), testTool('write')], parallel: false }),
        model,
        tools: {
          read: (_, one) => {
            narrows(one);
            return returned('text');
          },
        },
        continueDue: ({ invocations, positions }) => continues && invocations.length === 1 && positions.length === 0,
      });
      expect(run.positions).toHaveLength(continues ? 1 : 0);
      expect(ran(run)).toEqual(['r1']);
      expect(run.steps[0]?.toolCalls[1]).toMatchObject({ notRun: 'refused', result: refused });
    });

    it('in quiet hours', async () => {
      const quietHours = { from: 22 * 60, to: 7 * 60, zone: 'UTC', offsets: [{ since: 0, minutes: 0 }] };
      let isNarrowed = false;
      const run = await runFake({
        snapshot: testSnapshot({ tools: [testTool('read'), testTool('write', { category: 'communicate' })], quietHours }),
        model,
        callers: [
          (one) => {
            narrows(one);
            isNarrowed = true;
          },
        ],
        continueDue: ({ positions }) => continues && isNarrowed && positions.length === 0,
      });
      expect(run.positions).toHaveLength(continues ? 1 : 0);
      expect(ran(run)).toEqual(['r1']);
      expect(run.steps[0]?.toolCalls[1]).toMatchObject({ notRun: 'refused', result: refused });
    });
  });
});

describe('a call that was begun before the permissions became narrower', () => {
  let isNarrowed = false;
  const narrows = (run: FakeRun, rule: 'deny' | 'ask' = 'deny'): void => {
    const permissions = { mode: 'default', [rule]: ['pay', 'ask'].map((tool) => ({ tool })) };
    update(run, 'setPermissions', { id: 'change', permissions });
    isNarrowed = true;
  };

  /** Runs a call that waits until it is narrowed, and then for the other callers. */
  async function runNarrowed(continues: boolean, script: Omit<FakeScript, 'continueDue'>): Promise<FakeRun> {
    isNarrowed = false;
    const run = await runFake({ ...script, continueDue: ({ positions }) => continues && isNarrowed && positions.length === 0 });
    expect(run.positions).toHaveLength(continues ? 1 : 0);
    return run;
  }

  /** Runs a call of an agent, for whose calls a rule is added while it runs. */
  async function runAsking(continues: boolean, rule: 'deny' | 'ask'): Promise<{ run: FakeRun; children: FakeChildren }> {
    const children = new FakeChildren();
    const ask = testTool('ask', { agent: { name: 'below', share: [], request: true } });
    const run = await runNarrowed(continues, {
      snapshot: testSnapshot({ tools: [ask, testTool('pay')] }),
      model: [called(call('c1', 'ask', { request: 'Go' })), said('done')],
      children: (one) => children.ports(one),
      callers: [(one) => narrows(one, rule), children.ends(0)],
    });
    return { run, children };
  }

  describe.each([false, true])('(continues as new in between: %s)', (continues) => {
    it('has the answer of its agent as its result', async () => {
      const { run, children } = await runAsking(continues, 'deny');
      expect(run.steps[0]?.toolCalls).toMatchObject([{ result: 'answer 0', isError: false }]);
      expect(children.started.size).toBe(1);
    });

    it('is not asked about while its agent runs', async () => {
      const { run } = await runAsking(continues, 'ask');
      expect(run.state.approvals.decided).toEqual([]);
      expect(run.steps[0]?.toolCalls).toMatchObject([{ result: 'answer 0', isError: false }]);
    });

    it('has the outcome that a person gives it if its answer was lost', async () => {
      const run = await runNarrowed(continues, {
        snapshot: testSnapshot({ tools: [testTool('pay', { effect: 'once' }), testTool('ask')], onUnknownOutcome: 'ask' }),
        model: [called(call('c1', 'pay')), said('done')],
        tools: { pay: () => ({ type: 'lost', reason: 'its worker died' }) },
        callers: [narrows, responds('c1', 'paid')],
      });
      expect(run.steps[0]?.toolCalls).toMatchObject([{ result: 'paid', isError: false }]);
    });

    it('waits for its decision, and is denied once it is approved', async () => {
      const run = await runNarrowed(continues, {
        snapshot: testSnapshot({ tools: [testTool('pay', { approval: { when: 'always' } }), testTool('ask')] }),
        model: [called(call('c1', 'pay')), said('done')],
        callers: [narrows, approves('c1')],
      });
      expect(run.invocations).toEqual([]);
      expect(run.events.flatMap(({ decision }) => decision?.type ?? [])).toEqual(['approve']);
      expect(run.steps[0]?.toolCalls).toMatchObject([{ notRun: 'refused', isError: true }]);
    });
  });
});
