/**
 * The error if no local Temporal server could be found, built or started. Its message says what was tried and what to
 * do next.
 */
export class DevServerError extends Error {
  override readonly name = 'DevServerError';
}
