import type { RunLimits } from '../../core/domain/agent/limits.ts';
import type { AnyAgent } from '../agent-definition.ts';

/** The limits that are numbers. A deadline is one of them: the agents act one after the other. */
const SUMMED = ['toolCalls', 'inputTokens', 'outputTokens', 'totalTokens', 'costUsd', 'deadlineMs'] as const;

/**
 * Returns the limits of a flow: each is the sum of those of its agents, for every round, if all of them have it. Limits of single tools
 * are added when their agent first acts.
 */
export function flowLimits(agents: readonly AnyAgent[], rounds: number): RunLimits {
  const sum = (of: (limits: RunLimits) => number): number => rounds * agents.reduce((total, { limits }) => total + of(limits), 0);
  const summed = SUMMED.filter((name) => agents.every(({ limits }) => limits[name] !== undefined));
  const [{ limits: { toolCallsByName } } = { limits: {} as Partial<RunLimits> }] = agents;
  return {
    maxIterations: sum(({ maxIterations }) => maxIterations),
    finalAttempt: false,
    ...Object.fromEntries(summed.map((name) => [name, sum((limits) => limits[name] ?? 0)])),
    ...(toolCallsByName === undefined ? {} : { toolCallsByName }),
    ...(agents.every(({ limits }) => limits.onLimit === 'ask') ? { onLimit: 'ask' as const } : {}),
  };
}
