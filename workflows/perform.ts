import { ApplicationFailure } from '@temporalio/common';
import { proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import type { ActivityCall } from '../src/calls/activity-call.ts';
import { whyUnreadable } from '../src/domain/unreadable.ts';
import type { LiveRun } from './live-run.ts';
import { TAKEN_BY_AGENT } from './payload-converter.ts';

/** What is asked of Temporal, without what its end means. */
type Asked<Input> = Pick<ActivityCall<Input, never, never>, 'name' | 'tier' | 'options' | 'input'>;

/** An activity by name. Names of tools are data, so the proxies are not typed by them. */
type Activities<Input, Output> = Record<string, (input: Input) => Promise<Output>>;

/** Performs an activity of the run, which is counted, and gives what its end means. Never rejects. */
export function perform<Input, Output, Outcome>(
  run: LiveRun,
  call: ActivityCall<Input, Output, Outcome>,
  work: () => Promise<Output> = () => begin(call),
): Promise<Outcome> {
  const before = run.inbox.updates;
  const count = (): void => {
    run.activitiesEnded += 1;
    run.recentUpdates = run.inbox.updates - before;
  };
  // On the activity's own promise: in the sandbox every further one costs a stack trace.
  return work().then(
    (output) => {
      count();
      return outcomeOf(call, output);
    },
    (error: unknown) => {
      count();
      return call.failed(error);
    },
  );
}

/** Reads what an activity returned. A result that cannot be read is a failure of no code: the activity may have done its work. */
export function outcomeOf<Output, Outcome>(
  { name, returned, failed }: Pick<ActivityCall<never, Output, Outcome>, 'name' | 'returned' | 'failed'>,
  output: Output,
): Outcome {
  const why = whyUnreadable(output);
  if (why === undefined) return returned(output);
  return failed(
    ApplicationFailure.create({ type: 'UnreadableResult', message: `The result of "${name}" cannot be read: ${why}`, nonRetryable: true }),
  );
}

/** The activity itself: its failure is as Temporal gives it. */
export function begin<Input, Output>({ name, tier, options: asked, input }: Asked<Input>): Promise<Output> {
  const options = { ...asked, activityTypeInfo: { [name]: { outputType: TAKEN_BY_AGENT } } };
  const activities: Activities<Input, Output> =
    tier === 'local' ? proxyLocalActivities<Activities<Input, Output>>(options) : proxyActivities<Activities<Input, Output>>(options);
  const activity = activities[name];
  if (activity === undefined) throw new TypeError(`No activity "${name}"`);
  return activity(input);
}
