import { type Tier, TIERS } from '../core/domain/batch.ts';
import { UsageError } from '../core/domain/errors.ts';
import type { AgentPart } from './agent-part.ts';

/** The option of an agent that concerns its tier. */
export interface AgentTier {
  /**
   * `batch`: model calls wait for batches of the provider, at half the price; a worker needs `batch` for it. A start and a
   * parent may choose it, too. `interactive`: also below a parent with another tier. Default `interactive`.
   */
  tier?: Tier;
}

/** The field of an agent that has its tier. */
export interface TierFields {
  /** Absent: that of its parent, or `interactive`. */
  readonly tier?: Tier;
}

/** The tier as a part of an agent. */
export const tierPart: AgentPart<AgentTier, TierFields> = {
  options: {
    tier: ["`'interactive'`, `'batch'`", "`'interactive'`", '`batch`: model calls wait for [batches](batches.md), at half the price'],
  },
  define: (owner, { tier }) => (tier === undefined ? {} : { tier: checkedTier(`${owner}: "tier"`, tier) }),
};

/** Returns the tier if it is one. Throws a UsageError. */
export function checkedTier(what: string, tier: unknown): Tier {
  const known = TIERS.find((one) => one === tier);
  if (known !== undefined) return known;
  throw new UsageError(`${what} is ${JSON.stringify(tier)}: write "interactive" or "batch"`);
}
