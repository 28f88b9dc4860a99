import { CancelledFailure, TerminatedFailure, TimeoutFailure } from '@temporalio/common';
import type { ChildAnswer } from './recorded-child.ts';

/** Returns the failure that the parent of a child receives for its end. */
export function childFailure(ended: NonNullable<ChildAnswer['ended']>, failure: Error | undefined): Error {
  switch (ended) {
    case 'cancelled':
      return new CancelledFailure('cancelled');
    case 'terminated':
      return new TerminatedFailure('terminated');
    case 'timed_out':
      return new TimeoutFailure('timed out', undefined, 'START_TO_CLOSE');
    case 'failed':
      return failure ?? new Error('it was not found, or could not start');
  }
}
