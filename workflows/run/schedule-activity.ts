import { ApplicationFailure, defaultPayloadConverter, RawValue, rawValueTypeInfo } from '@temporalio/common';
import { CancellationScope, proxyActivities, proxyLocalActivities, proxySinks, sleep } from '@temporalio/workflow';
import type { ActivityRequest } from '../../src/core/activity-requests/activity-request.ts';
import { type ActivityCall, type ActivityHost, performActivity } from '../../src/core/activity-requests/perform-activity.ts';
import { readOrMark, whyUnreadable } from '../../src/core/domain/json.ts';
import type { LiveRun, LonghaulSinks } from './live-run.ts';

const { longhaul } = proxySinks<LonghaulSinks>();

/** Activities by name. Names of tools are data, so the proxies are not typed by them. */
type Activities<Input, Output> = Record<string, (input: Input) => Promise<Output>>;

/** Executes an activity of the run, counts it if its end is progress, and returns its outcome. Never rejects. */
export function scheduleActivity<Input, Output, Outcome>(
  run: LiveRun,
  call: ActivityRequest<Input, Output, Outcome>,
  start: ActivityHost['start'] = startActivity,
): Promise<Outcome> {
  showTurn(run);
  const before = run.inbox.updates;
  const ended = (): void => {
    if (call.isNoProgress) return;
    run.activitiesEnded += 1;
    run.recentUpdates = run.inbox.updates - before;
  };
  return performActivity({ ...hostOf(run), start, ended }, call);
}

/** Tells the process of the worker which turn of a session the next activities belong to: their inputs do not say it. */
function showTurn(run: LiveRun): void {
  const { session, parent, firstOffset, context } = run.state ?? {};
  if (session === undefined || firstOffset === undefined || context === undefined || parent?.kept) return;
  const [turn, through] = [session.turns, firstOffset + context.events.length];
  if (run.turnShown?.turn === turn && run.turnShown.through === through) return;
  run.turnShown = { turn, through };
  longhaul.turnReached(turn, through);
}

function hostOf(run: LiveRun): Omit<ActivityHost, 'start' | 'ended'> {
  return {
    read: readOutcome,
    isCancelled: () => CancellationScope.current().consideredCancelled,
    now: () => Date.now(),
    pause: (ms, summary) => sleep(ms, { summary }),
    waits: (missing) => {
      run.missing.push(missing);
      run.showMissing?.();
    },
    waited: (missing) => {
      run.missing = run.missing.filter((one) => one !== missing);
      run.showMissing?.();
    },
  };
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
