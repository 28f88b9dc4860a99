import type { JsonValue } from '../../core/domain/json.ts';
import { shortJson } from '../../core/json-schema/json-schema.ts';

/** The detail of a part that is required and absent. */
export const MISSING = 'missing';

/**
 * Returns the message of a schema that says what it expects: `expected a time span such as "30s", got "soon"`. A number out of its bounds
 * keeps the message about them.
 */
export function expecting(what: string): { error: (issue: { code?: string | undefined; input?: unknown }) => string | undefined } {
  return {
    error({ code, input }) {
      if (input === undefined) return MISSING;
      return code === 'too_small' || code === 'too_big' ? undefined : `expected ${what}, got ${shortJson(input as JsonValue)}`;
    },
  };
}
