/** The smallest value that at least `percent` percent of the values do not exceed. Throws for an empty list. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  const value = sorted[Math.max(0, Math.ceil((sorted.length * percent) / 100) - 1)];
  if (value === undefined) throw new RangeError('No percentile of an empty list');
  return value;
}

/** The median; of an even number of values, the lower of the two in the middle. */
export function median(values: readonly number[]): number {
  return percentile(values, 50);
}

/** The sum of all values. */
export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** The arithmetic mean. Throws for an empty list. */
export function mean(values: readonly number[]): number {
  if (values.length === 0) throw new RangeError('No mean of an empty list');
  return sum(values) / values.length;
}

/** The number rounded to `decimals` decimals. */
export function rounded(value: number, decimals: number): number {
  return Number(value.toFixed(decimals));
}
