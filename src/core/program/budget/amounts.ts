// Programs: amounts of limits, by name.

import { limitNumbers, nameOfTool, toolOfName } from '../../domain/agent/limit-numbers.ts';
import type { LimitChanges } from '../../domain/agent/limits.ts';
import { used } from '../../loop/limits/limits.ts';
import type { RunState } from '../../loop/state/run-state.ts';

/** Amounts by the name of their limit; those of single tools by `toolCallsByName.<tool>`. The deadline is no amount: children share it. */
export type Amounts = ReadonlyMap<string, number>;

const NAMES = ['steps', 'toolCalls', 'inputTokens', 'outputTokens', 'totalTokens', 'costUsd'] as const;

/** Returns limits as amounts. */
export function amountsOf(limits: LimitChanges): Amounts {
  const amounts = limitNumbers(limits);
  amounts.delete('deadlineMs');
  return amounts;
}

/** Returns amounts as limits. */
export function limitsOf(amounts: Amounts): LimitChanges {
  const limits: LimitChanges = {};
  const byTool: [tool: string, limit: number][] = [];
  for (const name of NAMES) {
    const amount = amounts.get(name);
    if (amount !== undefined) limits[name] = amount;
  }
  for (const [name, amount] of amounts) {
    const tool = toolOfName(name);
    if (tool !== undefined) byTool.push([tool, amount]);
  }
  return byTool.length === 0 ? limits : { ...limits, toolCallsByName: Object.fromEntries(byTool) };
}

/** Returns the sum of amounts. */
export function sumOf(all: Iterable<Amounts>): Amounts {
  const sum = new Map<string, number>();
  for (const amounts of all) for (const [name, amount] of amounts) sum.set(name, (sum.get(name) ?? 0) + amount);
  return sum;
}

/** Returns the amounts that a run has used of its limits. */
export function usedOf(state: RunState): Amounts {
  const amounts = new Map(Object.entries(used(state)));
  for (const [tool, calls] of state.toolCallsStarted) amounts.set(nameOfTool(tool), calls);
  return amounts;
}

/** The name under which calls count that are not those of a single tool. No tool has it. */
const OTHER_CALLS = '';

/** Returns the state of a run as if it had used more. */
export function withMore(state: RunState, more: Amounts): RunState {
  if (more.size === 0) return state;
  const { context, usage } = state;
  const of = (name: string): number => more.get(name) ?? 0;
  const { promptTokens = 0, completionTokens = 0, totalTokens = 0, costUsd = 0 } = usage.estimated ?? {};
  const started = new Map(state.toolCallsStarted);
  let others = of('toolCalls');
  for (const [name, calls] of more) {
    const tool = toolOfName(name);
    if (tool === undefined) continue;
    started.set(tool, (started.get(tool) ?? 0) + calls);
    others -= calls;
  }
  if (others > 0) started.set(OTHER_CALLS, others);
  return {
    ...state,
    context: { ...context, currentStep: context.currentStep + of('steps') },
    usage: {
      ...usage,
      estimated: {
        promptTokens: promptTokens + of('inputTokens'),
        completionTokens: completionTokens + of('outputTokens'),
        totalTokens: totalTokens + of('totalTokens'),
        costUsd: costUsd + of('costUsd'),
      },
    },
    toolCallsStarted: started,
  };
}
