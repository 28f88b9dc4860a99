import { percentile, rounded } from '../../bench/figures/statistics.ts';

/** Durations in milliseconds. */
export interface Timings {
  p50: number;
  p95: number;
  max: number;
}

export function timings(values: readonly number[]): Timings | null {
  if (values.length === 0) return null;
  const at = (percent: number): number => rounded(percentile(values, percent), 1);
  return { p50: at(50), p95: at(95), max: at(100) };
}

/** Seconds since a moment of `performance.now()`. */
export function secondsSince(start: number): number {
  return rounded((performance.now() - start) / 1_000, 1);
}
