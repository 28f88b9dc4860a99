import type { PruneStrategy } from '../../core/domain/content/conversation/prune-steps.ts';
import { UsageError } from '../../core/domain/errors/error.ts';
import { requireKnown } from '../options/option-checks.ts';

const NUMBERS: Readonly<Record<PruneStrategy['strategy'], readonly string[]>> = {
  none: [],
  last_steps: ['keep'],
  old_observations: ['keep', 'maxLength'],
};

/** Checks the rule by which the conversation of an agent is shortened. Throws a UsageError for one that cannot work. */
export function checkPrune(owner: string, prune: PruneStrategy): PruneStrategy {
  const option = `${owner}: "code.prune"`;
  const given: unknown = prune;
  const strategy = typeof given === 'object' && given !== null && 'strategy' in given ? given.strategy : undefined;
  if (typeof strategy !== 'string' || !Object.hasOwn(NUMBERS, strategy)) {
    throw new UsageError(
      `${option} is ${JSON.stringify(prune)}: write {strategy: "last_steps", keep: 5}, {strategy: "old_observations"} or {strategy: "none"}`,
    );
  }
  const names = NUMBERS[prune.strategy];
  requireKnown(option, prune, ['strategy', ...names]);
  for (const name of names) {
    const value: unknown = Object.entries(prune).find(([key]) => key === name)?.[1];
    if (value === undefined && prune.strategy === 'old_observations') continue;
    if (!Number.isSafeInteger(value) || Number(value) < 0) {
      throw new UsageError(`${owner}: "code.prune.${name}" is ${String(value)}: write a whole number of at least 0`);
    }
  }
  return Object.freeze({ ...prune });
}
