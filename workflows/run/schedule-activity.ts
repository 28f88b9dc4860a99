import { ApplicationFailure, CancelledFailure, rawValueTypeInfo } from '@temporalio/common';
import { CancellationScope, patched, proxyActivities, proxyLocalActivities, sleep } from '@temporalio/workflow';
import type { ActivityRequest } from '../../src/core/activity-requests/activity-request.ts';
import {
  ANOTHER_WORKER,
  isOwn,
  type MissingOnWorker,
  missingOnWorker,
  onAnotherWorker,
  pauseMs,
} from '../../src/core/activity-requests/another-worker.ts';
import { whyUnreadable } from '../../src/core/domain/json/unreadable.ts';
import type { LiveRun } from './live-run.ts';
import { valueOf } from '../interceptors/raw-value.ts';

/** What is asked of Temporal, without what its end means. */
type Asked<Input> = Pick<ActivityRequest<Input, never, never>, 'name' | 'tier' | 'options' | 'input'>;

/** An activity by name. Names of tools are data, so the proxies are not typed by them. */
type Activities<Input, Output> = Record<string, (input: Input) => Promise<Output>>;

/** Performs an activity of the run, which is counted, and gives what its end means. Never rejects. */
export function scheduleActivity<Input, Output, Outcome>(
  run: LiveRun,
  call: ActivityRequest<Input, Output, Outcome>,
  work: Work = startActivity,
): Promise<Outcome> {
  const before = run.inbox.updates;
  const ended = (): void => {
    run.activitiesEnded += 1;
    run.recentUpdates = run.inbox.updates - before;
  };
  return outcomeOn(run, call, { work, ended });
}

/** Begins an activity. */
type Work = <Input, Output>(call: Asked<Input>) => Promise<Output>;

/** How an activity is performed. */
interface Scheduling {
  work: Work;
  /** Told of each end. */
  ended: () => void;
}

/** What an activity waits for, and how often it has been scheduled again before. */
interface Waited {
  missing: MissingOnWorker;
  times: number;
}

/** What the end of an activity means, on whatever worker it comes to one. */
export function outcomeOn<Input, Output, Outcome>(
  run: LiveRun,
  call: ActivityRequest<Input, Output, Outcome>,
  performing: Scheduling,
  waited?: Waited,
): Promise<Outcome> {
  const ended = (): void => {
    performing.ended();
    if (waited !== undefined) found(run, waited);
  };
  // On the activity's own promise: in the sandbox every further one costs a stack trace.
  return performing.work<Input, Output>(call).then(
    (output) => {
      ended();
      return outcomeOf(call, output);
    },
    (error: unknown) => {
      ended();
      const lack = missingOnWorker(call, error, waited, Date.now());
      if (lack === undefined || !patched(ANOTHER_WORKER)) return call.failed(error);
      if (CancellationScope.current().consideredCancelled) return call.failed(isOwn(call.name) ? new CancelledFailure('CANCELLED') : error);
      return onAnotherWorkerLater(run, call, performing, { missing: lack, times: (waited?.times ?? -1) + 1 });
    },
  );
}

/** Has the activity tried on other workers, and shows meanwhile what the run waits for. */
async function onAnotherWorkerLater<Input, Output, Outcome>(
  run: LiveRun,
  call: ActivityRequest<Input, Output, Outcome>,
  performing: Scheduling,
  waited: Waited,
): Promise<Outcome> {
  const { missing, times } = waited;
  run.missing.push(missing);
  run.showMissing?.();
  try {
    const wait = pauseMs(times);
    if (wait > 0) await sleep(wait, { summary: `no worker has ${missing.kind} ${missing.name} yet` });
  } catch (error) {
    found(run, waited);
    return call.failed(error);
  }
  return outcomeOn(run, onAnotherWorker(call, missing, Date.now()), performing, waited);
}

function found(run: LiveRun, { missing }: Waited): void {
  run.missing = run.missing.filter((one) => one !== missing);
  run.showMissing?.();
}

/** Reads what an activity returned, as `begin` gives it. A result that cannot be read is a failure of no code: the activity may have done its work. */
export function outcomeOf<Output, Outcome>(
  { name, returned, failed }: Pick<ActivityRequest<never, Output, Outcome>, 'name' | 'returned' | 'failed'>,
  raw: Output,
): Outcome {
  const output = valueOf(raw);
  const why = whyUnreadable(output);
  if (why === undefined) return returned(output as Output);
  return failed(
    ApplicationFailure.create({ type: 'UnreadableResult', message: `The result of "${name}" cannot be read: ${why}`, nonRetryable: true }),
  );
}

/** The activity itself: its result is raw, and its failure as Temporal gives it. */
export function startActivity<Input, Output>({ name, tier, options: asked, input }: Asked<Input>): Promise<Output> {
  const options = { ...asked, activityTypeInfo: { [name]: { outputType: rawValueTypeInfo } } };
  const activities: Activities<Input, Output> =
    tier === 'local' ? proxyLocalActivities<Activities<Input, Output>>(options) : proxyActivities<Activities<Input, Output>>(options);
  const activity = activities[name];
  if (activity === undefined) throw new TypeError(`No activity "${name}"`);
  return activity(input);
}
