import { describe, expect, it } from 'vitest';
import type { AgentSnapshot, ToolSnapshot } from '../../../../src/core/domain/agent.ts';
import { applyOperations, type ContextOperation } from '../../../../src/core/domain/deps.ts';
import type { JsonObject, JsonValue } from '../../../../src/core/domain/json.ts';
import type { ToolOutcome } from '../../../../src/core/kernel/ports.ts';
import { call, called, delivery, type FakeScript, type FakeTool, resultsOf, runFake, said } from '../fakes/fake-ports.ts';
import { approves } from '../fakes/callers.ts';
import { testSnapshot, testTool } from '../fakes/snapshot.ts';

function updating(content: JsonValue, ...contextUpdate: ContextOperation[]): ToolOutcome {
  return {
    type: 'result',
    status: 'success',
    content: [content],
    durationMs: 1,
    resultId: 'r',
    ...(contextUpdate.length === 0 ? {} : { contextUpdate }),
  };
}

function setting(content: JsonValue, state: JsonObject): ToolOutcome {
  return { type: 'result', status: 'success', content: [content], durationMs: 1, resultId: 'r', state };
}

/** Returns deps after one operation. */
function applied(deps: JsonObject, operation: ContextOperation): JsonObject {
  const updated = applyOperations(deps, [operation]);
  return updated.ok ? updated.deps : deps;
}

const set = (key: string, value: JsonValue): ContextOperation => ({ op: 'set', key, value });

/** Lets calls that overlap start before any of them ends. */
async function later<Value>(value: Value): Promise<Value> {
  await new Promise((resolve) => setImmediate(resolve));
  return value;
}

/** Reads a count when it starts, and sets the next number when it ends. */
const increment: FakeTool = (_, { state }) => {
  const count = Number(state.deps['count'] ?? 0) + 1;
  return later(updating(count, set('count', count)));
};

/** The same in the state of the run. */
const incrementState: FakeTool = (_, { state }) => {
  const count = Number(state.context.state['count'] ?? 0) + 1;
  return later(setting(count, { count }));
};

const show: FakeTool = (_, { state }) => later(updating(state.deps['count'] ?? null));

const NAMES = ['increment', 'increment', 'show', 'increment'];
const calls = NAMES.map((name, index) => call(`c${index + 1}`, name));

interface Run {
  increments: Partial<ToolSnapshot>;
  shows?: Partial<ToolSnapshot>;
  tool?: FakeTool;
  snapshot?: Partial<AgentSnapshot>;
  script?: Partial<FakeScript>;
}

async function run({ increments, shows, tool = increment, snapshot = {}, script = {} }: Run) {
  const tools = [testTool('increment', increments), testTool('show', shows)];
  return runFake({
    snapshot: testSnapshot({ tools, ...snapshot }),
    model: [called(...calls), said('done')],
    tools: { increment: tool, show },
    ...script,
  });
}

const CONFLICT =
  'The update by tool \'increment\' was refused, and changed nothing: another call changed "count" while this one was running. Call the tool again.';

describe('calls of a tool that declares what it changes', () => {
  it.each([
    ['anything', true],
    ['the key', ['count']],
  ])('run in the order of the answer, and each sees the changes before it: %s', async (_, updates) => {
    const ended = await run({ increments: { updates } });
    expect(resultsOf(ended, 1)).toEqual(['1', '2', '2', '3']);
    expect(ended.state.deps).toEqual({ count: 3 });
  });

  it('run in the order of the answer if they change the state of the run', async () => {
    const ended = await run({ increments: { updates: ['count'] }, tool: incrementState });
    expect(resultsOf(ended, 1)).toEqual(['1', '2', 'null', '3']);
    expect(ended.state.context.state).toEqual({ count: 3 });
  });

  it('run in that order if local calls are among them', async () => {
    const ended = await run({ increments: { updates: true, tier: 'local' }, shows: { tier: 'local' } });
    expect(resultsOf(ended, 1)).toEqual(['1', '2', '2', '3']);
  });

  it('keep their order over executions', async () => {
    const full: FakeScript['continueDue'] = ({ invocations, positions }) => invocations.length > positions.length;
    const ended = await run({ increments: { updates: true }, script: { continueDue: full } });
    expect(ended.positions.length).toBeGreaterThan(2);
    expect(ended.state.deps).toEqual({ count: 3 });
    expect(ended.invocations.map(({ call: { toolCallId } }) => toolCallId)).toEqual(['c1', 'c2', 'c3', 'c4']);
  });

  it('do not wait for a call that waits for a decision, which sees their changes', async () => {
    const snapshot = {
      tools: [testTool('increment', { updates: true }), testTool('show', { approval: { when: 'always' }, updates: true })],
    };
    const asking: FakeTool = (_, { state }) => later(updating(state.deps['count'] ?? null, { op: 'delete', key: 'count' }));
    const ended = await runFake({
      snapshot: testSnapshot(snapshot),
      model: [called(call('c1', 'show'), call('c2', 'increment'), call('c3', 'increment')), said('done')],
      tools: { increment, show: asking },
      callers: [approves('c1')],
    });
    expect(ended.invocations.map(({ call: { toolCallId } }) => toolCallId)).toEqual(['c2', 'c3', 'c1']);
    expect(resultsOf(ended, 1)).toEqual(['2', '1', '2']);
    expect(ended.state.deps).toEqual({});
  });

  it('overlap with calls of tools that change other keys, and with earlier ones of tools that change nothing', async () => {
    const { outcome, deliver } = delivery();
    const started: string[] = [];
    const ended = await runFake({
      snapshot: testSnapshot({
        tools: [testTool('read', { updates: false }), testTool('a', { updates: ['a'] }), testTool('b', { updates: ['b'] })],
      }),
      model: [called(call('c1', 'read'), call('c2', 'a'), call('c3', 'b')), said('done')],
      tools: {
        read: () => (started.push('read'), outcome),
        a: () => (started.push('a'), later(updating('a', set('a', 1)))),
        b: () => {
          started.push('b');
          deliver(updating('read'));
          return later(updating('b', set('b', 1)));
        },
      },
    });
    expect(started).toEqual(['read', 'a', 'b']);
    expect(ended.state.deps).toEqual({ a: 1, b: 1 });
  });

  it('start as soon as the call that they follow has ended, although others are running', async () => {
    const { outcome, deliver } = delivery();
    let counts = 0;
    const ended = await run({
      increments: { updates: true },
      shows: { updates: false },
      script: {
        model: [called(call('c1', 'show'), call('c2', 'increment'), call('c3', 'increment')), said('done')],
        tools: {
          show: () => outcome,
          increment: (invocation, fake) => {
            if ((counts += 1) === 2) deliver(updating('shown'));
            return increment(invocation, fake);
          },
        },
      },
    });
    expect(resultsOf(ended, 1)).toEqual(['shown', '1', '2']);
  });

  it('have their predicate called again after changes of earlier calls', async () => {
    const asked: JsonValue[] = [];
    const ended = await run({
      increments: { updates: true },
      shows: { approval: { when: 'predicate' } },
      script: {
        ports: {
          reevaluateApproval: async ({ call: { toolCallId } }) => {
            asked.push(toolCallId);
            return { digest: 'd' };
          },
        },
        callers: [approves('c3')],
      },
    });
    expect(asked).toEqual(['c3']);
    expect(resultsOf(ended, 1)).toEqual(['1', '2', '3', '3']);
  });
});

describe('a change that would undo a change that another call made meanwhile', () => {
  it('becomes an error result that asks the model to call again', async () => {
    const ended = await run({ increments: {} });
    expect(resultsOf(ended, 1)).toEqual(['1', CONFLICT, 'null', CONFLICT]);
    expect(ended.state.deps).toEqual({ count: 1 });
    expect(ended.events[2]?.contextUpdates).toEqual([{ callId: 'c1', operations: [set('count', 1)] }]);
    expect(ended.modelCalls[1]).not.toHaveProperty('resultIds');
  });

  it('becomes an error result if it is one of the state', async () => {
    const ended = await run({ increments: {}, tool: incrementState });
    expect(resultsOf(ended, 1)).toEqual(['1', CONFLICT, 'null', CONFLICT]);
    expect(ended.state.context.state).toEqual({ count: 1 });
  });

  it('is refused without a second call if the tool acts once, and its result is kept', async () => {
    const ended = await run({ increments: { effect: 'once' } });
    expect(resultsOf(ended, 1)[1]).toBe(
      'The update by tool \'increment\' was refused, and changed nothing: another call changed "count" while this one was running. ' +
        'The call itself took effect: do not make it again. Its result:\n1',
    );
    // A model reads the first value of a result, and its notes.
    expect(ended.events[2]?.content[1]).toMatchObject({ status: 'error', notes: ['1'] });
  });

  const stats = (value: JsonObject): ContextOperation => ({ op: 'merge', key: 'stats', value });
  const append = (value: string): ContextOperation => ({ op: 'append', key: 'list', value });
  const remove: ContextOperation = { op: 'delete', key: 'old' };
  it.each<[string, ContextOperation, ContextOperation, JsonObject | null]>([
    ['two elements of a list', append('a'), append('b'), { list: ['a', 'b'], old: 1 }],
    ['an element, and another list', append('a'), set('list', ['b']), null],
    ['a list, and an element', set('list', ['a']), append('b'), { list: ['a', 'b'], old: 1 }],
    ['other fields of an object', stats({ a: 1 }), stats({ b: 2 }), { stats: { a: 1, b: 2 }, old: 1 }],
    ['other fields at any depth', stats({ a: { x: 1 } }), stats({ a: { y: 2 } }), { stats: { a: { x: 1, y: 2 } }, old: 1 }],
    ['the same field of an object', stats({ a: 1 }), stats({ a: 2 }), null],
    ['a field, and the whole object', stats({ a: 1 }), set('stats', { b: 1 }), null],
    ['an object, and one of its fields', set('stats', { b: 1 }), stats({ a: 1 }), null],
    ['a field, and the fields below it', stats({ a: 1 }), stats({ a: { b: 1 } }), null],
    ['the same value', set('x', 1), set('x', 1), null],
    ['other keys', set('x', 1), set('y', 1), { x: 1, y: 1, old: 1 }],
    ['a value, and nothing', set('old', 2), remove, null],
    ['nothing, twice', remove, remove, {}],
    ['a key named like a part of an object', set('__proto__', 1), set('constructor', 2), { ['__proto__']: 1, constructor: 2, old: 1 }],
  ])('is refused only if it does: %s', async (_, first, second, deps) => {
    const ended = await runFake({
      snapshot: testSnapshot({ tools: [testTool('before'), testTool('t'), testTool('u')] }),
      model: [called(call('c0', 'before')), called(call('c1', 't'), call('c2', 'u')), said('done')],
      tools: {
        before: () => updating('ok', set('old', 1)),
        t: () => later(updating('ok', first)),
        u: () => later(updating('ok', second)),
      },
    });
    const isRefused = deps === null;
    expect(ended.steps[1]?.toolCalls.map(({ isError }) => isError)).toEqual([false, isRefused]);
    const kept = deps ?? applied({ old: 1 }, first);
    expect(new Map(Object.entries(ended.state.deps))).toEqual(new Map(Object.entries(kept)));
  });

  it('is not one if the call started after it', async () => {
    const ended = await run({ increments: { maxResultBytes: 2_000_000 } });
    expect(ended.state.deps).toEqual({ count: 3 });
  });
});
