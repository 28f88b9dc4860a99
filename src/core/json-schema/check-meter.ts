import type { dereference, Schema } from '@cfworker/json-schema';
import type { JsonObject } from '../domain/json/json.ts';
import { mapSubschemas } from './json-schema.ts';

/** Characters of a schema's own keywords that one unit of work stands for. */
const CHARACTERS_PER_UNIT = 32;

/** Thrown out of the validator when a check takes more work than it may. */
export class CheckTooLong extends Error {}

/** Every schema that a validator may come to, by its location. */
export type Schemas = ReturnType<typeof dereference>;

/**
 * Measures the work of the validator, which has no bound of its own: a schema that refers to itself in several choices
 * takes time that doubles with every level. A unit is one schema applied to one value, and more for long schemas.
 */
export class CheckMeter {
  /** Units since the beginning of the check. */
  spent = 0;
  #allowed = 0;

  begin(allowed: number): void {
    this.spent = 0;
    this.#allowed = allowed;
  }

  /** Makes each schema count. The validator reads this keyword, of an older draft, once whenever it applies a schema. */
  watch(schemas: Schemas): void {
    for (const schema of new Set(Object.values(schemas))) {
      if (typeof schema !== 'boolean') this.#watch(schema);
    }
  }

  #watch(schema: Schema): void {
    const units = unitsOf(schema);
    Object.defineProperty(schema, '$recursiveAnchor', {
      enumerable: false,
      get: () => {
        this.spent += units;
        if (this.spent > this.#allowed) throw new CheckTooLong();
        return undefined;
      },
    });
  }
}

/** Long lists of values, of names and of choices are gone through whenever the schema is applied. */
function unitsOf(schema: JsonObject): number {
  const own = mapSubschemas(schema, () => ({}));
  return 1 + Math.floor(JSON.stringify(own).length / CHARACTERS_PER_UNIT);
}
