import type { ActivityOptions } from '@temporalio/common';
import { proxyActivities } from '@temporalio/workflow';
import { jsonBytes } from '../src/domain/payload-limit.ts';
import { INLINE_BYTES, type OfRun } from '../src/protocol.ts';
import type { LiveRun } from './live-run.ts';

/** Attempts and the time of one attempt bound the work; this bounds the wait for a worker, and outlasts a long outage. */
export const SCHEDULE_TO_CLOSE = '7 days';

/** An activity is taken for dead after this many missed heartbeats. */
export const MISSED_HEARTBEATS = 3;

/** An activity by name. Names of tools are data, so the proxy is not typed by them. */
export function activity<Input, Output>(name: string, options: ActivityOptions): (input: Input) => Promise<Output> {
  const activities = proxyActivities<Record<string, (input: Input) => Promise<Output>>>(options);
  const one = activities[name];
  if (one === undefined) throw new TypeError(`No activity "${name}"`);
  return one;
}

/** What an activity's end means to the loop. */
export interface Meaning<Output, Outcome> {
  returned: (output: Output) => Outcome;
  failed: (error: unknown) => Outcome;
}

/** The outcome of an activity of the run, which is counted. On the activity's own promise: in the sandbox every further one costs a stack trace. */
export function outcomeOf<Output, Outcome>(
  { run, work }: { run: LiveRun; work: Promise<Output> },
  { returned, failed }: Meaning<Output, Outcome>,
): Promise<Outcome> {
  const before = run.inbox.updates;
  const count = (): void => {
    run.activitiesEnded += 1;
    run.recentUpdates = run.inbox.updates - before;
  };
  return work.then(
    (output) => {
      count();
      return returned(output);
    },
    (error: unknown) => {
      count();
      return failed(error);
    },
  );
}

/** Which run of the workflow an activity works for. */
export function ofRun({ key }: Pick<LiveRun, 'key'>): OfRun {
  return key === undefined ? {} : { run: key };
}

/** Small enough to be in an activity's input a second time. */
export function fits(value: object): boolean {
  return jsonBytes(value) <= INLINE_BYTES;
}
