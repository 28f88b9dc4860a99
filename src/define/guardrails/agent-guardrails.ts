import { UsageError } from '../../core/domain/errors/error.ts';
import type { AnyGuardrail } from './guardrail-definition.ts';

/** Returns the field of an agent with its guardrails. Throws a UsageError for other values, and for two of one type and name. */
export function agentGuardrails(owner: string, guardrails: readonly AnyGuardrail[] = []): { guardrails?: readonly AnyGuardrail[] } {
  if (!Array.isArray(guardrails)) throw new UsageError(`${owner}: "guardrails" must be a list: make its entries with defineGuardrail`);
  const names = new Set<string>();
  for (const guardrail of guardrails) {
    if (guardrail?.kind !== 'longhaul.guardrail') {
      throw new UsageError(`${owner}: "guardrails" has a value that is not a guardrail: make it with defineGuardrail`);
    }
    const { name, type } = guardrail as AnyGuardrail;
    const key = `${type} ${name}`;
    if (names.has(key)) throw new UsageError(`${owner} has two guardrails of type "${type}" named "${name}": give each its own name`);
    names.add(key);
  }
  return guardrails.length === 0 ? {} : { guardrails };
}
