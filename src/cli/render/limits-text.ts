import { dollars } from '../../core/domain/usage.ts';
import type { LimitChanges } from '../../core/domain/limits.ts';

const WORDS = {
  steps: 'steps',
  toolCalls: 'tool calls',
  inputTokens: 'input tokens',
  outputTokens: 'output tokens',
  totalTokens: 'tokens',
} as const satisfies Partial<Record<keyof LimitChanges, string>>;

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const;

/** Returns limits as one line: `steps 20, calls of refund 2, cost $0.50, deadline 2h`. */
export function limitsText(limits: LimitChanges): string {
  const counts = Object.entries(WORDS).flatMap(([name, words]) => {
    const limit = limits[name as keyof typeof WORDS];
    return limit === undefined ? [] : [`${words} ${limit}`];
  });
  const ofTools = Object.entries(limits.toolCallsByName ?? {}).map(([name, limit]) => `calls of ${name} ${limit}`);
  return [
    ...counts,
    ...ofTools,
    ...(limits.costUsd === undefined ? [] : [`cost ${dollars(limits.costUsd)}`]),
    ...(limits.deadlineMs === undefined ? [] : [`deadline ${durationText(limits.deadlineMs)} from the start`]),
  ].join(', ');
}

/** Returns a duration in its largest whole unit: `90m`, `2h`, `1d`. */
function durationText(ms: number): string {
  const [unit, length] = UNITS.find(([, one]) => ms % one === 0) ?? ['ms', 1];
  return `${ms / length}${unit}`;
}
