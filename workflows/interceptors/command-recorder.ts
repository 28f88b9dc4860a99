import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import { proxySinks, type Sinks, workflowInfo, type WorkflowInterceptorsFactory } from '@temporalio/workflow';
import { activityStep } from '../../src/core/domain/activity-messages.ts';
import { defined } from '../../src/core/domain/json.ts';

/** The commands of workflow code that a replay compares. */
export type CommandType =
  | 'activity'
  | 'local_activity'
  | 'activity_cancel'
  | 'timer'
  | 'timer_cancel'
  | 'child'
  | 'external_cancel'
  | 'external_signal'
  | 'search_attributes'
  | 'memo'
  | 'update_accepted'
  | 'update_completed'
  | 'nexus_operation'
  | 'nexus_operation_cancel'
  | 'complete'
  | 'fail'
  | 'cancel'
  | 'continue_as_new';

/** One command of a workflow task. */
export interface RecordedCommand {
  type: CommandType;
  /** The name of the activity, the child's type or the signal; empty for a command without a name. */
  name: string;
  /** The step of the run, if the command names it: calls of models and tools do. */
  step?: number;
}

/** The sink through which a replay reports its commands. */
export interface ReplaySinks extends Sinks {
  longhaulReplay: {
    /** The commands of one activation. `task` is the id of the event that began its workflow task. */
    commands(task: number, commands: RecordedCommand[]): void;
  };
}

type Interceptors = ReturnType<WorkflowInterceptorsFactory>;
type Internals = NonNullable<Interceptors['internals']>[number];
/** A command as the SDK sends it to the server. */
type Command = Parameters<NonNullable<Internals['concludeActivation']>>[0]['commands'][number];

const { longhaulReplay } = proxySinks<ReplaySinks>();

/** Accepted Updates: the rejection of an accepted one is its result. Module state belongs to one execution. */
const accepted = new Set<string>();

/** Registered for replays only: reports the commands of the code to the worker, task by task. */
export const interceptors: WorkflowInterceptorsFactory = () => ({
  internals: [
    {
      concludeActivation(input, next) {
        longhaulReplay.commands(workflowInfo().historyLength, recordable(input.commands));
        return next(input);
      },
    },
  ],
});

/** Removes the commands that the server never sees: a timer or an activity that is cancelled in the task that started it. */
function recordable(commands: readonly Command[]): RecordedCommand[] {
  const started = new Set(commands.flatMap((one) => startedKey(one) ?? []));
  const cancelled = new Set(commands.flatMap((one) => cancelledKey(one) ?? []));
  return commands
    .filter((one) => !cancelled.has(startedKey(one) ?? '') && !started.has(cancelledKey(one) ?? ''))
    .flatMap((one) => recorded(one) ?? []);
}

function startedKey({ startTimer, scheduleActivity }: Command): string | undefined {
  if (startTimer) return `timer ${startTimer.seq}`;
  return scheduleActivity ? `activity ${scheduleActivity.seq}` : undefined;
}

function cancelledKey({ cancelTimer, requestCancelActivity }: Command): string | undefined {
  if (cancelTimer) return `timer ${cancelTimer.seq}`;
  return requestCancelActivity ? `activity ${requestCancelActivity.seq}` : undefined;
}

/**
 * Returns the recorded form of a command; undefined if it leaves no event at its position in history: answers to
 * queries, rejected Updates, and patches. A local activity leaves an event when it ends.
 */
function recorded(command: Command): RecordedCommand | undefined {
  if (command.scheduleActivity) {
    const step = activityStep(decoded(command.userMetadata?.summary), decoded(command.scheduleActivity.arguments?.[0]));
    return { type: 'activity', name: command.scheduleActivity.activityType ?? '', ...defined({ step }) };
  }
  if (command.scheduleLocalActivity) return { type: 'local_activity', name: command.scheduleLocalActivity.activityType ?? '' };
  if (command.startChildWorkflowExecution) return { type: 'child', name: command.startChildWorkflowExecution.workflowType ?? '' };
  if (command.signalExternalWorkflowExecution)
    return { type: 'external_signal', name: command.signalExternalWorkflowExecution.signalName ?? '' };
  if (command.scheduleNexusOperation) return { type: 'nexus_operation', name: command.scheduleNexusOperation.operation ?? '' };
  const type = command.updateResponse ? updateType(command.updateResponse) : NAMELESS.find(([field]) => command[field])?.[1];
  return type === undefined ? undefined : { type, name: '' };
}

const NAMELESS: readonly (readonly [keyof Command, CommandType])[] = [
  ['requestCancelActivity', 'activity_cancel'],
  ['startTimer', 'timer'],
  ['cancelTimer', 'timer_cancel'],
  ['requestCancelExternalWorkflowExecution', 'external_cancel'],
  ['cancelChildWorkflowExecution', 'external_cancel'],
  ['upsertWorkflowSearchAttributes', 'search_attributes'],
  ['modifyWorkflowProperties', 'memo'],
  ['requestCancelNexusOperation', 'nexus_operation_cancel'],
  ['completeWorkflowExecution', 'complete'],
  ['failWorkflowExecution', 'fail'],
  ['cancelWorkflowExecution', 'cancel'],
  ['continueAsNewWorkflowExecution', 'continue_as_new'],
];

function updateType(response: NonNullable<Command['updateResponse']>): CommandType | undefined {
  const id = response.protocolInstanceId ?? '';
  if (response.completed) return 'update_completed';
  if (response.rejected) return accepted.has(id) ? 'update_completed' : undefined;
  accepted.add(id);
  return 'update_accepted';
}

/** Decodes a payload. Codecs run before the sandbox; payloads of a user's own converter stay undecoded. */
function decoded(payload: Payload | null | undefined): unknown {
  try {
    return payload ? defaultPayloadConverter.fromPayload(payload) : undefined;
  } catch {
    return undefined;
  }
}
