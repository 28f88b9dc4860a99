import { isJsonObject } from '../../core/domain/json.ts';
import type { AnyAgent } from '../agent-definition.ts';

/** Returns why an agent cannot run with these fields of the deps alone; undefined if it can. */
export function shareProblem({ name, depsSchema }: AnyAgent, share: readonly string[]): string | undefined {
  if (depsSchema === undefined) return undefined;
  const { properties, required } = depsSchema;
  const known = isJsonObject(properties) ? Object.keys(properties) : [];
  const isOpen = depsSchema['additionalProperties'] !== undefined && depsSchema['additionalProperties'] !== false;
  const unknown = share.find((field) => !isOpen && !known.includes(field));
  if (unknown !== undefined) return `the deps of agent "${name}" have no field "${unknown}" (they have: ${known.join(', ') || 'none'})`;
  const needed = Array.isArray(required) ? required.filter((field) => typeof field === 'string') : [];
  const missing = needed.find((field) => !share.includes(field));
  return missing === undefined ? undefined : `agent "${name}" requires the field "${missing}" of its deps: share it`;
}
