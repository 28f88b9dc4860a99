// Programs: the usage of a step.

import { addRunUsage, type AggregatedUsage, noUsage } from '../../domain/model/usage.ts';
import type { ProgramRun } from './program-run.ts';
import type { RunningStep } from './record.ts';

/** Does work that counts usage of the run at once, and adds the same to the usage of the step. */
export function chargeStep<Result>(run: ProgramRun, { state }: RunningStep, work: () => Result): Result {
  const before = run.state.usage;
  const result = work();
  const spent = difference(run.state.usage, before);
  if (spent.llmCalls > 0 || spent.totalTokens > 0 || spent.estimated !== undefined)
    state.usage = addRunUsage(state.usage ?? noUsage(), spent);
  return result;
}

/** Returns the usage that was added between two moments. */
function difference(after: AggregatedUsage, before: AggregatedUsage): AggregatedUsage {
  const { estimated, ...reported } = after;
  const { estimated: estimatedBefore, ...reportedBefore } = before;
  const ofEstimated = estimated === undefined ? undefined : fieldsSince(estimated, estimatedBefore ?? {});
  return {
    ...fieldsSince(reported, reportedBefore),
    ...(ofEstimated === undefined || ofEstimated.totalTokens === 0 ? {} : { estimated: ofEstimated }),
  };
}

function fieldsSince<Counts extends object>(after: Counts, before: Partial<Counts>): Counts {
  const earlier = new Map(Object.entries(before) as [string, number][]);
  const fields = (Object.entries(after) as [string, number][]).map(([name, amount]) => [name, exact(amount - (earlier.get(name) ?? 0))]);
  return Object.fromEntries(fields) as Counts;
}

/** Rounds what the subtraction of dollars leaves behind the twelfth digit. */
function exact(amount: number): number {
  return Number(amount.toFixed(12));
}
