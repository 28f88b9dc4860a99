import { UsageError } from '../../core/domain/errors/error.ts';
import { type LimitOptions, plainLimits } from '../../core/domain/agent/limit-options.ts';
import { DEFAULT_STEPS, type RunLimits } from '../../core/domain/agent/limits.ts';
import { wholeNumber } from './option-checks.ts';

/** The options of an agent that concern its limits. */
export interface AgentLimitOptions {
  finalAttempt?: boolean;
  limits?: LimitOptions;
  onLimit?: 'stop' | 'ask';
}

/** The facts about an agent that its limits depend on. */
export interface LimitContext {
  /** The names of its tools. Undefined if they are not known yet. */
  tools: readonly string[] | undefined;
  /** The limit of steps if the agent sets none. Default 10. */
  steps?: number | undefined;
}

/** The limits of tokens. None of them can be 0: the run could not call its model once. */
const TOKENS = ['inputTokens', 'outputTokens', 'totalTokens'] as const;

/**
 * Returns the limits of an agent, defaults filled in. Throws a UsageError that names the agent and an invalid option: no
 * number, below the minimum, or for a tool that the agent does not have.
 */
export function agentLimits(owner: string, options: AgentLimitOptions, { tools, steps = DEFAULT_STEPS }: LimitContext): RunLimits {
  const { finalAttempt = false, limits = {}, onLimit = 'stop' } = options;
  if (onLimit !== 'stop' && onLimit !== 'ask') {
    throw new UsageError(`${owner}: "onLimit" is ${JSON.stringify(onLimit)}: write "stop" or "ask"`);
  }
  const plain = plainLimits(owner, limits);
  checkLimits(owner, limits, tools);
  return {
    steps,
    finalAttempt,
    ...plain,
    ...(onLimit === 'ask' ? { onLimit } : {}),
  };
}

function checkLimits(owner: string, limits: LimitOptions, tools: readonly string[] | undefined): void {
  const name = (limit: string): string => `${owner}: "limits.${limit}"`;
  const { toolCalls, toolCallsByName = {}, costUsd } = limits;
  if (toolCalls !== undefined) wholeNumber(name('toolCalls'), toolCalls, 0);
  for (const limit of TOKENS) {
    const tokens = limits[limit];
    if (tokens !== undefined) wholeNumber(name(limit), tokens, 1);
  }
  if (costUsd !== undefined && !(Number.isFinite(costUsd) && costUsd > 0)) {
    throw new UsageError(`${name('costUsd')} is ${String(costUsd)}: write US dollars, more than 0`);
  }
  for (const [tool, calls] of Object.entries(toolCallsByName)) {
    wholeNumber(name(`toolCallsByName.${tool}`), calls, 0);
    if (tools === undefined || tools.includes(tool)) continue;
    throw new UsageError(
      `${name('toolCallsByName')} names the tool "${tool}", which the agent does not have (it has: ${tools.join(', ') || 'none'})`,
    );
  }
}
