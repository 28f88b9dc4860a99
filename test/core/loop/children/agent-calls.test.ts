import fc from 'fast-check';
import { agentsOfCalls } from '../../../../src/core/capabilities/children/children.ts';
import { describe, expect, it } from 'vitest';
import type { AgentSnapshot, ToolSnapshot } from '../../../../src/core/domain/agent.ts';
import type { RunResultFields } from '../../../../src/core/domain/result.ts';
import { approves, sends } from '../fakes/callers.ts';
import { FakeChildren } from '../fakes/fake-children.ts';
import { call, called, type FakeRun, type FakeScript, resultsOf, runFake, said } from '../fakes/fake-ports.ts';
import { testSnapshot, testTool } from '../fakes/snapshot.ts';
import { agentTo, to } from '../handoffs/agents.ts';

const asking = (changes: Partial<ToolSnapshot> = {}): ToolSnapshot =>
  testTool('ask', { agent: { name: 'below', share: ['user'], request: true, leaf: true }, ...changes });

const ask = (id: string): ReturnType<typeof call> => call(id, 'ask', { request: `do ${id}` });

function withAgents(changes: Partial<AgentSnapshot> = {}, tool: Partial<ToolSnapshot> = {}): AgentSnapshot {
  return testSnapshot({ tools: [asking(tool)], ...changes });
}

/** Runs a response that calls agents, and then an answer. */
function runAgents(
  children: FakeChildren,
  { calls = 1, ...script }: Partial<FakeScript> & { calls?: number },
): Promise<Awaited<ReturnType<typeof runFake>>> {
  const response = called(...Array.from({ length: calls }, (_, index) => ask(`c${index}`)));
  return runFake({ snapshot: withAgents(), model: [response, said('done')], children: (run) => children.ports(run), ...script });
}

describe('a call of an agent', () => {
  it('starts a run with its request and the shared deps, below the run', async () => {
    const children = new FakeChildren();
    const run = await runAgents(children, {
      callers: [children.ends(0)],
      model: [
        (fake: FakeRun) => {
          fake.state.deps = { user: 'ann', cart: [] };
          return called(ask('c0'));
        },
        said('done'),
      ],
    });
    const [[runId, start] = []] = children.started;
    expect(start?.input).toMatchObject({ agent: 'below', input: 'do c0', deps: { user: 'ann' }, parent: { runId: 'run-1', depth: 1 } });
    expect(run.steps[0]?.toolCalls).toMatchObject([{ result: 'answer 0', isError: false, childRunId: runId }]);
    expect(run.result).toMatchObject({ output: 'done', descendants: { runs: 1 } });
  });

  it('is left to the next execution while its agent runs, which starts nothing again', async () => {
    const children = new FakeChildren();
    let asked = 0;
    const run = await runAgents(children, {
      calls: 3,
      continueDue: () => (asked += 1) === 2,
      callers: [children.ends(1), children.ends(0), children.ends(2)],
    });
    expect(run.positions).toHaveLength(1);
    expect(children.started.size).toBe(3);
    expect(run.steps[0]?.toolCalls.map(({ result }) => result)).toEqual(['answer 0', 'answer 1', 'answer 2']);
    expect(run.state.slices['children']).toBeUndefined();
  });

  it('is left to the next execution while other agents give large answers, which are recorded by then', async () => {
    const children = new FakeChildren();
    const large = (place: number): ReturnType<FakeChildren['ends']> => children.ends(place, { output: String(place).repeat(40_000) });
    const run = await runAgents(children, {
      calls: 5,
      continueDue: ({ state }) => state.firstOffset === 0 && agentsOfCalls(state).length === 1,
      callers: [large(0), large(1), large(2), large(3), large(4)],
    });
    expect(run.positions).toHaveLength(1);
    expect(resultsOf(run, 1).map((text) => text.length)).toEqual([40_000, 40_000, 40_000, 40_000, 40_000]);
    expect(run.events.filter(({ partial }) => partial).length).toBeGreaterThan(0);
  });

  it('counts once against the limit of tool calls, also if it is left to the next execution', async () => {
    for (const switches of [0, 1]) {
      const children = new FakeChildren();
      let asked = 0;
      const run = await runAgents(children, {
        snapshot: withAgents({ limits: { steps: 10, finalAttempt: false, toolCalls: 1 } }),
        model: [called(ask('c0')), called(ask('c1'))],
        continueDue: () => (asked += 1) === 2 && switches === 1,
        callers: [children.ends(0)],
      });
      expect(run.positions).toHaveLength(switches);
      expect(run.steps[0]?.toolCalls).toMatchObject([{ result: 'answer 0' }]);
      expect(run.result).toMatchObject({ status: 'limit_reached', stopReason: 'tool_call_limit', descendants: { runs: 1 } });
    }
  });

  it('waits for its approval, and is no longer asked about in the next execution', async () => {
    const children = new FakeChildren();
    const run = await runAgents(children, {
      snapshot: withAgents({}, { approval: { when: 'always' } }),
      continueDue: ({ state }) => agentsOfCalls(state).length > 0 && children.started.size === 1 && state.firstOffset === 0,
      callers: [approves('c0', { arguments: { request: 'else' } }), children.ends(0)],
    });
    expect(run.positions).toHaveLength(1);
    expect([...children.started.values()][0]?.input).toMatchObject({ input: 'else' });
    expect(run.events.filter(({ decision }) => decision !== undefined)).toHaveLength(1);
  });

  it('is cancelled with the run, also in a later execution', async () => {
    for (const switches of [0, 1]) {
      const children = new FakeChildren();
      let asked = 0;
      const run = await runAgents(children, {
        calls: 2,
        continueDue: () => (asked += 1) === 2 && switches === 1,
        callers: [(fake) => fake.cancel()],
      });
      expect(run.positions).toHaveLength(switches);
      expect(run.result).toMatchObject({ status: 'cancelled', descendants: { runs: 2 } });
      expect(children.cancelled).toHaveLength(2);
    }
  });

  it('is waited for if a message steers, and cancelled if one interrupts: the model reads the partial answer', async () => {
    const children = new FakeChildren();
    const run = await runAgents(children, { calls: 2, callers: [sends('m1', 'steer'), children.ends(0), sends('m2', 'interrupt')] });
    expect(children.cancelled).toHaveLength(1);
    expect(resultsOf(run, 1)[0]).toBe('answer 0');
    expect(resultsOf(run, 1)[1]).toBe("Agent 'below' ended with cancelled\nPartial answer: half");
    expect(run.result.output).toBe('done');
  });
});

describe('an agent whose result is that of the run', () => {
  const final = { agent: { name: 'below', share: [], request: true as const, final: true as const } };
  const ended = async (changes: Partial<RunResultFields>, snapshot: Partial<AgentSnapshot> = {}): ReturnType<typeof runFake> => {
    const children = new FakeChildren();
    const last = said('{"n":1}', { output: { type: 'parsed', value: { n: 1 } } });
    return runAgents(children, {
      snapshot: withAgents(snapshot, final),
      model: [called(ask('c0')), last],
      callers: [children.ends(0, changes)],
    });
  };

  it.each<[string, Partial<RunResultFields>, object?]>([
    ['its answer', { status: 'completed', stopReason: 'final_answer', output: 'yes' }],
    ['its limit, and what it has by then', { status: 'max_iterations_reached', stopReason: 'step_limit', output: 'half' }],
    ['its failure', { status: 'error', stopReason: 'error', output: '', error: 'no', errorCode: 'model_bad_request' }],
    ['its failure, which has no code', { status: 'error', stopReason: 'error', output: '', error: 'no' }, { errorCode: 'internal' }],
  ])('ends it with %s', async (_, result, more = {}) => {
    const run = await ended(result);
    expect(run.result).toMatchObject({ ...result, ...more });
    expect(run.modelCalls).toHaveLength(1);
  });

  it('ends it without the transfer of the same response, also if a message goes on with it', async () => {
    const children = new FakeChildren();
    const tools = [testTool('ask', final)];
    const run = await runAgents(children, {
      snapshot: agentTo('above', ['other'], { tools }),
      model: [called(to('other'), ask('c0')), said('and that')],
      callers: [(one) => sends('and this?')(one), children.ends(0)],
      ports: { resolveHandoff: async () => ({ type: 'resolved', snapshot: agentTo('other', []) }) },
    });
    expect(resultsOf(run, 1)).toEqual(['Not transferred: the run ends with this response.', 'answer 0']);
    expect(run.events.at(-1)).toMatchObject({ author: 'above' });
    expect(run.result).toMatchObject({ output: 'and that', agentName: 'above' });
    expect(run.result.lastAgent).toBeUndefined();
  });

  it('does not end it if it was cancelled alone', async () => {
    const run = await ended({ status: 'cancelled', stopReason: 'cancelled', output: '' });
    expect(run.modelCalls).toHaveLength(2);
    expect(run.result.status).toBe('completed');
  });

  it('does not end it if the answer lacks the form of its answers: the model reads why', async () => {
    const schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };
    const output = { mode: 'schema' as const, schema, providerSchema: schema, strict: true, maxRetries: 0 };
    expect((await ended({ output: { n: 2 } }, { output })).result).toMatchObject({ status: 'completed', output: { n: 2 } });
    const run = await ended({ output: { m: 2 } }, { output });
    expect(resultsOf(run, 1)[0]).toMatch(/^Agent 'below' gave an answer that does not fit the output schema of this agent: /);
    expect(run.result).toMatchObject({ status: 'completed', output: { n: 1 } });
  });
});

describe('the limits of the tree', () => {
  it('let further agents wait until one ends', async () => {
    const children = new FakeChildren();
    const callers = [0, 1, 2, 3].map((place) => children.ends(place));
    const run = await runAgents(children, { calls: 4, snapshot: withAgents({ children: { alive: 2 } }), callers });
    expect(children.mostAlive).toBe(2);
    expect(resultsOf(run, 1)).toEqual(['answer 0', 'answer 1', 'answer 2', 'answer 3']);
  });

  it('refuse an agent with a result that names the limit', async () => {
    const deep = new FakeChildren();
    const run = await runAgents(deep, { snapshot: withAgents({ children: { depth: 0 } }) });
    expect(resultsOf(run, 1)[0]).toContain('the limit depth');
    const many = new FakeChildren();
    const tree = await runAgents(many, {
      calls: 3,
      snapshot: withAgents({ children: { perTree: 3 } }),
      callers: [many.ends(0), many.ends(1)],
    });
    expect(resultsOf(tree, 1).map((text) => text.includes('the limit perTree'))).toEqual([false, false, true]);
  });

  it('give each agent an equal share of the tokens, and reclaim the rest', async () => {
    const children = new FakeChildren();
    const limits = { steps: 10, finalAttempt: false, totalTokens: 900 };
    await runAgents(children, { calls: 2, snapshot: withAgents({ limits }), callers: [children.ends(0), children.ends(1)] });
    // The response has used 72 by an estimate.
    const given = [...children.started.values()].map(({ input }) => input.parent?.left?.totalTokens);
    expect(given).toEqual([276, 276]);
  });

  it('leave agents the tool calls that the response itself does not make', async () => {
    const children = new FakeChildren();
    const agent = { name: 'below', share: [], limits: { toolCalls: 9 } };
    const limits = { steps: 10, finalAttempt: false, toolCalls: 4 };
    await runAgents(children, { calls: 2, snapshot: withAgents({ limits }, { agent }), callers: [children.ends(0), children.ends(1)] });
    const given = [...children.started.values()].map(({ input }) => input.parent?.left?.toolCalls);
    expect(given).toEqual([2, 0]);
  });
});

it('agents have one result each, however they end and wherever the run continues as new (property)', async () => {
  const plans = fc.record({
    ends: fc.integer({ min: 1, max: 5 }).chain((calls) => fc.shuffledSubarray([...Array(calls).keys()], { minLength: calls })),
    continues: fc.array(fc.boolean(), { maxLength: 12 }),
    alive: fc.integer({ min: 1, max: 4 }),
    parallel: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(plans, async ({ ends, continues, alive, parallel }) => {
      const children = new FakeChildren();
      const left = [...continues];
      const run = await runAgents(children, {
        calls: ends.length,
        snapshot: withAgents({ children: { alive }, parallel }),
        continueDue: () => left.shift() ?? false,
        callers: ends.map(() => children.endsNext(ends)),
      });
      expect(run.result).toMatchObject({ status: 'completed', output: 'done', descendants: { runs: ends.length } });
      expect(run.steps[0]?.toolCalls.map(({ result }) => result)).toEqual(ends.map((_, index) => `answer ${index}`));
      expect(children.started.size).toBe(ends.length);
      expect(children.mostAlive).toBeLessThanOrEqual(Math.min(alive, parallel ? alive : 1));
      expect(run.state.slices['children']).toBeUndefined();
    }),
    { numRuns: 300 },
  );
});
