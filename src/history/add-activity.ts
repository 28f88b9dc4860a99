import type { LoadOutputInput, LoadOutputOutput } from '../core/domain/program/messages.ts';
import {
  ACTIVITIES,
  type AskStepInput,
  type NotifyEndedInput,
  type ReadResultInput,
  type RunSegmentInput,
  type RunSegmentOutput,
} from '../core/protocol.ts';
import type { AtEndInput, BeforeCallsInput, CallHooksOutput, ReviewedCalls } from '../core/domain/hooks/hook-messages.ts';
import { isJsonObject } from '../core/domain/json/json.ts';
import { childOf } from './children/recorded-child.ts';
import { attemptAddress, callKey, loadAddress, type RecordedActivity, type RecordedExecution } from './recorded-execution.ts';
import { segmentAddress } from './tools/recorded-segments.ts';
import type { NamedActivity } from './rescheduled-activity.ts';

/** Adds an activity to the record of its execution, by its name. */
export function addActivity(execution: RecordedExecution, activity: NamedActivity): void {
  const { scheduledIn } = activity;
  switch (activity.name) {
    case ACTIVITIES.resolveAgent:
      return addHandoff(execution, activity);
    case ACTIVITIES.resolveProgram:
    case ACTIVITIES.requestCancel:
    case ACTIVITIES.checkParent:
      return;
    case ACTIVITIES.readResult:
      return addRead(execution, activity as RecordedActivity<ReadResultInput, unknown>);
    case ACTIVITIES.readCallInput:
      execution.messageReads.push(activity as RecordedExecution['messageReads'][number]);
      return;
    case ACTIVITIES.callModel:
      execution.modelCalls.push(activity as RecordedExecution['modelCalls'][number]);
      return;
    case ACTIVITIES.askStep:
    case ACTIVITIES.useMemory:
    case ACTIVITIES.readProgram:
    case ACTIVITIES.storeOutputs:
    case ACTIVITIES.loadOutput:
      return addOfProgram(execution, activity);
    case ACTIVITIES.summarise:
      execution.summaries.push(activity as RecordedExecution['summaries'][number]);
      return;
    case ACTIVITIES.checkGuardrails:
      execution.guardrailChecks.push(activity as RecordedExecution['guardrailChecks'][number]);
      return;
    case ACTIVITIES.authorizeDecision:
    case ACTIVITIES.notifyWaiting:
      return addAboutDecision(execution, activity);
    case ACTIVITIES.runCode:
      return addSegment(execution, activity as RecordedActivity<RunSegmentInput, RunSegmentOutput>);
    case ACTIVITIES.verifyCall:
    case ACTIVITIES.askTerms:
    case ACTIVITIES.callHooks:
      return addAboutCall(execution, activity);
    case ACTIVITIES.notifyEnded:
      execution.endNotification = activity as RecordedActivity<NotifyEndedInput, unknown>;
      execution.decidedIn ??= scheduledIn;
      return;
    case ACTIVITIES.archiveEvents:
      execution.archivings.push(activity as RecordedExecution['archivings'][number]);
      execution.decidedIn ??= scheduledIn;
      return;
    default:
      setByKey(execution, execution.toolCalls, activity);
  }
}

function addAboutDecision(execution: RecordedExecution, activity: NamedActivity): void {
  if (activity.name === ACTIVITIES.authorizeDecision) {
    execution.authorizations.push(activity as RecordedExecution['authorizations'][number]);
  } else execution.notifications.push(activity as RecordedExecution['notifications'][number]);
}

/** Adds an activity about a call beside the call itself. Hooks at the end of the run tell that the loop has ended. */
function addAboutCall(execution: RecordedExecution, activity: NamedActivity): void {
  if (activity.name === ACTIVITIES.verifyCall) setByKey(execution, execution.verifications, activity);
  else if (activity.name === ACTIVITIES.askTerms) setByKey(execution, execution.termsRequests, activity);
  else if (isJsonObject(activity.input) && 'callId' in activity.input) setByKey(execution, execution.afterCalls, activity);
  else if (isJsonObject(activity.input) && 'beforeCallsOf' in activity.input) {
    const review = activity as RecordedActivity<BeforeCallsInput, ReviewedCalls>;
    execution.reviews.set(review.input.beforeCallsOf, review);
  } else {
    execution.endHooks = activity as RecordedActivity<AtEndInput, CallHooksOutput>;
    execution.decidedIn ??= activity.scheduledIn;
  }
}

/** True for the activity that resolves an agent which takes over. */
export function isHandoff({ name, input }: NamedActivity): boolean {
  return name === ACTIVITIES.resolveAgent && isJsonObject(input) && 'from' in input;
}

/** Adds the activity if it resolves an agent which takes over, and not the one that the run begins with. */
function addHandoff({ handoffs }: RecordedExecution, activity: NamedActivity): void {
  if (isHandoff(activity)) handoffs.push(activity as RecordedExecution['handoffs'][number]);
}

function addSegment({ segments }: RecordedExecution, segment: RecordedActivity<RunSegmentInput, RunSegmentOutput>): void {
  segments.set(segmentAddress(segment.input.at, segment.input.segment), segment);
}

/** Adds an activity of a program. */
function addOfProgram(execution: RecordedExecution, activity: NamedActivity): void {
  switch (activity.name) {
    case ACTIVITIES.readProgram:
      execution.earlierRead = activity as NonNullable<RecordedExecution['earlierRead']>;
      return;
    case ACTIVITIES.storeOutputs:
      execution.storings.push(activity as RecordedExecution['storings'][number]);
      execution.decidedIn ??= activity.scheduledIn;
      return;
    case ACTIVITIES.loadOutput: {
      const load = activity as RecordedActivity<LoadOutputInput, LoadOutputOutput>;
      execution.loads.set(loadAddress(load.input), load);
      return;
    }
    default: {
      const attempt = activity as RecordedActivity<AskStepInput, unknown>;
      execution.stepAttempts.set(attemptAddress(attempt.input), attempt);
    }
  }
}

/** Adds the reading of the result of a child. */
function addRead(execution: RecordedExecution, read: RecordedActivity<ReadResultInput, unknown>): void {
  childOf(execution, read.input.runId).reads.push(read);
}

/** Stores an activity that concerns a tool call under the key of that call. */
function setByKey<Input extends { at: [offset: number, index: number]; callId: string }, Output>(
  execution: RecordedExecution,
  calls: Map<string, RecordedActivity<Input, Output>>,
  activity: NamedActivity,
): void {
  const call = activity as RecordedActivity<Input, Output>;
  calls.set(callKey(execution, call.input), call);
}
