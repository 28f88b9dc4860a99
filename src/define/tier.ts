import { type Tier, TIERS } from '../core/domain/batch.ts';
import { UsageError } from '../core/domain/errors.ts';
import type { AgentPart } from './agent-part.ts';

/** The agent option for the tier. */
export interface AgentTier {
  /**
   * `batch`: model calls wait for batches of the provider, at half the price; the worker needs `batch`. A start or a parent may also
   * choose it. `interactive`: even if the parent has another tier. Default: the parent's tier, or `interactive`.
   */
  tier?: Tier;
}

/** The agent field that holds its tier. */
export interface TierFields {
  /** Absent: the parent's tier, or `interactive`. */
  readonly tier?: Tier;
}

/** The tier as a part of an agent. */
export const tierPart: AgentPart<AgentTier, TierFields> = {
  options: {
    tier: ["`'interactive'`, `'batch'`", "`'interactive'`", '`batch`: model calls wait for [batches](batches.md), at half the price'],
  },
  define: (owner, { tier }) => (tier === undefined ? {} : { tier: checkedTier(`${owner}: "tier"`, tier) }),
};

/** Returns the tier if it is valid; otherwise throws a UsageError. */
export function checkedTier(what: string, tier: unknown): Tier {
  const known = TIERS.find((one) => one === tier);
  if (known !== undefined) return known;
  throw new UsageError(`${what} is ${JSON.stringify(tier)}: write "interactive" or "batch"`);
}
