import type { dereference, Schema } from '@cfworker/json-schema';
import type { JsonObject } from '../domain/json/json.ts';
import { mapSubschemas } from './json-schema.ts';

/** Characters of a schema's own keywords that one unit of work stands for. */
const CHARACTERS_PER_UNIT = 32;

/** Thrown out of the validator when a check takes more work than it may. */
export class CheckTooLong extends Error {}

/** Every schema that a validator may apply, by its location. */
export type Schemas = ReturnType<typeof dereference>;

/**
 * Measures and bounds the work of the validator, which has no bound of its own: a schema that refers to itself in several choices
 * takes time that doubles with every level. Applying one schema to one value is one unit, and more for long schemas.
 */
export class CheckMeter {
  /** Units since the beginning of the check. */
  spent = 0;
  #allowed = 0;

  /** Begins a check that may take `allowed` units. */
  begin(allowed: number): void {
    this.spent = 0;
    this.#allowed = allowed;
  }

  /** Makes each schema count its applications, in the getter of a keyword of an older draft that the validator reads once each time. */
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

/** Returns the units of one application. The validator reads long lists of values, names and choices each time. */
function unitsOf(schema: JsonObject): number {
  const own = mapSubschemas(schema, () => ({}));
  return 1 + Math.floor(JSON.stringify(own).length / CHARACTERS_PER_UNIT);
}
