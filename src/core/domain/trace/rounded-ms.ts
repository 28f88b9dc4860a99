/** Converts seconds to milliseconds, rounded to two digits. */
export function roundedMs(seconds: number): number {
  return Math.round(seconds * 100_000) / 100;
}
