import type { JsonObject } from '../domain/json/json.ts';

/** The most characters of a text that is checked with a pattern, because many patterns take time quadratic in them. */
export const MAX_PATTERN_TEXT = 10_000;

/**
 * Returns the schema with a pattern that rejects a text of more characters without examining it. Patterns of formats stay
 * unchanged: they come with zod, are simple, and apply to long texts (`base64`).
 */
export function boundedPattern(schema: JsonObject): JsonObject {
  const { pattern, format } = schema;
  if (typeof pattern !== 'string' || format !== undefined || !compiles(pattern)) return schema;
  return { ...schema, pattern: `^(?![^]{${MAX_PATTERN_TEXT + 1}})(?=[^]*?(?:${pattern}))`, 'x-pattern': pattern };
}

function compiles(pattern: string): boolean {
  try {
    return new RegExp(pattern, 'u') instanceof RegExp;
  } catch {
    return false;
  }
}
