import { MAX_DURATION_MS } from '../domain/run/duration.ts';
import type { JsonObject } from '../domain/json/json.ts';

/** A whole number that can be incremented: adding 1 to a larger one has no effect. */
export const COUNT: JsonObject = { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER };

/** The same, and at least 1. */
export const AT_LEAST_ONE: JsonObject = { ...COUNT, minimum: 1 };

/**
 * A number that can be added to others and may be negative: the cost of a call is, if a provider reports more cached tokens than
 * prompt tokens.
 */
export const SUMMAND: JsonObject = { type: 'number', minimum: -Number.MAX_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER };

/** A measured number of at least 0. */
export const AMOUNT: JsonObject = { type: 'number', minimum: 0, maximum: Number.MAX_SAFE_INTEGER };

/** A duration in milliseconds. */
export const DURATION: JsonObject = { type: 'number', exclusiveMinimum: 0, maximum: MAX_DURATION_MS };

/** A time in milliseconds since the epoch, up to the last that a `Date` can hold. */
export const MOMENT: JsonObject = { type: 'number', minimum: 0, maximum: 8_640_000_000_000_000 };
