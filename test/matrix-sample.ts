/**
 * Returns the parts of a matrix to run: all, or every third one if `MATRIX_SAMPLE` is 3, as in CI. What is left out is always the same, so that
 * a failure can be repeated.
 */
export function matrixSample<Part>(parts: readonly Part[]): Part[] {
  const every = Number(process.env['MATRIX_SAMPLE'] ?? 1);
  if (!Number.isSafeInteger(every) || every < 1) throw new Error(`MATRIX_SAMPLE must be a whole number of at least 1, not "${every}"`);
  return parts.filter((_, index) => index % every === 0);
}
