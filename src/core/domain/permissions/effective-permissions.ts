import { canonicalJson, type JsonValue } from '../json/json.ts';
import type { Permissions } from './permissions.ts';

/**
 * Returns the policies that hold for a run: its own, and all those that hold for the run above it. A call must pass each of them, so
 * that denials and questions of all add up, and a call is allowed only where all allow it. Equal ones of runs above are listed once.
 */
export function effectivePermissions(own: Permissions | undefined, ancestors: readonly Permissions[] = []): Permissions[] {
  const texts = ancestors.map((layer) => canonicalJson(JSON.parse(JSON.stringify(layer)) as JsonValue));
  const inherited = ancestors.filter((_, index) => texts.indexOf(texts[index] ?? '') === index);
  return own === undefined ? inherited : [own, ...inherited];
}
