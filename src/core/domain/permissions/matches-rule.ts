import { isJsonObject, type JsonObject, type JsonValue } from '../json/json.ts';
import { globCovers, matchesGlob } from './glob.ts';
import type { PermissionRule } from './permissions.ts';

/** A call as rules see it. Without arguments, only rules that have no globs for arguments can match. */
export interface CheckedCall {
  tool: string;
  category?: string | undefined;
  arguments?: JsonObject;
}

/**
 * True if the call matches the rule. If a path leads to several values, `some` asks for one that matches, and `every` for all of
 * them: a call is denied for one of its files, and allowed for all of them. A path without a value never matches.
 */
export function matchesRule({ tool, category, args = {} }: PermissionRule, call: CheckedCall, values: 'some' | 'every'): boolean {
  if (tool !== undefined && !matchesGlob(tool, call.tool, true)) return false;
  if (category !== undefined && (call.category === undefined || !matchesGlob(category, call.category, true))) return false;
  return Object.entries(args).every(([path, glob]) => {
    const found = call.arguments === undefined ? [] : valuesAt(call.arguments, path.split('.'));
    const matches = (value: JsonValue): boolean => matchesGlob(glob, typeof value === 'string' ? value : JSON.stringify(value));
    return found.length > 0 && (values === 'some' ? found.some(matches) : found.every(matches));
  });
}

/** True if each call that matches `narrow` matches `wide` too. Some pairs for which this holds are not recognised. */
export function ruleCovers(wide: PermissionRule, narrow: PermissionRule): boolean {
  return (
    fieldCovers(wide.tool, narrow.tool) &&
    fieldCovers(wide.category, narrow.category) &&
    Object.entries(wide.args ?? {}).every(([path, glob]) => {
      const other = narrow.args !== undefined && Object.hasOwn(narrow.args, path) ? narrow.args[path] : undefined;
      return other !== undefined && globCovers(glob, other);
    })
  );
}

function fieldCovers(wide: string | undefined, narrow: string | undefined): boolean {
  return wide === undefined || (narrow !== undefined && globCovers(wide, narrow, true));
}

/** Returns the values at a path. Keys come from models: only own properties count. */
function valuesAt(value: JsonValue, path: readonly string[]): JsonValue[] {
  const [key, ...rest] = path;
  if (key === undefined) return [value];
  if (!Array.isArray(value) && !isJsonObject(value)) return [];
  const members = value as Record<string, JsonValue>;
  if (key === '*') return Object.values(members).flatMap((member) => valuesAt(member, rest));
  const isMember = Object.hasOwn(members, key) && (!Array.isArray(value) || /^\d+$/.test(key));
  return isMember ? valuesAt(members[key] ?? null, rest) : [];
}
