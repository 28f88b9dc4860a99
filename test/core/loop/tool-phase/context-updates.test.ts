import { describe, expect, it } from 'vitest';
import type { ContextOperation } from '../../../../src/core/domain/deps.ts';
import type { ApprovalRequirement } from '../../../../src/core/domain/approvals.ts';
import type { JsonObject } from '../../../../src/core/domain/json.ts';
import { INTERRUPTED_CALL } from '../../../../src/core/domain/tool-calls.ts';
import type { ToolOutcome } from '../../../../src/core/kernel/ports.ts';
import { call, called, delivery, type FakeTool, type Caller, resultsOf, returned, runFake, said } from '../fakes/fake-ports.ts';
import { approves, sends } from '../fakes/callers.ts';
import { testSnapshot, testTool } from '../fakes/snapshot.ts';

const updating = (...contextUpdate: ContextOperation[]): ToolOutcome => ({
  type: 'result',
  status: 'success',
  content: ['ok'],
  durationMs: 1,
  resultId: 'r1',
  contextUpdate,
});
const append = (value: string): ContextOperation => ({ op: 'append', key: 'trail', value });
const tools = [testTool('t'), testTool('u')];

/** Records the deps that each call sees, and appends its id. */
function noting(seen: [string, JsonObject][]): FakeTool {
  return ({ call: { toolCallId } }, { state }) => {
    seen.push([toolCallId, structuredClone(state.deps)]);
    return updating(append(toolCallId));
  };
}

describe('an update of the deps', () => {
  it('is seen by the next call of the same response if calls run in sequence', async () => {
    const seen: [string, JsonObject][] = [];
    await runFake({
      snapshot: testSnapshot({ parallel: false, tools }),
      model: [called(call('c1', 't'), call('c2', 't')), called(call('c3', 't')), said('done')],
      tools: { t: noting(seen) },
    });
    expect(seen).toEqual([
      ['c1', {}],
      ['c2', { trail: ['c1'] }],
      ['c3', { trail: ['c1', 'c2'] }],
    ]);
  });

  it('is seen after the response if calls overlap, in the order of the calls and not of their ends', async () => {
    const seen: [string, JsonObject][] = [];
    const { outcome, deliver } = delivery();
    const run = await runFake({
      snapshot: testSnapshot({ tools }),
      model: [called(call('c1', 't'), call('c2', 'u')), called(call('c3', 'u')), said('done')],
      tools: {
        t: () => outcome,
        u: (invocation, fake) => {
          queueMicrotask(() => deliver(updating(append('c1'))));
          return noting(seen)(invocation, fake);
        },
      },
    });
    expect(seen).toEqual([
      ['c2', {}],
      ['c3', { trail: ['c1', 'c2'] }],
    ]);
    expect(run.state.deps).toEqual({ trail: ['c1', 'c2', 'c3'] });
  });

  it('is recorded with the results, by call', async () => {
    const run = await runFake({
      snapshot: testSnapshot({ tools }),
      model: [called(call('c1', 't'), call('c2', 'u'), call('c3', 't')), said('done')],
      tools: { t: ({ call: { toolCallId } }) => updating(append(toolCallId)) },
    });
    expect(run.events[2]?.contextUpdates).toEqual([
      { callId: 'c1', operations: [append('c1')] },
      { callId: 'c3', operations: [append('c3')] },
    ]);
    expect(run.events.filter(({ contextUpdates }) => contextUpdates !== undefined)).toHaveLength(1);
  });

  it('that cannot be applied becomes an error result, and changes nothing', async () => {
    const run = await runFake({
      snapshot: testSnapshot({ tools }),
      model: [called(call('c1', 't'), call('c2', 'u')), said('done')],
      tools: {
        t: () => updating({ op: 'set', key: 'trail', value: 'a text' }),
        u: () => updating({ op: 'set', key: 'other', value: 1 }, append('x')),
      },
    });
    expect(resultsOf(run, 1)).toEqual([
      'ok',
      "The update of the deps by tool 'u' was refused, and changed nothing: deps.trail is a string: only a list can be appended to",
    ]);
    expect(run.state.deps).toEqual({ trail: 'a text' });
    expect(run.events[2]?.contextUpdates).toEqual([{ callId: 'c1', operations: [{ op: 'set', key: 'trail', value: 'a text' }] }]);
  });

  it('that does not fit the pinned schema becomes an error result, and changes nothing', async () => {
    const deps = { type: 'object', properties: { count: { type: 'integer', maximum: 2 } } };
    const run = await runFake({
      snapshot: testSnapshot({ tools, deps }),
      model: [called(call('c1', 't'), call('c2', 'u')), said('done')],
      tools: {
        t: () => updating({ op: 'set', key: 'other', value: 2 }),
        u: () => updating({ op: 'set', key: 'count', value: 3 }),
      },
    });
    expect(resultsOf(run, 1)[1]).toMatch(/^The update of the deps by tool 'u' was refused, and changed nothing: deps: .*count/);
    expect(run.state.deps).toEqual({ other: 2 });
    // The worker remembers another result of the call: the conversation must not be assembled from it.
    expect(run.modelCalls[1]).not.toHaveProperty('resultIds');
  });

  it('that would make the deps too large becomes an error result', async () => {
    const run = await runFake({
      snapshot: testSnapshot({ tools }),
      model: [called(call('c1', 't')), said('done')],
      tools: { t: () => updating({ op: 'set', key: 'k', value: 'x'.repeat(150_000) }) },
    });
    expect(resultsOf(run, 1)[0]).toContain('over 150000');
    expect(run.state.deps).toEqual({});
  });

  it('that is large and recorded does not keep the run from continuing as new while it waits', async () => {
    const paid = testTool('paid', { approval: { when: 'always' } });
    const run = await runFake({
      snapshot: testSnapshot({ tools: [...tools, paid] }),
      model: [called(call('c1', 't'), call('c2', 'paid')), said('done')],
      tools: { t: () => updating({ op: 'set', key: 'large', value: 'x'.repeat(120_000) }) },
      continueDue: ({ positions, events, state }) =>
        positions.length === 0 && [...events, ...state.context.events].some(({ contextUpdates }) => contextUpdates !== undefined),
      callers: [approves('c2')],
    });
    expect(run.positions).toMatchObject([{ type: 'run_tools' }]);
    expect(run.state.deps).toEqual({ large: 'x'.repeat(120_000) });
    expect(run.events.filter(({ contextUpdates }) => contextUpdates !== undefined)).toHaveLength(1);
  });

  it('is carried into the next execution, and applied once', async () => {
    const run = await runFake({
      snapshot: testSnapshot({ parallel: false, tools }),
      model: [called(call('c1', 't'), call('c2', 't')), said('done')],
      tools: { t: ({ call: { toolCallId } }) => updating(append(toolCallId)) },
      continueDue: ({ invocations, positions }) => invocations.length === 1 && positions.length === 0,
    });
    expect(run.positions).toHaveLength(1);
    expect(run.state.deps).toEqual({ trail: ['c1', 'c2'] });
    expect(run.events.flatMap(({ contextUpdates = [] }) => contextUpdates.map(({ callId }) => callId))).toEqual(['c1', 'c2']);
  });
});

describe('a predicate of a call after a call that changed the deps', () => {
  const predicate = testTool('p', { approval: { when: 'predicate' } });
  const snapshot = testSnapshot({ parallel: false, tools: [testTool('t'), predicate] });

  it('is evaluated again, and the call waits if the predicate now requires it', async () => {
    const asked: string[] = [];
    const run = await runFake({
      snapshot,
      model: [called(call('c1', 't'), call('c2', 'p'), call('c3', 'p')), said('done')],
      tools: { t: () => updating(append('x')) },
      ports: {
        reevaluateApproval: async ({ call: { toolCallId } }) => {
          asked.push(toolCallId);
          return toolCallId === 'c2' ? { digest: 'd', reason: 'the deps say so' } : undefined;
        },
      },
      callers: [
        ({ state }) => expect(state.approvals.pending).toMatchObject([{ callId: 'c2', reason: 'the deps say so' }]),
        approves('c2'),
      ],
    });
    expect(asked).toEqual(['c2', 'c3']);
    expect(resultsOf(run, 1)).toEqual(['ok', 'p ran', 'p ran']);
  });

  describe('while it is evaluated', () => {
    const paid = testTool('paid', { approval: { when: 'always' } });
    const running = { snapshot: { ...snapshot, tools: [...snapshot.tools, paid] } };
    const model = [called(call('c1', 't'), call('c2', 'p'), call('c3', 'paid')), said('done')];
    let meanwhile: (() => unknown) | undefined;
    const meeting = (caller: Caller): Record<string, FakeTool> => ({
      t: (_, fake) => {
        meanwhile = () => caller(fake);
        return updating(append('x'));
      },
    });
    const asking = (terms?: ApprovalRequirement) => ({
      reevaluateApproval: async () => {
        meanwhile?.();
        return terms;
      },
    });

    it('a decision on another call is carried out at once', async () => {
      await runFake({
        ...running,
        model,
        tools: meeting(approves('c3')),
        ports: asking({ digest: 'd' }),
        callers: [
          ({ invocations }) => expect(invocations.map(({ call: { toolCallId } }) => toolCallId)).toEqual(['c1', 'c3']),
          approves('c2'),
        ],
      });
    });

    it('a message that steers keeps its call from starting', async () => {
      const run = await runFake({ ...running, model, tools: meeting(sends('Stop', 'steer')), ports: asking() });
      expect(run.invocations.map(({ call: { toolCallId } }) => toolCallId)).toEqual(['c1']);
      expect(resultsOf(run, 1)).toEqual(['ok', INTERRUPTED_CALL, INTERRUPTED_CALL]);
    });

    it('a cancellation keeps its call from starting', async () => {
      const run = await runFake({ ...running, model, tools: meeting((fake) => fake.cancel()), ports: asking() });
      expect(run.invocations.map(({ call: { toolCallId } }) => toolCallId)).toEqual(['c1']);
      expect(run.result.status).toBe('cancelled');
    });
  });

  it.each(['while it waits', 'once it is approved'])('is not evaluated a third time in the next execution (%s)', async (when) => {
    let asked = 0;
    const run = await runFake({
      snapshot,
      model: [called(call('c1', 't'), call('c2', 'p'), call('c3', 't')), said('done')],
      tools: { t: () => updating(append('x')) },
      // Its result would no longer count: a person was asked, and has decided on the call as it was then.
      ports: { reevaluateApproval: async () => (++asked === 1 ? { digest: 'd' } : undefined) },
      continueDue: ({ state, positions }) =>
        positions.length === 0 && (when === 'while it waits' ? state.approvals.pending.length > 0 : state.approvals.approved.length > 0),
      callers: [approves('c2', { arguments: { edited: true } })],
    });
    expect(run.positions).toHaveLength(1);
    expect(asked).toBe(1);
    expect(run.invocations.find(({ call: { toolCallId } }) => toolCallId === 'c2')).toMatchObject({
      call: { arguments: { edited: true } },
      edited: true,
    });
  });

  it('is not evaluated again if the deps have not changed', async () => {
    const run = await runFake({
      snapshot,
      model: [called(call('c1', 't'), call('c2', 'p')), said('done')],
      ports: { reevaluateApproval: () => Promise.reject(new Error('asked again')) },
    });
    expect(resultsOf(run, 1)).toEqual(['t ran', 'p ran']);
    expect(run.result.status).toBe('completed');
  });
});

describe('a tool that asks the model to try again', () => {
  const retry: ToolOutcome = { type: 'result', status: 'error', content: ['a city, please'], durationMs: 1, asksRetry: true };

  it('may do so a limited number of times in a row, and then has failed', async () => {
    const run = await runFake({
      snapshot: testSnapshot({ tools: [testTool('t', { modelRetries: 1 })] }),
      model: [called(call('c1', 't')), called(call('c2', 't')), said('done')],
      tools: { t: () => retry },
    });
    expect([...resultsOf(run, 1), ...resultsOf(run, 2)]).toEqual([
      'a city, please',
      "Tool 't' failed, and has no retries left (it asked once): a city, please. Try another way.",
    ]);
  });

  it('has all its retries again after a successful call, in any execution', async () => {
    const outcomes = [retry, returned('fine'), retry, retry];
    const run = await runFake({
      snapshot: testSnapshot({ tools: [testTool('t', { modelRetries: 1 })] }),
      model: [called(call('c1', 't')), called(call('c2', 't')), called(call('c3', 't')), called(call('c4', 't')), said('done')],
      tools: { t: () => outcomes.shift() ?? retry },
      continueDue: ({ modelCalls, positions }) => modelCalls.length === 3 && positions.length === 0,
    });
    const results = run.steps.flatMap(({ toolCalls }) => toolCalls.map(({ result }) => result));
    expect(results.slice(0, 3)).toEqual(['a city, please', 'fine', 'a city, please']);
    expect(results[3]).toContain('no retries left');
  });
});
