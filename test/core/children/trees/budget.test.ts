import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { LimitChanges } from '../../../../src/core/domain/limits.ts';
import { addRunUsage, noUsage } from '../../../../src/core/domain/usage.ts';
import { addUsageOfEvent } from '../../../../src/core/domain/record.ts';
import { callsOver, LARGEST_CALL, RandomTree, type TreePlan } from './random-tree.ts';

const anyAmounts = fc.record({
  totalTokens: fc.integer({ min: 1, max: 4_000 }),
  inputTokens: fc.integer({ min: 1, max: 3_000 }),
  outputTokens: fc.integer({ min: 1, max: 1_000 }),
  costUsd: fc.integer({ min: 1, max: 4_000 }).map((cents) => cents / 100),
  toolCalls: fc.integer({ min: 0, max: 60 }),
});

/** Up to two limits. */
const amounts = fc
  .tuple(anyAmounts, fc.subarray(['totalTokens', 'inputTokens', 'outputTokens', 'costUsd', 'toolCalls'] as const, { maxLength: 2 }))
  .map(([all, names]): LimitChanges => Object.fromEntries(names.map((name) => [name, all[name]])));

const anyTree: fc.Arbitrary<TreePlan> = fc.record({
  seed: fc.integer(),
  limits: amounts,
  tight: amounts,
  tree: fc.record({
    depth: fc.integer({ min: 1, max: 3 }),
    alive: fc.integer({ min: 1, max: 4 }),
    perTree: fc.integer({ min: 1, max: 40 }),
  }),
});

/** The sums of floating-point costs differ in the last digits. */
const ROUNDING = 1e-9;

test('no tree exceeds a limit by more than one model call of each run that is alive together with others, and its tally is the sum over its events', async () => {
  let runs = 0;
  let executions = 0;
  let refused = 0;
  await fc.assert(
    fc.asyncProperty(anyTree, async (plan) => {
      const tree = new RandomTree(plan);
      const result = await tree.run();
      const members = [...tree.members.values()];
      const spent = members.flatMap(({ events }) => events).reduce(addUsageOfEvent, noUsage());
      const tally = result.descendants === undefined ? result.usage : addRunUsage(result.usage, result.descendants.usage);
      expect({ ...tally, costUsd: 0 }).toEqual({ ...spent, costUsd: 0 });
      expect(tally.costUsd).toBeCloseTo(spent.costUsd ?? 0, 6);
      expect(result.descendants?.runs ?? 0).toBe(members.length - 1);

      const [root] = members;
      const over = root === undefined ? 0 : callsOver(root);
      const { totalTokens = Infinity, inputTokens = Infinity, outputTokens = Infinity, costUsd = Infinity } = plan.limits;
      expect(spent.totalTokens).toBeLessThan(totalTokens + over * LARGEST_CALL.totalTokens);
      expect(spent.promptTokens).toBeLessThan(inputTokens + over * LARGEST_CALL.promptTokens);
      expect(spent.completionTokens).toBeLessThan(outputTokens + over * LARGEST_CALL.completionTokens);
      expect(spent.costUsd).toBeLessThan(costUsd + over * LARGEST_CALL.costUsd + ROUNDING);
      expect(members.reduce((sum, { toolCalls }) => sum + toolCalls, members.length - 1)).toBeLessThanOrEqual(
        plan.limits.toolCalls ?? Infinity,
      );
      expect(members.length).toBeLessThanOrEqual(Math.max(1, plan.tree.perTree));
      expect(Math.max(...members.map(({ depth }) => depth))).toBeLessThanOrEqual(plan.tree.depth);
      // A limit of the root also limits each descendant, and never becomes zero where that would leave the descendant nothing to do.
      const limited = Object.keys(plan.limits) as (keyof typeof plan.limits)[];
      const least = members.flatMap(({ limits }) => limited.map((name) => ({ name, least: limits[name] })));
      expect(least.filter((one) => !(Number(one.least) > 0) && !(one.name === 'toolCalls' && one.least === 0))).toEqual([]);
      runs += members.length;
      executions += tree.executions;
      refused += members.some(({ events }) => JSON.stringify(events).includes('could not start')) ? 1 : 0;
    }),
    { numRuns: 1_000 },
  );
  // The trees were trees.
  expect(runs).toBeGreaterThan(3_000);
  expect(executions).toBeGreaterThan(runs);
  expect(refused).toBeGreaterThan(100);
}, 120_000);
