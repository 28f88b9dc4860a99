import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AgentSnapshot, FlowPolicy } from '../../../../src/core/domain/agent.ts';
import { branchInput } from '../../../../src/core/capabilities/flows.ts';
import type { ContentPart } from '../../../../src/core/domain/content.ts';
import { pauses, resumes, sends, together } from '../fakes/callers.ts';
import { call, called, type FakeRun, type FakeScript, runFake, said } from '../fakes/fake-ports.ts';
import { testTool } from '../fakes/snapshot.ts';
import { agentTo } from '../handoffs/agents.ts';

const B = agentTo('b', [], { tools: [testTool('find')] });
const C = agentTo('c', []);

function flowOf(flow: Partial<FlowPolicy>, more: Partial<AgentSnapshot> = {}): AgentSnapshot {
  const policy: FlowPolicy = { name: 'flow', kind: 'sequential', agents: ['a', 'b', 'c'], maxIterations: 1, ...flow };
  return agentTo('a', [], { flow: policy, limits: { steps: 30, finalAttempt: false }, ...more });
}

function run(snapshot: AgentSnapshot, model: FakeScript['model'], more: Partial<FakeScript> = {}): ReturnType<typeof runFake> {
  return runFake({
    snapshot,
    model,
    ports: {
      resolveHandoff: (name) => {
        const found = [snapshot, B, C].find((one) => one.name === name);
        return Promise.resolve(
          found === undefined ? { type: 'failed', code: 'unknown_agent', message: `no ${name}` } : { type: 'resolved', snapshot: found },
        );
      },
    },
    ...more,
  });
}

const authors = ({ events }: Pick<FakeRun, 'events'>): string => events.map(({ author }) => author).join(' ');

describe('a flow', () => {
  test('lets each agent answer once, and ends with the answer of the last', async () => {
    const played = await run(flowOf({}), [said('1'), called(call('c1', 'find')), said('2'), said('3')]);
    expect(authors(played)).toBe('user a b b b c');
    expect(played.steps.map(({ agent }) => agent)).toEqual(['a', 'b', 'b', 'c']);
    expect(played.result).toMatchObject({ status: 'completed', output: '3', agentName: 'flow', lastAgent: 'c' });
    expect(Object.keys(played.result.usageByAgent ?? {})).toEqual(['a', 'b', 'c']);
    expect(played.state.context.finalResult).toBe('3');
  });

  test('has the next agent check a message that came before its turn', async () => {
    const checked: unknown[] = [];
    const guarded = agentTo('b', [], { hooks: [{ name: 'cards', on: 'input' }] });
    const model: FakeScript['model'] = [
      (one) => {
        pauses(one);
        return said('1');
      },
      said('2'),
    ];
    await run(flowOf({ agents: ['a', 'b'] }), model, {
      ports: {
        resolveHandoff: async () => ({ type: 'resolved', snapshot: guarded }),
        askAtPoint: ({ from, through, names }) => {
          checked.push([from, through, names]);
          return Promise.resolve({ type: 'found', found: {} });
        },
      },
      callers: [together(sends('4111'), resumes)],
    });
    expect(checked).toEqual([[2, 3, ['cards']]]);
  });

  test("records the notices about an agent's tools before its first answer", async () => {
    const notices = [{ code: 'tool_adapted' as const, message: 'tool "x" is left out' }];
    const played = await run(flowOf({ agents: ['a', 'b'] }), [said('1'), said('2')], {
      ports: { resolveHandoff: async () => ({ type: 'resolved', snapshot: B, notices }) },
    });
    expect(authors(played)).toBe('user a b b');
    expect(played.events.map((event) => event.notices)).toEqual([undefined, undefined, notices, undefined]);
  });

  test('repeats its agents in a loop, and resolves each of them once', async () => {
    const resolved: string[] = [];
    const played = await run(
      flowOf({ kind: 'loop', agents: ['a', 'b'], maxIterations: 3 }),
      ['1', '2', '3', '4', '5', '6'].map((text) => said(text)),
      {
        ports: {
          resolveHandoff: (name) => {
            resolved.push(name);
            return Promise.resolve({ type: 'resolved', snapshot: B });
          },
        },
      },
    );
    expect(authors(played)).toBe('user a b a b a b');
    expect(resolved).toEqual(['b']);
    expect(played.result.output).toBe('6');
  });

  test('that is a loop ends with an answer that fits, of any agent', async () => {
    const until = { type: 'string', pattern: 'done' };
    const played = await run(flowOf({ kind: 'loop', agents: ['a', 'b'], maxIterations: 9, until }), [said('1'), said('2'), said('done')]);
    expect(played.result).toMatchObject({ status: 'completed', output: 'done', lastAgent: 'a', stepsUsed: 3 });
  });

  test('ends with an error if an agent cannot take its turn, and keeps its steps', async () => {
    const played = await run(flowOf({ agents: ['a', 'x'] }), [said('1')]);
    expect(played.result).toMatchObject({ status: 'error', errorCode: 'unknown_agent', output: '1', stepsUsed: 1 });
    expect(played.result.error).toBe('Flow "flow" cannot continue with agent "x": no x');
  });

  test('ends with the error of an agent that fails: no further one acts', async () => {
    const failed = { type: 'failed', code: 'model_error', message: 'down' } as const;
    const played = await run(flowOf({}), [said('1'), failed]);
    expect(played.result).toMatchObject({ status: 'error', error: 'down', lastAgent: 'b' });
  });

  test('takes no turn once the run is cancelled', async () => {
    const played = await run(flowOf({}), [
      (current) => {
        current.cancel();
        return said('1');
      },
    ]);
    expect(played.result).toMatchObject({ status: 'cancelled', lastAgent: 'a' });
  });

  test('does not pay for a turn beyond a limit', async () => {
    const snapshot = flowOf({}, { limits: { steps: 1, finalAttempt: false } });
    const resolved: string[] = [];
    const played = await run(snapshot, [said('1')], {
      ports: {
        resolveHandoff: (name) => {
          resolved.push(name);
          return Promise.resolve({ type: 'resolved', snapshot: B });
        },
      },
    });
    expect(played.result).toMatchObject({ status: 'max_iterations_reached', output: '1' });
    expect(resolved).toEqual([]);
  });

  test('records the same at whichever points it continues as new', async () => {
    const snapshot = flowOf({ kind: 'loop', maxIterations: 2 });
    const model = [said('1'), called(call('c1', 'find')), said('2'), said('3'), said('4'), said('5'), said('6')];
    const bare = ({ events, steps, result }: Awaited<ReturnType<typeof run>>): unknown =>
      JSON.parse(JSON.stringify({ events: events.map(({ id: _, ...event }) => event), steps, result: { ...result, steps: [] } }));
    const plain = await run(snapshot, model);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.boolean(), { minLength: 1, maxLength: 20 }), async (points) => {
        let asked = 0;
        const continued = await run(snapshot, model, {
          continueDue: ({ state }) => state.context.events.length > 0 && points[asked++ % points.length] === true,
        });
        expect(bare(continued)).toEqual(bare(plain));
      }),
      { numRuns: 40 },
    );
  });
});

describe('the input of the agents of a parallel flow', () => {
  const inputOf = (...contents: (string | ContentPart[])[]): unknown => {
    const events = contents.map((content, offset) => ({
      offset,
      id: `e${offset}`,
      author: 'user',
      content: [{ type: 'message' as const, role: 'user' as const, content }],
    }));
    return branchInput({ window: { events, through: events.length, lastEventId: '', bytes: 0 } });
  };
  const image: ContentPart = { type: 'image', url: 'https://example.com/plan.png' };

  test('has the messages that arrived before the run knew its flow', () => {
    expect(inputOf('Compare.', 'Briefly.')).toBe('Compare.\n\nBriefly.');
  });

  test('keeps the images of these messages and of the input', () => {
    const asked: ContentPart[] = [{ type: 'text', text: 'Compare.' }, image];
    expect(inputOf(asked, 'Briefly.')).toEqual([...asked, { type: 'text', text: 'Briefly.' }]);
    expect(inputOf('Compare.', [image])).toEqual([{ type: 'text', text: 'Compare.' }, image]);
  });
});
