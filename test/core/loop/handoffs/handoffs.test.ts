import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AgentSnapshot } from '../../../../src/core/domain/agent.ts';
import type { AllPorts } from '../../../../src/core/capabilities.ts';
import { approves } from '../fakes/callers.ts';
import { call, called, type FakeRun, type FakeScript, responded, message, resultsOf, runFake, said } from '../fakes/fake-ports.ts';
import { testTool } from '../fakes/snapshot.ts';
import { agentTo, to } from './agents.ts';

const A = agentTo('a', ['b', 'c'], { tools: [testTool('find'), testTool('pay', { approval: { when: 'always' } })] });
const B = agentTo('b', ['a', 'c'], { tools: [testTool('find')] });
const C = agentTo('c', []);

/** Ports of a worker with these agents; `resolved` gets the name of each agent that it resolves. */
function withAgents(agents: readonly AgentSnapshot[], resolved: string[] = []): Pick<AllPorts, 'resolveHandoff'> {
  return {
    resolveHandoff: async (name) => {
      resolved.push(name);
      const snapshot = agents.find((one) => one.name === name);
      return snapshot === undefined
        ? { type: 'failed', code: 'unknown_agent', message: `no agent "${name}"` }
        : { type: 'resolved', snapshot };
    },
  };
}

const usage = (promptTokens: number) => ({ promptTokens, completionTokens: 1, totalTokens: promptTokens + 1 });

function authors({ events }: Pick<FakeRun, 'events'>): string {
  return events.map(({ author }) => author).join(' ');
}

describe('a transfer', () => {
  test('lets another agent continue with the same window', async () => {
    const run = await runFake({ snapshot: A, model: [called(to('b')), said('from b')], ports: withAgents([B]) });
    expect(authors(run)).toBe('user a a b');
    expect(run.steps.map(({ agent }) => agent)).toEqual(['a', 'b']);
    expect(run.result).toMatchObject({ status: 'completed', output: 'from b', agentName: 'a', lastAgent: 'b' });
    expect(run.modelCalls[1]).toMatchObject({ through: 3 });
  });

  test('records the notices about the tools of the agent that takes over, once', async () => {
    const notices = [{ code: 'tool_adapted' as const, message: 'tool "x" is left out' }];
    const ports: Pick<AllPorts, 'resolveHandoff'> = { resolveHandoff: async () => ({ type: 'resolved', snapshot: B, notices }) };
    const model = [called(to('b')), called(to('a')), called(to('b')), said('done')];
    const script: FakeScript = { snapshot: A, model, ports };
    const run = await runFake(script);
    expect(authors(run)).toBe('user a a b b b a a b');
    expect(run.events[3]).toMatchObject({ author: 'b', content: [], notices });
    expect(run.events.filter((event) => event.notices !== undefined)).toHaveLength(1);
    const continued = await runFake({ ...script, continueDue: ({ state }) => state.context.events.length > 0 });
    expect(continued.events.map((event) => event.notices)).toEqual(run.events.map((event) => event.notices));
  });

  test('resolves each agent once, as long as its snapshot is small', async () => {
    const resolved: string[] = [];
    const model = [called(to('b')), called(to('a')), called(to('b')), said('done')];
    const run = await runFake({ snapshot: A, model, ports: withAgents([A, B], resolved) });
    expect(resolved).toEqual(['b']);
    expect(run.result).toMatchObject({ output: 'done', lastAgent: 'b' });
  });

  test('re-resolves an agent whose snapshot was too large to keep', async () => {
    const resolved: string[] = [];
    const large = agentTo('a', ['b'], { instructions: ['x'.repeat(250_000)] });
    await runFake({ snapshot: large, model: [called(to('b')), called(to('a')), said('done')], ports: withAgents([large, B], resolved) });
    expect(resolved).toEqual(['b', 'a']);
  });

  test('gives each agent its usage', async () => {
    const model = [responded([to('b')], { usage: usage(10) }), responded([message('done')], { usage: usage(20) })];
    const { result } = await runFake({ snapshot: A, model, ports: withAgents([B]) });
    expect(result.usageByAgent).toMatchObject({ a: { promptTokens: 10, llmCalls: 1 }, b: { promptTokens: 20, llmCalls: 1 } });
    expect(result.usage).toMatchObject({ promptTokens: 30, llmCalls: 2 });
  });

  test('counts what the checks of an agent cost for that agent', async () => {
    const spent = [{ model: 'scripted/judge', calls: 1, reported: usage(5) }];
    const { result } = await runFake({
      snapshot: agentTo('a', ['b']),
      model: [called(to('b')), said('B')],
      ports: {
        resolveHandoff: () =>
          Promise.resolve({ type: 'resolved', snapshot: agentTo('b', [], { hooks: [{ name: 'style', on: 'output' }] }) }),
        askAtPoint: () => Promise.resolve({ type: 'found', found: { guardrails: { findings: [], spent } } }),
      },
    });
    expect(result.usage).toMatchObject({ promptTokens: 5, llmCalls: 3 });
    expect(result.usageByAgent).toMatchObject({ a: { promptTokens: 0, llmCalls: 1 }, b: { promptTokens: 5, llmCalls: 2 } });
  });

  test('runs after all other calls of its response', async () => {
    const resolved: string[] = [];
    const order: string[] = [];
    const run = await runFake({
      snapshot: A,
      model: [called(to('b'), call('c1', 'find'), call('c2', 'find')), said('done')],
      tools: {
        find: ({ call: { toolCallId } }) => {
          order.push(toolCallId, ...resolved);
          return { type: 'result', status: 'success', content: ['found'], durationMs: 1 };
        },
      },
      ports: withAgents([B], resolved),
    });
    expect(order).toEqual(['c1', 'c2']);
    expect(resultsOf(run, 1)).toEqual(['The conversation was transferred to agent "b", which continues it.', 'found', 'found']);
  });

  test('counts only once in a response', async () => {
    const resolved: string[] = [];
    const run = await runFake({ snapshot: A, model: [called(to('c'), to('b')), said('done')], ports: withAgents([B, C], resolved) });
    expect(resolved).toEqual(['c']);
    expect(resultsOf(run, 1)[1]).toBe('Not transferred: only the first transfer of a response counts.');
    expect(run.result.lastAgent).toBe('c');
  });

  test('that fails is a result for the agent that made it', async () => {
    const run = await runFake({ snapshot: A, model: [called(to('c')), said('from a')], ports: withAgents([]) });
    expect(resultsOf(run, 1)).toEqual(['Not transferred to agent "c": no agent "c"']);
    expect(authors(run)).toBe('user a a a');
    expect(run.result).toMatchObject({ output: 'from a' });
    expect(run.result.lastAgent).toBeUndefined();
  });

  test('back to an agent that the deps no longer fit is refused', async () => {
    const strict = agentTo('a', ['b'], { deps: { type: 'object', required: ['customer'] } });
    const run = await runFake({ snapshot: strict, model: [called(to('b')), called(to('a')), said('from b')], ports: withAgents([B]) });
    expect(resultsOf(run, 2)[0]).toMatch(/Not transferred to agent "a": the deps do not fit it/);
  });

  test('is refused once the handoffs of the first agent are used', async () => {
    const first = agentTo('a', ['b'], {}, 2);
    const model = [called(to('b')), called(to('a')), called(to('b')), said('from a')];
    const run = await runFake({ snapshot: first, model, ports: withAgents([B]) });
    expect(resultsOf(run, 3)).toEqual(['Not transferred: the run has used its 2 handoffs. Go on yourself.']);
    expect(run.result).toMatchObject({ output: 'from a', lastAgent: 'a' });
  });

  test('does not happen in a response that ends the run', async () => {
    const resolved: string[] = [];
    const output = { mode: 'final_answer', schema: {}, providerSchema: {}, strict: false, maxRetries: 0 } as const;
    const answering = agentTo('a', ['b'], { output });
    const run = await runFake({
      snapshot: answering,
      model: [responded([to('b'), call('f', 'final_answer', { output: 7 })], { output: { type: 'fits' } })],
      ports: withAgents([B], resolved),
    });
    expect(run.result).toMatchObject({ status: 'completed', output: 7 });
    expect(resolved).toEqual([]);
  });
});

describe('the limits of a run', () => {
  test('stay the limits of the agent that it began with', async () => {
    const two = agentTo('a', ['b'], { limits: { steps: 2, finalAttempt: false } });
    const run = await runFake({ snapshot: two, model: [called(to('b')), called(call('c1', 'find'))], ports: withAgents([B]) });
    expect(run.result).toMatchObject({ status: 'max_iterations_reached', stepsUsed: 2, limits: { steps: 2 } });
  });

  test('are narrowed by those that the next agent has for single tools, on its first turn', async () => {
    const bounded = agentTo('b', ['a'], {
      limits: { steps: 1, finalAttempt: false, toolCallsByName: { find: 1 } },
      tools: [testTool('find')],
    });
    const model = [called(to('b')), called(call('c1', 'find'), call('c2', 'find'))];
    const run = await runFake({ snapshot: A, model, ports: withAgents([bounded]) });
    expect(run.result).toMatchObject({ status: 'limit_reached', stopReason: 'tool_call_limit', limits: { steps: 10 } });
  });
});

describe('decisions that are remembered', () => {
  test('apply to the tool of the agent that they were made for', async () => {
    const paying = agentTo('b', ['a'], { tools: [testTool('pay', { approval: { when: 'always' } })] });
    const pay = (id: string) => called(call(id, 'pay'));
    const run = await runFake({
      snapshot: A,
      model: [pay('p1'), pay('p2'), called(to('b')), pay('p3'), called(to('a')), pay('p4'), said('done')],
      callers: [approves('p1', { remember: 'tool' }), approves('p3', { remember: 'tool' })],
      ports: withAgents([paying]),
    });
    expect(run.events.flatMap(({ decision }) => (decision === undefined ? [] : [`${decision.callId} ${decision.source}`]))).toEqual([
      'p1 update',
      'p2 remembered',
      'p3 update',
      'p4 remembered',
    ]);
  });
});

describe('a run that is handed over and continues as new', () => {
  const model: FakeScript['model'] = [
    called(call('c1', 'find'), to('b'), to('c')),
    called(call('c2', 'find')),
    called(to('a')),
    called(call('c3', 'find'), to('c')),
    said('done'),
  ];

  function bare(run: FakeRun & { result: object }): unknown {
    return {
      events: run.events.map(({ id: _, ...event }) => event),
      steps: run.steps,
      result: { ...run.result, steps: [] },
    };
  }

  test('records the same at whichever points it does', async () => {
    const plain = await runFake({ snapshot: A, model, ports: withAgents([A, B, C]) });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.boolean(), { minLength: 1, maxLength: 30 }), async (points) => {
        let asked = 0;
        const continued = await runFake({
          snapshot: A,
          model,
          ports: withAgents([A, B, C]),
          continueDue: ({ state }) => state.context.events.length > 0 && points[asked++ % points.length] === true,
        });
        expect(JSON.parse(JSON.stringify(bare(continued)))).toEqual(JSON.parse(JSON.stringify(bare(plain))));
      }),
      { numRuns: 60 },
    );
  });

  test('can do so between the other calls and the transfer', async () => {
    let due = true;
    const run = await runFake({
      snapshot: A,
      model: [called(call('c1', 'find'), to('b')), said('from b')],
      ports: withAgents([B]),
      continueDue: ({ invocations }) => {
        if (!due || invocations.length === 0) return false;
        due = false;
        return true;
      },
    });
    expect(run.positions).toMatchObject([{ type: 'run_tools', outcomes: [{ type: 'result' }, null] }]);
    expect(run.result).toMatchObject({ output: 'from b', lastAgent: 'b' });
    expect(run.invocations).toHaveLength(1);
  });

  test('continues with the active agent, and keeps the previous ones', async () => {
    const resolved: string[] = [];
    const run = await runFake({
      snapshot: A,
      model: [called(to('b')), called(to('a')), said('from a')],
      ports: withAgents([A, B], resolved),
      continueDue: ({ state }) => state.context.events.length > 1,
    });
    expect(run.positions.length).toBeGreaterThan(0);
    expect(resolved).toEqual(['b']);
    expect(run.result).toMatchObject({ agentName: 'a', lastAgent: 'a' });
  });
});
