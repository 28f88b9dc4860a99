import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ChildLimits } from '../../../../src/core/domain/agent.ts';
import type { LimitChanges } from '../../../../src/core/domain/limits.ts';
import { agent, ask, defineProgram, forEach, parallel, tool, unit } from '../../../../src/define/program/index.ts';
import { type ChildUse, type FakeProgram, type FakeProgramRun, runFakeProgram } from './fake-program.ts';
import { testTool } from '../../loop/fakes/snapshot.ts';
import { propertyRuns } from '../../../property-runs.ts';

const each = (atOnce: number, more: Parameters<typeof agent>[3] = {}): FakeProgram['document'] =>
  defineProgram({
    name: 'each',
    input: { type: 'object' },
    units: [unit('all', {}, [forEach('Each', '{{input.items}}', { as: 'item', atOnce }, [agent('One', 'a', '{{item}}', more)])])],
  }).document;

const items = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
const agents = (limits: LimitChanges): ChildLimits => ({ agents: { a: limits }, programs: {} });

/** A child that uses three steps of those it was given. */
const three = (_: string, { steps = Infinity }: LimitChanges): ChildUse => ({
  steps: Math.min(3, steps),
  toolCalls: 0,
  tokens: 0,
  end: steps < 3 ? 'error' : 'completed',
});

const run = (more: Partial<FakeProgram>): Promise<FakeProgramRun> =>
  runFakeProgram({ document: each(100), input: { items: items(100) }, answer: () => 'text', ...more });

describe('model calls in parallel', () => {
  const asking = (atOnce: number, limits: LimitChanges): Promise<FakeProgramRun> => {
    const steps = [forEach('Each', '{{input.items}}', { as: 'item', atOnce }, [ask('One', '{{item}}')])];
    const { document } = defineProgram({ name: 'asking', input: { type: 'object' }, model: 'scripted/m', units: [unit('all', {}, steps)] });
    return run({ document, input: { items: items(12) }, limits });
  };

  it.each([1, 2, 4])('exceed a limit of tokens or cost by at most the calls in flight: %i at once', async (atOnce) => {
    const { result } = await asking(atOnce, { totalTokens: 1 });
    expect(result).toMatchObject({ status: 'limit_reached', stopReason: 'token_budget', stepsUsed: atOnce });
  });

  it('never exceed a limit of steps', async () => {
    expect((await asking(4, { steps: 3 })).result).toMatchObject({ status: 'max_iterations_reached', stepsUsed: 3 });
  });
});

describe('children that run in parallel', () => {
  it('each reserve the steps of their agent, and wait for another to end once no more are left', async () => {
    const limits = { steps: 500 };
    const { result, atOnce, given, used } = await run({ limits, childLimits: agents({ steps: 10 }), childUse: three });
    expect(result).toMatchObject({ status: 'completed', stepsUsed: 300 });
    expect(used.steps).toBe(300);
    expect(atOnce).toBe(50);
    expect(given.every(({ steps }) => steps === 10)).toBe(true);
  });

  it('get equal parts of an amount that their agent does not limit', async () => {
    const { result, atOnce, given } = await run({ limits: { totalTokens: 1_000_000 } });
    expect(result.status).toBe('completed');
    expect(atOnce).toBe(100);
    expect(given.every(({ totalTokens }) => totalTokens === 10_000)).toBe(true);
  });

  it('get the limits of their step before the limits of their agent', async () => {
    const { atOnce } = await run({
      document: each(100, { limits: { steps: 100 } }),
      limits: { steps: 500 },
      childLimits: agents({ steps: 10 }),
      childUse: three,
    });
    expect(atOnce).toBe(5);
  });

  it('get the rest if nothing else reserves any of it', async () => {
    const { result, given } = await run({
      input: { items: [1] },
      limits: { steps: 5, toolCalls: 0 },
      childLimits: agents({ steps: 10, toolCalls: 4 }),
      childUse: three,
    });
    expect(given).toEqual([{ steps: 5, toolCalls: 0 }]);
    expect(result.status).toBe('completed');
  });

  it('do not wait for calls of a limited tool that they do not have', async () => {
    const { atOnce, given } = await run({
      limits: { toolCallsByName: { refund: 2 } },
      childLimits: agents({ steps: 10, toolCallsByName: { refund: 0 } }),
    });
    expect(atOnce).toBe(100);
    expect(given[0]).toEqual({ toolCallsByName: { refund: 0 } });
  });

  it('count the calls of their own agents by name against a limit of the program', async () => {
    const { result, given } = await run({
      document: each(1),
      input: { items: items(5) },
      limits: { toolCallsByName: { refund: 5 } },
      childUse: (_, { toolCallsByName: left = {} }) => {
        const callsBelow = { refund: Math.min(2, left['refund'] ?? 2), look: 3 };
        return { steps: 1, toolCalls: 0, tokens: 0, callsBelow, end: 'completed' };
      },
    });
    expect(given.map(({ toolCallsByName }) => toolCallsByName?.['refund'])).toEqual([5, 3, 1, 0, 0]);
    expect(result.toolCallsByName).toMatchObject({ refund: 5, '(descendants)': 15 });
  });

  it('do not share a default limit of steps', async () => {
    expect((await run({})).given[0]).toEqual({});
  });

  it('do not start once their sum has reached the limit', async () => {
    const { result, children } = await run({
      document: each(1),
      limits: { steps: 7 },
      childLimits: agents({ steps: 3 }),
      childUse: (_, { steps = 0 }) => ({ steps: steps, toolCalls: 0, tokens: 0, end: 'completed' }),
    });
    expect(result).toMatchObject({ status: 'max_iterations_reached', stopReason: 'step_limit', stepsUsed: 7 });
    expect(children).toHaveLength(3);
  });

  it('leave parallel steps their share, and model calls wait for what a child returns', async () => {
    const { document } = defineProgram({
      name: 'waiting',
      model: 'p/m',
      units: [unit('all', {}, [parallel('Both', [[agent('One', 'a', 'Go')], items(6).map((index) => ask(`Ask${index}`, 'Why?'))])])],
    });
    const { result, given } = await runFakeProgram({
      document,
      answer: () => 'text',
      limits: { steps: 9 },
      childUse: () => ({ steps: 2, toolCalls: 0, tokens: 0, end: 'completed' }),
      childTurns: () => 400,
    });
    expect(given).toEqual([{ steps: 4 }]);
    expect(result).toMatchObject({ status: 'completed', stepsUsed: 8 });
  });

  it('wait for a model call that runs at the same time, and then get the rest of the limit', async () => {
    const { document } = defineProgram({
      name: 'waiting',
      model: 'p/m',
      units: [unit('all', {}, [parallel('Both', [[ask('Ask', 'Why?')], [agent('One', 'a', 'Go')]])])],
    });
    const program: FakeProgram = { document, answer: () => 'text', limits: { steps: 5 }, childLimits: agents({ steps: 10 }) };
    const { result, given } = await runFakeProgram({ ...program, childUse: three });
    expect(given).toEqual([{ steps: 4 }]);
    expect(result).toMatchObject({ status: 'completed', stepsUsed: 4 });
  });

  it('count as having used all that they were given if their use is not known', async () => {
    const { result, children } = await run({
      document: each(1, { refine: { maxAttempts: 5 } }),
      limits: { steps: 10 },
      childLimits: agents({ steps: 5 }),
      childUse: () => ({ steps: 1, toolCalls: 0, tokens: 0, end: 'lost' }),
      continueDue: () => true,
    });
    expect(result).toMatchObject({ status: 'max_iterations_reached', stopReason: 'step_limit', stepsUsed: 0 });
    expect(children).toHaveLength(2);
  });
});

describe('tool calls that steps make in parallel', () => {
  const refund = testTool('refund');
  const refunds = (count: number): FakeProgram['document'] =>
    defineProgram({
      name: 'refunds',
      units: [unit('all', {}, [forEach('Each', '{{input.items}}', { atOnce: count }, [tool('Refund', 'refund')])])],
    }).document;

  it.each([
    ['all tools', { toolCalls: 2 }],
    ['one tool', { toolCallsByName: { refund: 2 } }],
  ])('are together within the limit of %s', async (_, limits) => {
    const { result, toolCalls } = await run({ document: refunds(8), input: { items: items(8) }, tools: [refund], limits });
    expect(result).toMatchObject({ status: 'limit_reached', stopReason: 'tool_call_limit', toolCallsTotal: 2 });
    expect(toolCalls).toHaveLength(2);
  });

  it.each([
    ['branches', [unit('all', {}, [parallel('All', [[tool('A', 'refund')], [tool('B', 'refund')], [tool('C', 'refund')]])])]],
    ['units', ['a', 'b', 'c'].map((name) => unit(name, { needs: [] }, [tool('Refund', 'refund')]))],
  ])('are within the limit if they are in %s', async (_, units) => {
    const { document } = defineProgram({ name: 'refunds', units });
    const { result, toolCalls } = await run({ document, tools: [refund], limits: { toolCalls: 1 } });
    expect(result).toMatchObject({ status: 'limit_reached', stopReason: 'tool_call_limit' });
    expect(toolCalls).toHaveLength(1);
  });

  it('are all made once a person has raised the limit, who is asked once', async () => {
    const limits = { toolCallsByName: { refund: 4 }, onLimit: 'ask' as const };
    const program = { document: refunds(8), input: { items: items(8) }, tools: [refund], limits, approvesAfter: 3 };
    const { result, toolCalls, requests } = await run(program);
    expect(result.status).toBe('completed');
    expect(toolCalls).toHaveLength(8);
    expect(new Set(requests).size).toBe(1);
  });

  it('are within any limit, however the run is divided into executions', async () => {
    const anyCalls = fc.record({
      limits: fc.record({ toolCalls: fc.nat(9), toolCallsByName: fc.record({ refund: fc.nat(9) }) }, { requiredKeys: [] }),
      atOnce: fc.integer({ min: 1, max: 8 }),
      dues: fc.infiniteStream(fc.boolean()),
    });
    await fc.assert(
      fc.asyncProperty(anyCalls, async ({ limits, atOnce, dues }) => {
        const { result, toolCalls } = await run({
          document: refunds(atOnce),
          input: { items: items(7) },
          tools: [refund],
          limits,
          continueDue: () => dues.next().value === true,
        });
        const most = Math.min(limits.toolCalls ?? Infinity, limits.toolCallsByName?.refund ?? Infinity);
        expect(toolCalls).toHaveLength(Math.min(7, most));
        expect(result.status).toBe(most < 7 ? 'limit_reached' : 'completed');
      }),
      { numRuns: propertyRuns(100) },
    );
  });
});

const amount = fc.integer({ min: 1, max: 60 });
const optional = fc.record({ steps: amount, toolCalls: fc.nat(40), totalTokens: fc.integer({ min: 1, max: 5_000 }) }, { requiredKeys: [] });

const anyUse = fc.record({
  part: fc.float({ min: 0, max: 1, noNaN: true }),
  turns: fc.nat(20),
  end: fc.constantFrom<ChildUse['end'][]>('completed', 'completed', 'error', 'lost'),
});

const anyRun = fc.record({
  limits: optional,
  own: optional,
  dues: fc.infiniteStream(fc.boolean()),
  uses: fc.array(anyUse, { minLength: 3, maxLength: 9 }),
  atOnce: fc.integer({ min: 1, max: 8 }),
});

describe('any program with any limits', () => {
  it('ends, and its children never use more than its limits together, however it is divided into executions', async () => {
    let waited = 0;
    await fc.assert(
      fc.asyncProperty(anyRun, async ({ limits, own, dues, uses, atOnce }) => {
        let index = 0;
        const childUse = (_: string, left: LimitChanges): ChildUse => {
          const { part, end } = uses[(index += 1) % uses.length] ?? { part: 1, end: 'completed' };
          const of = (most: number | undefined): number => Math.floor((most ?? 30) * part);
          return { steps: of(left.steps), toolCalls: of(left.toolCalls), tokens: of(left.totalTokens), end };
        };
        const {
          result,
          used,
          given,
          atOnce: ran,
        } = await run({
          document: each(atOnce, { refine: { maxAttempts: 2, onExhaustion: 'skip' } }),
          input: { items: items(20) },
          limits,
          childLimits: agents(own),
          childUse,
          childTurns: (runId) => uses[runId.length % uses.length]?.turns ?? 1,
          continueDue: () => dues.next().value === true,
        });
        const { steps = Infinity, toolCalls = Infinity, totalTokens = Infinity } = limits;
        expect(['completed', 'max_iterations_reached', 'limit_reached']).toContain(result.status);
        expect(used.steps).toBeLessThanOrEqual(steps);
        expect(used.toolCalls).toBeLessThanOrEqual(toolCalls);
        expect(used.tokens).toBeLessThanOrEqual(totalTokens);
        expect(given.every((one) => (one.steps ?? 1) >= 1 && (one.totalTokens ?? 1) >= 1)).toBe(true);
        if (ran < atOnce) waited += 1;
      }),
      { numRuns: propertyRuns(100) },
    );
    expect(waited).toBeGreaterThan(propertyRuns(20));
  });
});

describe('a program that asks at its limits', () => {
  it('ends after a rejection, also if it continues as new between the two', async () => {
    await fc.assert(
      fc.asyncProperty(fc.infiniteStream(fc.boolean()), fc.nat(30), async (dues, approvesAfter) => {
        const { result, requests, children } = await run({
          document: each(2),
          input: { items: items(9) },
          limits: { steps: 4, onLimit: 'ask' },
          childLimits: agents({ steps: 2 }),
          childUse: () => ({ steps: 2, toolCalls: 0, tokens: 0, end: 'completed' }),
          continueDue: () => dues.next().value === true,
          approvesAfter,
          rejects: true,
        });
        expect(result).toMatchObject({ status: 'max_iterations_reached', stopReason: 'step_limit', stepsUsed: 4 });
        expect(children).toHaveLength(2);
        expect(new Set(requests).size).toBe(1);
      }),
      { numRuns: propertyRuns(60) },
    );
  });

  it('has the same result if it continues as new while it waits for a person, who approves each limit once', async () => {
    let executionsSeen = 0;
    await fc.assert(
      fc.asyncProperty(fc.infiniteStream(fc.boolean()), fc.nat(30), fc.integer({ min: 1, max: 20 }), async (dues, approvesAfter, steps) => {
        const { result, requests, executions } = await run({
          document: each(5),
          input: { items: items(12) },
          limits: { steps, onLimit: 'ask' },
          childLimits: agents({ steps: 3 }),
          childUse: (_, { steps: given = 0 }) => ({ steps: Math.min(2, given), toolCalls: 0, tokens: 0, end: 'completed' }),
          continueDue: () => dues.next().value === true,
          approvesAfter,
        });
        executionsSeen += executions;
        expect(result.status).toBe('completed');
        expect(result.units?.[0]?.steps[0]?.output).toHaveLength(12);
        // Each approval adds the size of the limit.
        expect(new Set(requests).size).toBeLessThanOrEqual(Math.ceil(24 / steps));
      }),
      { numRuns: propertyRuns(100) },
    );
    expect(executionsSeen).toBeGreaterThan(propertyRuns(200));
  });
});
