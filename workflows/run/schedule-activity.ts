import { ApplicationFailure, CancelledFailure, defaultPayloadConverter, RawValue, rawValueTypeInfo } from '@temporalio/common';
import { CancellationScope, proxyActivities, proxyLocalActivities, sleep } from '@temporalio/workflow';
import {
  type ActivityRequest,
  type MissingOnWorker,
  missingOnWorker,
  onAnotherWorker,
  pauseMs,
} from '../../src/core/activity-requests/activity-request.ts';
import { isOwnActivity } from '../../src/core/activity-requests/contracts.ts';
import { readOrMark, whyUnreadable } from '../../src/core/domain/json.ts';
import type { LiveRun } from './live-run.ts';

/** The parts of a request that start an activity. */
type ActivityCall<Input> = Pick<ActivityRequest<Input, never, never>, 'name' | 'tier' | 'options' | 'input'>;

/** Activities by name. Names of tools are data, so the proxies are not typed by them. */
type Activities<Input, Output> = Record<string, (input: Input) => Promise<Output>>;

/** Executes an activity of the run, counts it if its end is progress, and returns its outcome. Never rejects. */
export function scheduleActivity<Input, Output, Outcome>(
  run: LiveRun,
  call: ActivityRequest<Input, Output, Outcome>,
  start: StartActivity = startActivity,
): Promise<Outcome> {
  const before = run.inbox.updates;
  const ended = (): void => {
    if (call.isNoProgress) return;
    run.activitiesEnded += 1;
    run.recentUpdates = run.inbox.updates - before;
  };
  return performActivity(run, call, { start, ended });
}

type StartActivity = <Input, Output>(call: ActivityCall<Input>) => Promise<Output>;

/** The start and the end of an activity. */
interface Scheduling {
  start: StartActivity;
  /** Called at each end of the activity. */
  ended: () => void;
}

/** The thing that an activity waits for, and the number of times it has been rescheduled. */
interface WorkerWait {
  missing: MissingOnWorker;
  times: number;
}

/** Returns the outcome of an activity, rescheduled for other workers if one lacks something. */
function performActivity<Input, Output, Outcome>(
  run: LiveRun,
  call: ActivityRequest<Input, Output, Outcome>,
  scheduling: Scheduling,
  wait?: WorkerWait,
): Promise<Outcome> {
  const ended = (): void => {
    scheduling.ended();
    if (wait !== undefined) removeMissing(run, wait);
  };
  // Chained on the activity's own promise: in the sandbox every further promise costs a stack trace.
  return scheduling.start<Input, Output>(call).then(
    (output) => {
      ended();
      return readOutcome(call, output);
    },
    (error: unknown) => {
      ended();
      const missing = call.isOptional ? undefined : missingOnWorker(call, error, wait, Date.now());
      if (missing === undefined) return call.failed(error);
      if (CancellationScope.current().consideredCancelled)
        return call.failed(isOwnActivity(call.name) ? new CancelledFailure('CANCELLED') : error);
      return rescheduleElsewhere(run, call, scheduling, { missing, times: (wait?.times ?? -1) + 1 });
    },
  );
}

/** Reschedules the activity for other workers, and shows meanwhile what the run waits for. */
async function rescheduleElsewhere<Input, Output, Outcome>(
  run: LiveRun,
  call: ActivityRequest<Input, Output, Outcome>,
  scheduling: Scheduling,
  wait: WorkerWait,
): Promise<Outcome> {
  const { missing, times } = wait;
  run.missing.push(missing);
  run.showMissing?.();
  try {
    const pause = pauseMs(times);
    if (pause > 0) await sleep(pause, { summary: `no worker has ${missing.kind} ${missing.name} yet` });
  } catch (error) {
    removeMissing(run, wait);
    return call.failed(error);
  }
  return performActivity(run, onAnotherWorker(call, missing, Date.now()), scheduling, wait);
}

function removeMissing(run: LiveRun, { missing }: WorkerWait): void {
  run.missing = run.missing.filter((one) => one !== missing);
  run.showMissing?.();
}

/**
 * Converts the raw result of an activity to its outcome. A result that cannot be decoded is a failure without a code:
 * the activity may have done its work.
 */
export function readOutcome<Output, Outcome>(
  { name, returned, failed }: Pick<ActivityRequest<never, Output, Outcome>, 'name' | 'returned' | 'failed'>,
  raw: Output,
): Outcome {
  const output = decodedValue(raw);
  const why = whyUnreadable(output);
  if (why === undefined) return returned(output as Output);
  return failed(
    ApplicationFailure.create({ type: 'UnreadableResult', message: `The result of "${name}" cannot be read: ${why}`, nonRetryable: true }),
  );
}

/** Starts the activity: its result is raw, and its failure is Temporal's own. */
export function startActivity<Input, Output>({ name, tier, options: requested, input }: ActivityCall<Input>): Promise<Output> {
  const options = { ...requested, activityTypeInfo: { [name]: { outputType: rawValueTypeInfo } } };
  const activities: Activities<Input, Output> =
    tier === 'local' ? proxyLocalActivities<Activities<Input, Output>>(options) : proxyActivities<Activities<Input, Output>>(options);
  const activity = activities[name];
  if (activity === undefined) throw new TypeError(`No activity "${name}"`);
  return activity(input);
}

/**
 * Returns the value of an argument taken with `rawValueTypeInfo`; an `Unreadable` if it cannot be decoded. The SDK
 * would fail the workflow task instead, which the server retries forever, also in a workflow of the user that runs an
 * agent inline.
 */
export function decodedValue(raw: unknown): unknown {
  return raw instanceof RawValue ? readOrMark(raw.payload, () => defaultPayloadConverter.fromPayload(raw.payload)) : raw;
}
