import { MAX_DURATION_MS } from '../domain/run/duration.ts';
import type { JsonObject } from '../domain/json/json.ts';

/** A whole number that can be counted on from: adding 1 to a larger one changes nothing. */
export const COUNT: JsonObject = { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER };

/** The same, of which there is at least one. */
export const AT_LEAST_ONE: JsonObject = { ...COUNT, minimum: 1 };

/** A number that can be added to others, and may be less than nothing: a cost, where a provider reports more tokens as cached than it was sent. */
export const SUMMAND: JsonObject = { type: 'number', minimum: -Number.MAX_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER };

/** A number that is measured, not counted. */
export const AMOUNT: JsonObject = { type: 'number', minimum: 0, maximum: Number.MAX_SAFE_INTEGER };

/** Attempts of an activity: Temporal keeps them in 32 bits. */
export const ATTEMPTS: JsonObject = { type: 'integer', minimum: 1, maximum: 2 ** 31 - 1 };

/** Milliseconds that something may take. */
export const DURATION: JsonObject = { type: 'number', exclusiveMinimum: 0, maximum: MAX_DURATION_MS };

/** A moment in milliseconds since the epoch, up to the last that a date can hold. */
export const MOMENT: JsonObject = { type: 'number', minimum: 0, maximum: 8_640_000_000_000_000 };
