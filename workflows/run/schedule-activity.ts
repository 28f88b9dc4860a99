import { ApplicationFailure, CancelledFailure, defaultPayloadConverter, RawValue, rawValueTypeInfo } from '@temporalio/common';
import { CancellationScope, proxyActivities, proxyLocalActivities, proxySinks, sleep } from '@temporalio/workflow';
import {
  activityProblem,
  type ActivityRequest,
  afterAttempts,
  type MissingOnWorker,
  missingOnWorker,
  onAnotherWorker,
  pauseMs,
} from '../../src/core/activity-requests/activity-request.ts';
import { interruptibleRequest, modelRequest } from '../../src/core/activity-requests/agent-requests.ts';
import { isOwnActivity } from '../../src/core/activity-requests/contracts.ts';
import type { BegunCall } from '../../src/core/bursts/burst.ts';
import { defined, readOrMark, whyUnreadable } from '../../src/core/domain/json.ts';
import { parentOf } from '../../src/core/domain/run-input.ts';
import { sessionOf } from '../../src/core/domain/sessions.ts';
import type { ModelCall, ModelCallOutcome, ToolInvocation } from '../../src/core/kernel/ports.ts';
import type { CallModelOutput } from '../../src/core/protocol.ts';
import { newEvents } from '../../src/core/queries/queries.ts';
import { interruptOf } from '../../src/core/sessions/open-session.ts';
import type { BackgroundWork } from '../../src/core/sessions/run-session.ts';
import type { LiveRun, LonghaulSinks, ResolvedRun } from './live-run.ts';

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

/** Notifies the worker process which turn of a session the next activities belong to: their inputs do not say so. */
function showTurn(run: LiveRun): void {
  const session = run.state && sessionOf(run.state);
  if (run.state === undefined || session === undefined || parentOf(run.state)?.kept) return;
  const [turn, through] = [session.turns, run.state.firstOffset + run.state.context.events.length];
  if (run.turnShown?.turn === turn && run.turnShown.through === through) return;
  run.turnShown = { turn, through };
  longhaul.turnReached(turn, through);
}

/** Notifies the worker process of a call that may have taken effect, and whose outcome is unknown. */
export function reportUnknownOutcome({ agentName, snapshot }: LiveRun, { call, tool, step }: ToolInvocation, reason: string): void {
  longhaul.outcomeUnknown({ tool: tool.name, agent: snapshot?.name ?? agentName, callId: call.toolCallId, step, reason });
}

function hostOf(run: LiveRun): Omit<ActivityHost, 'start' | 'ended'> {
  return {
    read: readOutcome,
    again: inputAgain,
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

/** Returns the input for scheduling an activity again, if its raw result asks for it. */
function inputAgain<Input, Output>({ again }: Pick<ActivityRequest<Input, Output, never>, 'again'>, raw: Output): Input | undefined {
  const output = decodedValue(raw);
  return whyUnreadable(output) === undefined ? again?.(output as Output) : undefined;
}

/** Starts the activity. Its result is raw, and its failure is Temporal's. */
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

/** Makes one model call in its own cancellation scope: a message may interrupt it while the run continues. */
export function interruptibleModelCall(
  run: ResolvedRun,
  call: ModelCall,
  cancelRequested: () => boolean,
  begun?: BegunCall,
): Promise<ModelCallOutcome> {
  const scope = scopeOf(run);
  run.modelCall = scope;
  const news = newEvents(run.state, call);
  if (news !== undefined) longhaul.conversationGrew(run.key ?? '', news);
  const request = interruptibleRequest(modelRequest(run, { ...call, ...defined({ news: news?.digest }) }), cancelRequested);
  const { returned, failed, ...activity } = begun === undefined ? request : afterAttempts(request, begun, Date.now());
  const ended = (outcome: ModelCallOutcome): ModelCallOutcome => {
    delete run.modelCall;
    return outcome;
  };
  const noted = {
    ...activity,
    returned: (output: CallModelOutput) => ended(returned(output)),
    failed: (error: unknown) => ended(failed(error)),
  };
  return scheduleActivity(run, noted, (started) => scope.run(() => startActivity(started)));
}

/**
 * Returns the scope for model calls, which is reused until one is interrupted: in the sandbox every promise of a new
 * scope costs a stack trace.
 */
function scopeOf(run: LiveRun): CancellationScope {
  if (run.modelScope === undefined || run.modelScope.consideredCancelled) run.modelScope = new CancellationScope({ cancellable: true });
  return run.modelScope;
}

/** Interrupts the model call in flight for a message that is to be read at once. The run continues. */
export function interruptModelCall(run: LiveRun): void {
  if (run.inbox.isInterrupted) abortModelCall(run);
}

/** Aborts the model call in flight, if there is one. The run continues. */
export function abortModelCall(run: LiveRun): void {
  if (run.modelCall === undefined) return;
  longhaul.interruptRequested(run.key ?? '');
  run.modelCall.cancel();
}

/** Runs a turn of a session in a separate cancellation scope: an interrupt cancels what it waits for, and the session continues. */
export async function withinTurn<Result>(run: LiveRun, turn: () => Promise<Result>): Promise<Result> {
  const scope = new CancellationScope({ cancellable: true });
  run.turnScope = scope;
  // The turn was interrupted in the previous execution.
  if (interruptOf(run.inbox) !== undefined) scope.cancel();
  try {
    return await scope.run(turn);
  } finally {
    delete run.turnScope;
    // Model calls of the next turn need a scope that is not cancelled.
    delete run.modelScope;
  }
}

/** Begins work while a session waits, in a separate cancellation scope: giving it up cancels what it waits for. */
export function inBackground<Outcome>(work: () => Promise<Outcome>): BackgroundWork<Outcome> {
  const scope = new CancellationScope({ cancellable: true });
  let outcome: Outcome | undefined;
  scope.run(work).then(
    (ended) => (outcome = ended),
    () => undefined,
  );
  return {
    get outcome() {
      return outcome;
    },
    giveUp() {
      if (outcome !== undefined) return;
      longhaul.cancelRequested();
      scope.cancel();
    },
  };
}

/** Cancels the current turn, if a caller has interrupted it. */
export function interruptTurn(run: LiveRun): void {
  if (interruptOf(run.inbox) === undefined || run.turnScope === undefined || run.turnScope.consideredCancelled) return;
  longhaul.cancelRequested();
  run.turnScope.cancel();
}

/** The parts of a request that start an activity. */
type ActivityCall<Input> = Pick<ActivityRequest<Input, never, never>, 'name' | 'tier' | 'options' | 'input'>;

/** How activities are started, and what happens around them. */
interface ActivityHost {
  /** Starts an activity. Rejects with its failure. */
  start<Input, Output>(call: ActivityCall<Input>): Promise<Output>;
  /** Returns the outcome for the raw result of an activity. */
  read<Output, Outcome>(call: Pick<ActivityRequest<never, Output, Outcome>, 'name' | 'returned' | 'failed'>, output: Output): Outcome;
  /** Returns the input for performing an activity again, if its result asks for it. Absent: never. */
  again?<Input, Output>(call: Pick<ActivityRequest<Input, Output, never>, 'again'>, output: Output): Input | undefined;
  /** Called at each end of an activity. */
  ended(): void;
  isCancelled(): boolean;
  /** Milliseconds since the epoch. */
  now(): number;
  /** Waits. Rejects if it is cancelled. */
  pause(ms: number, summary: string): Promise<unknown>;
  /** Called when an activity begins to wait for a worker that has what is missing, and when it no longer does. */
  waits(missing: MissingOnWorker): void;
  waited(missing: MissingOnWorker): void;
}

/** What an activity waits for, and how often it was rescheduled. */
interface WorkerWait {
  missing: MissingOnWorker;
  times: number;
}

/** Performs an activity, rescheduled for other workers if one lacks something, and returns its outcome. Never rejects. */
function performActivity<Input, Output, Outcome>(
  host: ActivityHost,
  call: ActivityRequest<Input, Output, Outcome>,
  wait?: WorkerWait,
): Promise<Outcome> {
  const ended = (): void => {
    host.ended();
    if (wait !== undefined) host.waited(wait.missing);
  };
  // Chained on the activity's own promise: in the sandbox every further promise costs a stack trace.
  return host.start<Input, Output>(call).then(
    (output) => {
      ended();
      const again = call.again === undefined ? undefined : host.again?.(call, output);
      return again === undefined ? host.read(call, output) : performActivity(host, { ...call, input: again });
    },
    (error: unknown) => {
      // A worker with a full cache cancels the local calls of a run before evicting it. A run that gets another task repeats them.
      if (call.tier === 'local' && activityProblem(error).type === 'cancelled' && !host.isCancelled())
        return performActivity(host, call, wait);
      ended();
      const missing = call.isOptional ? undefined : missingOnWorker(call, error, wait, host.now());
      if (missing === undefined) return call.failed(error);
      if (host.isCancelled()) return call.failed(isOwnActivity(call.name) ? new CancelledFailure('CANCELLED') : error);
      return rescheduleElsewhere(host, call, { missing, times: (wait?.times ?? -1) + 1 });
    },
  );
}

/** Reschedules the activity for other workers, and shows meanwhile what the run waits for. */
async function rescheduleElsewhere<Input, Output, Outcome>(
  host: ActivityHost,
  call: ActivityRequest<Input, Output, Outcome>,
  wait: WorkerWait,
): Promise<Outcome> {
  const { missing, times } = wait;
  host.waits(missing);
  try {
    const pause = pauseMs(times);
    if (pause > 0) await host.pause(pause, `no worker has ${missing.kind} ${missing.name} yet`);
  } catch (error) {
    host.waited(missing);
    return call.failed(error);
  }
  return performActivity(host, onAnotherWorker(call, missing, host.now()), wait);
}
