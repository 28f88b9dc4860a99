/** Returns milliseconds with two digits after the point: the rest would only take room in the history. */
export function roundedMs(ms: number): number {
  return Math.round(ms * 100) / 100;
}
