import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { requestedCalls } from '../../../src/core/domain/tool-calls.ts';
import type { Event } from '../../../src/core/domain/record.ts';
import type { RunLimits } from '../../../src/core/domain/limits.ts';
import type { UsageStats } from '../../../src/core/domain/usage.ts';
import { type ChainedRun, chainedRun } from './generated-runs/chained-run.ts';
import { plannedLimit, plannedRun, type PlannedRun } from './generated-runs/planned-run.ts';
import type { Begun } from './generated-runs/scripted-run.ts';
import { isLimitStatus } from '../../../src/core/domain/run.ts';

/** Many runs of many steps, on a machine that may be busy. */
const MANY_RUNS_MS = 120_000;

/** Runs with a limit or two, with requests of every kind, over several executions. */
const limitedRun: fc.Arbitrary<[PlannedRun, boolean[]]> = fc
  .record({
    plan: plannedRun,
    limits: fc.array(plannedLimit, { minLength: 1, maxLength: 3 }),
    steers: fc.boolean(),
    steps: fc.constantFrom(1, 20, 30, 30),
    points: fc.array(fc.boolean(), { minLength: 1, maxLength: 20 }),
  })
  .map(({ plan, limits, points, ...rest }) => [{ ...plan, ...rest, limits: Object.assign({}, ...limits) }, points]);

async function holds(property: (run: ChainedRun) => void): Promise<void> {
  await fc.assert(
    fc.asyncProperty(limitedRun, async ([plan, points]) => {
      let index = 0;
      property(await chainedRun(plan, () => points[index++ % points.length] ?? false));
    }),
    { numRuns: 200 },
  );
}

/** The cost of model calls according to the record: reported or estimated, failed attempts included. */
function spentIn(events: readonly Event[]): Record<'inputTokens' | 'outputTokens' | 'totalTokens' | 'costUsd', number> {
  const spent = { inputTokens: 0, outputTokens: 0, totalTokens: 0, costUsd: 0 };
  for (const one of events.flatMap(costsOf)) {
    spent.inputTokens += one.promptTokens;
    spent.outputTokens += one.completionTokens;
    spent.totalTokens += one.totalTokens;
    spent.costUsd += one.costUsd ?? 0;
  }
  return spent;
}

function costsOf({
  usage,
  estimated,
  failedAttempts,
}: Event): Pick<UsageStats, 'promptTokens' | 'completionTokens' | 'totalTokens' | 'costUsd'>[] {
  return [usage, estimated, failedAttempts?.reported, failedAttempts?.estimated].filter((one) => one !== undefined && one !== null);
}

/** The limits that were used up when a call was started nevertheless. */
function usedUp({ record, limits, now, what, final }: Begun, startedAt: number): string[] {
  const spent = spentIn(record);
  const budgets = Object.entries(spent).filter(([name, amount]) => amount >= (limits[name as keyof typeof spent] ?? Infinity));
  const steps = record.filter(({ content, usage, compaction, interrupted, partial }) => {
    if (content.some(({ type }) => type === 'tool_result')) return !partial;
    return usage !== undefined && !compaction && !interrupted && !content.some(({ type }) => type === 'tool_call');
  }).length;
  return [
    ...budgets.map(([name]) => name),
    ...(what === 'model' && !final && steps >= limits.steps ? ['steps'] : []),
    ...(now >= startedAt + (limits.deadlineMs ?? Infinity) ? ['deadlineMs'] : []),
  ];
}

function callsOver(limits: RunLimits, begun: readonly string[], name: string): string[] {
  const ofTool = limits.toolCallsByName?.[name] ?? Infinity;
  return [
    ...(begun.length > (limits.toolCalls ?? Infinity) ? ['toolCalls'] : []),
    ...(begun.filter((one) => one === name).length > ofTool ? [`toolCallsByName.${name}`] : []),
  ];
}

describe('no run, with any requests and failures,', { timeout: MANY_RUNS_MS }, () => {
  it('begins a model call or a summary at a limit: it exceeds a limit by one call at most', () =>
    holds(({ actors, states }) => {
      const startedAt = states[0]?.startedAt ?? 0;
      for (const one of actors.begun) {
        expect(typeof one.what === 'string' ? usedUp(one, startedAt) : []).toEqual([]);
      }
    }));

  it('starts a tool call over a limit', () =>
    holds(({ actors }) => {
      const begun: string[] = [];
      for (const { what, limits } of actors.begun) {
        if (typeof what === 'string') continue;
        begun.push(what.tool);
        expect(callsOver(limits, begun, what.tool)).toEqual([]);
      }
    }));

  it('claims to have ended at a limit that it has not reached', () =>
    holds(({ result, events, states, actors }) => {
      const state = states.at(-1);
      if (state === undefined || !isLimitStatus(result.status)) return;
      const spent = spentIn(events);
      const { limits, startedAt } = state;
      const over = Object.entries(spent).filter(([name, amount]) => amount >= (limits[name as keyof typeof spent] ?? Infinity));
      const names = over.map(([name]) => name);
      const isTrue = {
        step_limit: result.stepsUsed >= limits.steps,
        token_budget: names.some((name) => name.endsWith('Tokens')),
        cost_budget: names.includes('costUsd'),
        tool_call_limit: limits.toolCalls !== undefined || limits.toolCallsByName !== undefined,
        deadline: actors.now >= startedAt + (limits.deadlineMs ?? Infinity),
      };
      expect(isTrue).toMatchObject({ [result.stopReason]: true });
      expect(result.status === 'max_iterations_reached').toBe(result.stopReason === 'step_limit');
    }));
});

describe('the counts of every run', { timeout: MANY_RUNS_MS }, () => {
  it('are the sums over its events: of reported usage, of estimated usage, and of the calls', () =>
    holds(({ result: { usage }, events }) => {
      const { estimated } = usage;
      const sum = (pick: (event: Event) => (number | undefined)[]): number =>
        events.flatMap(pick).reduce<number>((total, one) => total + (one ?? 0), 0);
      for (const name of ['promptTokens', 'completionTokens', 'totalTokens'] as const) {
        expect(usage[name]).toBe(sum(({ usage: reported, failedAttempts }) => [reported?.[name], failedAttempts?.reported?.[name]]));
        expect(estimated?.[name] ?? 0).toBe(sum((event) => [event.estimated?.[name], event.failedAttempts?.estimated?.[name]]));
      }
      expect((usage.costUsd ?? 0) + (estimated?.costUsd ?? 0)).toBeCloseTo(spentIn(events).costUsd, 3);
      expect(usage.llmCalls).toBe(events.filter((event) => event.usage !== undefined).length);
    }));

  it('include every tool call that started once, and every record of a step', () =>
    holds(({ actors, states, steps, result }) => {
      const started = actors.begun.flatMap(({ what }) => (typeof what === 'string' ? [] : [what.tool]));
      const counted = [...(states.at(-1)?.toolCallsStarted ?? [])].flatMap(([name, calls]) => Array.from({ length: calls }, () => name));
      expect(counted.toSorted()).toEqual(started.toSorted());
      expect(requestedCalls(result)).toBe(steps.flatMap(({ toolCalls }) => toolCalls).length);
    }));
});

it('the generated runs reach every limit, and exceed it', { timeout: MANY_RUNS_MS }, async () => {
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(limitedRun, async ([plan, points]) => {
      let index = 0;
      const { result, events, states } = await chainedRun(plan, () => points[index++ % points.length] ?? false);
      if (isLimitStatus(result.status)) seen.add(result.stopReason);
      const { limits, snapshot } = states.at(-1) ?? {};
      // A raised deadline is too rare to be expected.
      for (const name of Object.keys(limits ?? {}).filter((one) => one !== 'deadlineMs') as (keyof RunLimits)[]) {
        if (JSON.stringify(limits?.[name]) !== JSON.stringify(snapshot?.limits[name])) seen.add(`raised ${name}`);
      }
      if (events.some(({ failedAttempts }) => failedAttempts)) seen.add('failed attempts');
      if (events.some(({ failed }) => failed)) seen.add('failed');
      if (events.some(({ interrupted }) => interrupted)) seen.add('interrupted');
      if (events.some(({ compaction }) => compaction?.summarized)) seen.add('summarized');
    }),
    // The seed is fixed: among other 600 runs, now and then none would reach its deadline.
    { numRuns: 600, seed: 1 },
  );
  expect([...seen].toSorted()).toEqual([
    'cost_budget',
    'deadline',
    'failed',
    'failed attempts',
    'interrupted',
    'raised costUsd',
    'raised inputTokens',
    'raised outputTokens',
    'raised steps',
    'raised toolCalls',
    'raised toolCallsByName',
    'raised totalTokens',
    'step_limit',
    'summarized',
    'token_budget',
    'tool_call_limit',
  ]);
});
