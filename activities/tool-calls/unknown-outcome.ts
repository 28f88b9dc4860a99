/**
 * Thrown if a call may have taken effect and its answer was lost. A call that must not run twice is then neither
 * retried nor reported as failed.
 */
export class UnknownOutcome extends Error {
  override readonly name = 'UnknownOutcome';
}
