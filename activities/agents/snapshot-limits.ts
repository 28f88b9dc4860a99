import type { AnyAgent } from '../../src/define/agent-definition.ts';
import type { ToolSnapshot } from '../../src/core/domain/agent/agent-snapshot.ts';
import { LonghaulError } from '../../src/core/domain/errors/error.ts';
import type { RunLimits } from '../../src/core/domain/agent/limits.ts';
import { narrowLimits } from '../../src/core/domain/agent/narrow-limits.ts';
import type { ModelPrice } from '../../src/core/domain/model/price.ts';
import { priceOf, type PriceTable } from '../../src/model/prices.ts';
import type { ResolveAgentInput } from '../../src/core/protocol.ts';

/** The limits that a run is started with. */
export type LimitOverrides = Pick<ResolveAgentInput, 'limits' | 'left' | 'priced'>;

/**
 * Returns the limits of a run: the agent's, overridden by those that the run was started with, and none higher than what
 * is left of those of its parent. Throws `invalid_input`
 * for a limit of a tool that is not among `tools`.
 */
export function snapshotLimits(
  { name, limits }: AnyAgent,
  { limits: overrides = {}, left }: LimitOverrides,
  tools: readonly Pick<ToolSnapshot, 'name'>[],
): RunLimits {
  for (const tool of Object.keys(overrides.toolCallsByName ?? {})) {
    if (tools.some((one) => one.name === tool)) continue;
    const known = tools.map((one) => `"${one.name}"`).join(', ') || 'none';
    throw new LonghaulError(
      'invalid_input',
      `"limits.toolCallsByName" names the tool "${tool}", which agent "${name}" does not have (it has: ${known})`,
    );
  }
  const toolCallsByName = { ...limits.toolCallsByName, ...overrides.toolCallsByName };
  const own: RunLimits = {
    ...limits,
    ...overrides,
    ...(Object.keys(toolCallsByName).length === 0 ? {} : { toolCallsByName }),
  };
  return narrowLimits(own, left);
}

/** The prices that the worker knows besides those of the list, and if those of all models must be known. */
export interface PriceTerms {
  prices?: PriceTable | undefined;
  /** The session of the agent has a limit in dollars. */
  priced?: true | undefined;
}

/**
 * Returns the known prices of the models that a run may call. Throws `invalid_agent` if the run or its session has a limit in dollars
 * and the price of a model is unknown: the limit could not be enforced.
 */
export function snapshotPrices(
  agent: AnyAgent,
  { costUsd }: RunLimits,
  { prices: overrides = {}, priced }: PriceTerms,
): Record<string, ModelPrice> | undefined {
  const prices: Record<string, ModelPrice> = {};
  for (const model of modelsOf(agent, priced === true)) {
    const price = priceOf(model, overrides);
    if (price !== undefined) prices[model] = price;
    else if (costUsd !== undefined || priced) {
      const owner = costUsd === undefined ? `of the session of agent "${agent.name}"` : `of agent "${agent.name}"`;
      throw new LonghaulError(
        'invalid_agent',
        `The limit "costUsd" ${owner} cannot be enforced: the price of model "${model}" is not known. ` +
          `Give it to the worker, in US dollars per million tokens: prices: {'${model}': {input: …, output: …}}`,
      );
    }
  }
  return Object.keys(prices).length === 0 ? undefined : prices;
}

/** Returns the models that a run may call. The model for summaries also gives a session its title. */
function modelsOf({ model, window: { summarise = true, summaryModel = model } }: AnyAgent, isSession: boolean): string[] {
  return summarise || isSession ? [...new Set([model, summaryModel])] : [model];
}
