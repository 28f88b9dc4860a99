import type { JsonObject } from '../domain/json/json.ts';

/** Characters of a text that is checked with a pattern: many patterns take time that grows with its square. */
export const MAX_PATTERN_TEXT = 10_000;

/**
 * A schema whose pattern fits no text that is too long for it, and looks at none. Patterns of formats stay as they
 * are: they come with zod, are simple, and long texts have them (`base64`).
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
