import { addEstimated, addReported, addUsage, type AggregatedUsage } from '../model/usage.ts';
import type { Event } from './event.ts';

/**
 * Adds the usage that an event records to `total`. The event of a program at the end of a child repeats the usage of that
 * child, whose own events record it: it counts there.
 */
export function addUsageOfEvent(total: AggregatedUsage, { usage, estimated, failedAttempts, step }: Event): AggregatedUsage {
  if (step?.child !== undefined) return total;
  const withCall = usage === undefined ? total : addUsage(total, usage);
  const withEstimate = addEstimated(withCall, estimated);
  if (failedAttempts === undefined) return withEstimate;
  return addEstimated(addReported(withEstimate, failedAttempts.reported ?? null), failedAttempts.estimated);
}
