import { describe, expect, it } from 'vitest';
import { INTERRUPTED_CALL, RUNNING_CALL } from '../../../../src/core/domain/tool-calls.ts';
import type { ToolOutcome } from '../../../../src/core/kernel/ports.ts';
import { call, called, delivery, message, responded, resultsOf, returned, runFake, said, type FakeTool } from '../fakes/fake-ports.ts';
import { testSnapshot, testTool } from '../fakes/snapshot.ts';

const set = (who: string): ToolOutcome => ({
  type: 'result',
  status: 'success',
  content: [],
  durationMs: 1,
  state: { last: who, [who]: true },
});
const identified = (resultId: string): ToolOutcome => ({ ...(returned('x') as ToolOutcome & { type: 'result' }), resultId });
const failed = (text: string): ToolOutcome => ({ type: 'result', status: 'error', content: [text], durationMs: 1 });

describe('tool calls of one response', () => {
  it('keep the order of the model although they end in another', async () => {
    const { outcome, deliver } = delivery();
    const run = await runFake({
      snapshot: testSnapshot({ tools: [testTool('slow'), testTool('fast')] }),
      model: [called(call('c1', 'slow'), call('c2', 'fast')), said('done')],
      tools: {
        slow: () => outcome,
        fast: () => {
          queueMicrotask(() => deliver(returned('slow')));
          return returned('fast');
        },
      },
    });
    expect(resultsOf(run, 1)).toEqual(['slow', 'fast']);
    expect(run.state.context.events[2]?.content.map((item) => item.type === 'tool_result' && item.toolCallId)).toEqual(['c1', 'c2']);
  });

  it('are recorded as one event of the agent', async () => {
    const run = await runFake({
      snapshot: testSnapshot({ tools: [testTool('t')] }),
      model: [called(call('c1', 't'), call('c2', 't')), said('done')],
    });
    expect(run.state.context.events.map(({ author, content }) => [author, content.map((item) => item.type)])).toEqual([
      ['user', ['message']],
      ['a', ['tool_call', 'tool_call']],
      ['a', ['tool_result', 'tool_result']],
      ['a', ['message']],
    ]);
  });

  it.each([
    ['the agent', testSnapshot({ parallel: false, tools: [testTool('t'), testTool('u')] })],
    ['one of the tools', testSnapshot({ tools: [testTool('t'), testTool('u', { parallel: false })] })],
  ])('never overlap if %s requires it', async (_, snapshot) => {
    const log: string[] = [];
    const logged: FakeTool = async ({ call: { toolCallId } }) => {
      log.push(`${toolCallId} begins`);
      await new Promise((resolve) => setImmediate(resolve));
      log.push(`${toolCallId} ends`);
      return returned('ok');
    };
    await runFake({ snapshot, model: [called(call('c1', 't'), call('c2', 'u')), said('done')], tools: { t: logged, u: logged } });
    expect(log).toEqual(['c1 begins', 'c1 ends', 'c2 begins', 'c2 ends']);
  });

  it('have their position in the input, so that the arguments can be found by reference', async () => {
    const run = await runFake({
      snapshot: testSnapshot({ tools: [testTool('t')] }),
      model: [responded([message('I look it up'), call('c1', 't'), call('c2', 't')]), said('done')],
    });
    expect(run.invocations.map(({ step, offset, index }) => ({ step, offset, index }))).toEqual([
      { step: 1, offset: 1, index: 1 },
      { step: 1, offset: 1, index: 2 },
    ]);
  });
});

describe('a mistake of the model', () => {
  it('becomes a result and the run continues if the tool is unknown', async () => {
    const run = await runFake({ snapshot: testSnapshot(), model: [called(call('c1', 'nope', { x: 1 })), said('ok')] });
    expect(run.invocations).toEqual([]);
    expect(run.result).toMatchObject({ status: 'completed', output: 'ok', toolCallsTotal: 0, toolCallsNotRun: { unknown: { nope: 1 } } });
    expect(run.result.steps?.[0]?.toolCalls).toMatchObject([
      { toolName: 'nope', callId: 'c1', arguments: { x: 1 }, isError: true, result: "Tool 'nope' not found in agent's tool list" },
    ]);
  });

  it('is a result, counts against no limit, and does not affect other calls if the tool is only a schema', async () => {
    const run = await runFake({
      snapshot: testSnapshot({
        tools: [testTool('order', { notExecutable: true }), testTool('t')],
        limits: { steps: 10, finalAttempt: false, toolCalls: 1 },
      }),
      model: [called(call('c1', 'order'), call('c2', 't')), said('ok')],
    });
    expect(run.invocations.map((invocation) => invocation.call.toolCallId)).toEqual(['c2']);
    expect(run.result).toMatchObject({ status: 'completed', toolCallsByName: { t: 1 }, toolCallsNotRun: { not_started: { order: 1 } } });
    expect(run.state.steps[0]?.toolCalls).toMatchObject([
      { isError: true, result: "Tool 'order' is not executable: nothing implements it. Go on without its result." },
      { isError: false, result: 't ran' },
    ]);
  });

  it('becomes a result and nothing runs if the arguments do not fit', async () => {
    const run = await runFake({
      snapshot: testSnapshot({ tools: [testTool('t')] }),
      model: [responded([call('c1', 't'), call('c2', 't')], { problems: { c1: 'Error: "x" is missing' } }), said('ok')],
    });
    expect(run.invocations.map((invocation) => invocation.call.toolCallId)).toEqual(['c2']);
    expect(run.state.steps[0]?.toolCalls.map(({ isError, result }) => [isError, result])).toEqual([
      [true, 'Error: "x" is missing'],
      [false, 't ran'],
    ]);
  });

  it('does not break the counts if it calls a tool by the name of an object property', async () => {
    const run = await runFake({
      snapshot: testSnapshot(),
      model: [called(call('c1', '__proto__'), call('c2', 'constructor'), call('c3', '__proto__')), said('ok')],
    });
    expect(Object.entries(run.result.toolCallsNotRun?.unknown ?? {})).toEqual([
      ['__proto__', 2],
      ['constructor', 1],
    ]);
  });
});

describe('a tool', () => {
  it('that fails gives an error record and the run continues', async () => {
    const run = await runFake({
      snapshot: testSnapshot({ tools: [testTool('bad')] }),
      model: [called(call('c1', 'bad')), said('ok')],
      tools: { bad: () => failed('boom') },
    });
    expect(run.result).toMatchObject({ status: 'completed', toolCallsByName: { bad: 1 } });
    expect(run.state.steps[0]?.toolCalls[0]).toMatchObject({ isError: true, result: 'boom' });
    expect(run.state.context.events[2]?.content).toEqual([
      { type: 'tool_result', toolCallId: 'c1', name: 'bad', status: 'error', content: ['boom'] },
    ]);
  });

  it('sees the changes of the call before it if calls run in sequence', async () => {
    const seen: unknown[] = [];
    const count: FakeTool = (_, { state }) => {
      const n = Number(state.context.state['n'] ?? 0);
      seen.push(n);
      return { type: 'result', status: 'success', content: [n], durationMs: 1, state: { n: n + 1 } };
    };
    const run = await runFake({
      snapshot: testSnapshot({ parallel: false, tools: [testTool('count')] }),
      model: [called(call('c1', 'count'), call('c2', 'count')), said('ok')],
      tools: { count },
    });
    expect(seen).toEqual([0, 1]);
    expect(run.state.context.state).toEqual({ n: 2 });
  });

  it('has its changes applied in call order if calls overlap', async () => {
    const { outcome, deliver } = delivery();
    const run = await runFake({
      snapshot: testSnapshot({ tools: [testTool('first'), testTool('second')] }),
      model: [called(call('c1', 'first'), call('c2', 'second')), said('ok')],
      tools: {
        first: () => outcome,
        second: () => {
          queueMicrotask(() => deliver(set('first')));
          return set('second');
        },
      },
    });
    // The second one began before the first had set the same key.
    expect(run.state.context.state).toEqual({ last: 'first', first: true });
    expect(resultsOf(run, 1)[1]).toContain('another call changed "last" while this one was running');
  });

  it('can have the ids of its results used for the next request only if all of them came from activities', async () => {
    const run = await runFake({
      snapshot: testSnapshot({ tools: [testTool('t')] }),
      model: [called(call('c1', 't'), call('c2', 't')), called(call('c3', 't'), call('c4', 'nope')), said('ok')],
      tools: { t: ({ call: { toolCallId } }) => identified(`r-${toolCallId}`) },
    });
    expect(run.modelCalls.map(({ resultIds }) => resultIds)).toEqual([undefined, ['r-c1', 'r-c2'], undefined]);
  });
});

describe('calls of a cancelled run', () => {
  it('are answered with their known outcome, in these words', async () => {
    const run = await runFake({
      snapshot: testSnapshot({ tools: [testTool('t')] }),
      model: [responded([message('working'), call('c1', 't'), call('c2', 't')])],
      tools: {
        t: ({ call: { toolCallId } }, { cancel }) => {
          if (toolCallId === 'c1') return returned('finished');
          cancel();
          return { type: 'cancelled' };
        },
      },
    });
    expect(RUNNING_CALL).toBe('Tool call was running when the run was cancelled; its outcome is unknown.');
    expect(INTERRUPTED_CALL).toBe('Tool call was interrupted and not executed. Please retry if needed.');
    expect(run.result).toMatchObject({ status: 'cancelled', stopReason: 'cancelled', output: 'working', stepsUsed: 1, toolCallsTotal: 2 });
    expect(run.state.steps[0]?.toolCalls.map(({ result, isError, durationMs }) => ({ result, isError, durationMs }))).toEqual([
      { result: 'finished', isError: false, durationMs: 1 },
      { result: RUNNING_CALL, isError: true, durationMs: null },
    ]);
    expect(run.state.context.events.at(-1)?.content.map((item) => item.type)).toEqual(['tool_result', 'tool_result']);
  });

  it('do not start if they wait for their turn', async () => {
    const run = await runFake({
      snapshot: testSnapshot({ parallel: false, tools: [testTool('t')] }),
      model: [called(call('c1', 't'), call('c2', 't'), call('c3', 'nope'))],
      tools: {
        t: (_, { cancel }) => {
          cancel();
          return returned('ok');
        },
      },
    });
    expect(run.invocations).toHaveLength(1);
    expect(resultsOf(run, 1)).toEqual(['ok', INTERRUPTED_CALL, INTERRUPTED_CALL]);
    expect(run.result.status).toBe('cancelled');
  });
});
