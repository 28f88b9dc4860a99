import { DEFAULT_STEPS, type LimitChanges, type RunLimits } from '../../core/domain/agent/limits.ts';
import type { AnyAgent } from '../agent-definition.ts';

/** The limits that a run shares with the runs below it. */
const SHARED = ['toolCalls', 'inputTokens', 'outputTokens', 'totalTokens', 'costUsd'] as const;

/** The limits of agents that act one after the other: a deadline is one of them. */
const SUMMED = [...SHARED, 'deadlineMs'] as const;

/**
 * Returns the limits of a flow: each is the sum of those of its agents, for every round, if all of them have it. Limits of single tools
 * are added when their agent first acts.
 */
export function flowLimits(agents: readonly AnyAgent[], rounds: number): RunLimits {
  const sum = (of: (limits: RunLimits) => number): number => rounds * agents.reduce((total, { limits }) => total + of(limits), 0);
  const summed = SUMMED.filter((name) => agents.every(({ limits }) => limits[name] !== undefined));
  const [{ limits: { toolCallsByName } } = { limits: {} as Partial<RunLimits> }] = agents;
  return {
    steps: sum(({ steps }) => steps),
    finalAttempt: false,
    ...Object.fromEntries(summed.map((name) => [name, sum((limits) => limits[name] ?? 0)])),
    ...(toolCallsByName === undefined ? {} : { toolCallsByName }),
    ...(agents.every(({ limits }) => limits.onLimit === 'ask') ? { onLimit: 'ask' as const } : {}),
  };
}

/**
 * Returns the limits of a flow whose agents act side by side. Each is the sum of those of its agents, if all of them have it, with a tool
 * call for the start of each; the deadline is the latest of theirs.
 */
export function parallelLimits(agents: readonly AnyAgent[]): RunLimits {
  const limits: RunLimits = { steps: DEFAULT_STEPS, finalAttempt: false };
  for (const name of SHARED) {
    const amounts = agents.flatMap((agent) => agent.limits[name] ?? []);
    if (amounts.length < agents.length) continue;
    limits[name] = amounts.reduce((sum, amount) => sum + amount, name === 'toolCalls' ? agents.length : 0);
  }
  const deadlines = agents.flatMap((agent) => agent.limits.deadlineMs ?? []);
  return deadlines.length < agents.length ? limits : { ...limits, deadlineMs: Math.max(...deadlines) };
}

/** Returns the limits of an agent that its run shares with the run that starts it; undefined if it has none. */
export function sharedLimits({ limits }: AnyAgent): LimitChanges | undefined {
  const shared = SHARED.flatMap((name) => (limits[name] === undefined ? [] : [[name, limits[name]] as const]));
  return shared.length === 0 ? undefined : Object.fromEntries(shared);
}
