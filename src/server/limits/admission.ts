import { LonghaulError } from '../../core/domain/errors.ts';

/** The answer of a limit. `retryAfter` is the time in whole seconds after which another request may be allowed. */
export type Admission = { allowed: true } | { allowed: false; limit: string; retryAfter: number };

/** A request that a limit of its caller refuses. */
export class TooManyRequestsError extends LonghaulError {
  override readonly name = 'TooManyRequestsError';
  /** The seconds to wait, for the header `Retry-After`. */
  readonly parts: { retryAfterSeconds: number };

  constructor(limit: string, retryAfter: number) {
    super('too_many_requests', `The caller has reached its limit of "${limit}": try again after ${retryAfter} seconds`);
    this.parts = { retryAfterSeconds: retryAfter };
  }
}

/** Throws `too_many_requests` unless a limit allows the request. */
export function requireAdmission(admission: Admission): void {
  if (!admission.allowed) throw new TooManyRequestsError(admission.limit, admission.retryAfter);
}
