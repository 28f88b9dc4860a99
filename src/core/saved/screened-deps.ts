import { suspectedCredentialKey } from '../domain/agent/credential-key.ts';
import { isSecretReference } from '../domain/agent/secret-reference.ts';
import { MAX_JSON_DEPTH } from '../domain/json/json-depth.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../domain/json/json.ts';
import { isPlain } from '../domain/record/deps-problem.ts';

/**
 * Returns deps as they may leave the run: without members that JSON cannot hold (functions, live objects, references to secrets,
 * cycles, values nested too deeply) and without members whose keys suggest a credential, at any depth. Dates become texts. A value
 * that is no object becomes an empty one.
 */
export function screenedDeps(deps: unknown): JsonObject {
  const screened = screen(deps, []);
  return isJsonObject(screened) ? screened : {};
}

/** Returns the part of a value that may leave; undefined for none of it. `parents`: the objects that contain it. */
function screen(value: unknown, parents: readonly object[]): JsonValue | undefined {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  if (typeof value !== 'object' || parents.includes(value) || parents.length >= MAX_JSON_DEPTH) return undefined;
  const inside = [...parents, value];
  if (Array.isArray(value)) {
    const list: readonly unknown[] = value;
    return list.map((one) => screen(one, inside)).filter((one) => one !== undefined);
  }
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? undefined : value.toISOString();
  if (!isPlain(value) || isSecretReference(value)) return undefined;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, member]): [string, JsonValue][] => {
      const kept = suspectedCredentialKey(key) ? undefined : screen(member, inside);
      return kept === undefined ? [] : [[key, kept]];
    }),
  );
}
