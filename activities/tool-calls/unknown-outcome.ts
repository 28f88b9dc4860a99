/** Thrown where a call may have taken effect and its answer was lost: what happens once is not tried again then, and not taken for failed. */
export class UnknownOutcome extends Error {
  override readonly name = 'UnknownOutcome';
}
