import { UsageError } from '../../core/domain/errors.ts';

/** The most numbers of a vector: those of a `vector` of pgvector. */
const MOST_DIMENSIONS = 16_000;

/** The largest number of 32 bits: databases keep vectors as such, and refuse larger ones. */
const MOST = 3.4028234663852886e38;

/** Throws a UsageError unless a vector has 1 to 16,000 finite numbers that 32 bits can hold. */
export function requireVector(what: string, vector: readonly number[]): void {
  if (vector.length === 0 || !vector.every((one) => Number.isFinite(one) && Math.abs(one) <= MOST))
    throw new UsageError(`${what} is no list of finite numbers of 32 bits`);
  if (vector.length > MOST_DIMENSIONS)
    throw new UsageError(`${what} has ${vector.length} numbers, over ${MOST_DIMENSIONS}: make it shorter`);
}

/**
 * Returns a vector with the length 1, which has the same cosines: the squares of very large or very small numbers are none to a database
 * that computes with 32 bits. Undefined for a vector of zeros alone, which has no direction. Throws a UsageError as `requireVector`.
 */
export function directionOf(what: string, vector: readonly number[]): number[] | undefined {
  requireVector(what, vector);
  const largest = vector.reduce((most, one) => Math.max(most, Math.abs(one)), 0);
  if (largest === 0) return undefined;
  const scaled = vector.map((one) => one / largest);
  const length = Math.sqrt(scaled.reduce((sum, one) => sum + one * one, 0));
  return scaled.map((one) => Math.fround(one / length));
}
