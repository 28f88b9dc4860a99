import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import { type InjectedSinks, type ReplayResult, type ReplayWorkerOptions, Worker } from '@temporalio/worker';
import type { CodecOptions } from '../src/codec/encryption.ts';
import { defined } from '../src/core/domain/json.ts';
import { errorMessage } from '../src/core/domain/errors.ts';
import { activityStep } from '../src/core/domain/activity-messages.ts';
import { ACTIVITIES } from '../src/core/protocol.ts';
import type { HistoryEvent } from '../src/history/history-events.ts';
import { localActivityOf } from '../src/history/recorded-execution.ts';
import type { CommandType, RecordedCommand, ReplaySinks } from '../workflows/interceptors/command-recorder.ts';
import { bundleForReplay } from './bundle-workflows.ts';
import { LonghaulPlugin } from './plugin.ts';

/** Options of a Replayer. */
export interface ReplayerOptions {
  /** The module of your own workflows, as for the worker. */
  workflowsPath?: string;
  /** The codec of the worker, if it encrypts. */
  codec?: CodecOptions;
  /** Options of the Temporal Worker that matter for a replay: data converter, plugins, interceptors, a bundle built ahead. */
  worker?: Omit<ReplayWorkerOptions, 'workflowsPath'>;
}

/** The result of replaying a history. */
export type ReplayVerdict =
  /** The code's commands match the history. */
  | { type: 'ok' }
  /** The code's commands differ: a run in this state would be stuck. */
  | { type: 'diverged'; message: string; divergence: Divergence | null }
  /**
   * The history could not be replayed: the code throws, or lacks the workflow, or the history is invalid. `step` is the
   * step that was reached.
   */
  | { type: 'failed'; message: string; step: number | null };

/** Replays histories, one at a time, with the current workflow code, to test a deploy in advance. Needs no server. */
export class Replayer {
  readonly #options: ReplayerOptions;
  #results: AsyncIterableIterator<ReplayResult> | undefined;
  #next: { history: { events: HistoryEvent[] }; workflowId: string } | undefined;
  #commands = new Map<number, RecordedCommand[]>();

  /** Does not bundle yet: the first replay does. */
  constructor(options: ReplayerOptions = {}) {
    this.#options = options;
  }

  /**
   * Replays one execution: its events as the server returns them, or the JSON of a history file. Call it again only
   * after it has resolved. Throws a UsageError if the workflows cannot be bundled.
   */
  async replay(workflowId: string, history: unknown): Promise<ReplayVerdict> {
    const events = eventsOf(history);
    if (typeof events === 'string') return { type: 'failed', message: events, step: null };
    this.#commands = new Map();
    this.#next = { history: { events }, workflowId };
    this.#results ??= await this.#open();
    const { value, done } = await this.#results.next();
    if (done) throw new Error('The replay worker has ended');
    return this.#verdict(events, value.error);
  }

  /** Shuts down the replay worker. */
  async close(): Promise<void> {
    await this.#results?.return?.(undefined);
  }

  async #open(): Promise<AsyncIterableIterator<ReplayResult>> {
    const { workflowsPath, codec, worker = {} } = this.#options;
    const plugin = new LonghaulPlugin({ agents: [], providers: {}, ...defined({ codec }) });
    const plugins = [...(worker.plugins ?? []), plugin];
    const workflowBundle = worker.workflowBundle ?? (await bundleForReplay(workflowsPath, { ...worker, plugins }));
    const { interceptors: { workflowModules: _bundled, ...interceptors } = {}, bundlerOptions: _options, ...options } = worker;
    const sinks = { ...worker.sinks, ...this.#sinks() };
    return Worker.runReplayHistories({ ...options, interceptors, workflowBundle, sinks, plugins }, this.#histories());
  }

  /** Yields the histories. The SDK asks for the next one only when the next result is requested, and by then it is set. */
  *#histories(): Generator<{ history: { events: HistoryEvent[] }; workflowId: string }> {
    while (this.#next !== undefined) {
      const next = this.#next;
      this.#next = undefined;
      yield next;
    }
  }

  /** Collects the commands of each task, which can have several activations. */
  #sinks(): InjectedSinks<ReplaySinks> {
    const record = (task: number, commands: RecordedCommand[]): void => {
      this.#commands.set(task, [...(this.#commands.get(task) ?? []), ...commands]);
    };
    return { longhaulReplay: { commands: { fn: (_info, task, commands) => record(task, commands), callDuringReplay: true } } };
  }

  #verdict(events: HistoryEvent[], error: ReplayResult['error']): ReplayVerdict {
    if (error === undefined) return { type: 'ok' };
    const message = coreMessage(error.message, workflowTypeOf(events));
    if (error.name !== 'DeterminismViolationError') return { type: 'failed', message, step: lastStep(this.#commands) };
    return { type: 'diverged', message, divergence: firstDivergence(historyTasks(events), this.#commands) ?? null };
  }
}

/** Returns the events of a history in any of its formats, or the problem with it. */
function eventsOf(history: unknown): HistoryEvent[] | string {
  const events: unknown = Array.isArray(history) ? history : isObject(history) ? history['events'] : undefined;
  if (Array.isArray(events) && events.length === 0) return 'This is not a history: its list of events is empty';
  if (!Array.isArray(events) || !isObject(events[0])) return 'This is not a history: it has no list of events';
  if (typeof events[0]['eventId'] !== 'string') return events as HistoryEvent[];
  try {
    return historyFromJSON({ events }).events ?? [];
  } catch (error) {
    return `This is not a history: ${errorMessage(error)}`;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** Returns the message of the SDK without the format in which it prints its own structures. */
function coreMessage(text: string, workflowType: string): string {
  const quoted = /message: ("(?:[^"\\]|\\.)*")/.exec(text)?.[1];
  const message = quoted === undefined ? text : String(JSON.parse(quoted.replaceAll("\\'", "'")));
  if (message.includes('no such function is exported')) {
    return `The code has no workflow of type "${workflowType}": it is not the run of an agent. Name the module that has it with --workflows (workflowsPath)`;
  }
  return message.replace(/^\[TMPRL1100\] Nondeterminism error: /, '');
}

/** The first difference between the code's commands and a history. */
export interface Divergence {
  /** The step of the run, 1-based; null before its first call. */
  step: number | null;
  /** The event of the history: the command that the code did not repeat, or the end of the task in which it issued another. */
  eventId: number;
  /** The command of the history, in words: `activity "callModel"`. */
  expected: string;
  /** The command of the code, in words. */
  actual: string;
}

/** The commands of the code, by the id of the event that began the workflow task. */
type ActualCommands = ReadonlyMap<number, readonly RecordedCommand[]>;

/** Returns the first command that differs; undefined if all comparable commands are equal. */
function firstDivergence(tasks: readonly HistoryTask[], actual: ActualCommands): Divergence | undefined {
  let step: number | null = null;
  /** Local activities that the code has started, and whose end the history has not recorded yet. */
  const running: RecordedCommand[] = [];
  for (const { task, completed, commands } of tasks) {
    const done = actual.get(task);
    // A task that only waits for local activities is replayed together with the next one.
    if (done === undefined && commands.length === 0) continue;
    // The replay ended before this task: later ones cannot be compared.
    if (done === undefined) return undefined;
    const [others, own] = [commands.filter((one) => !isLocal(one)), done.filter((one) => !isLocal(one))];
    running.push(...done.filter(isLocal));
    const missing = commands.filter(isLocal).find((one) => !takeEqual(running, one));
    if (missing !== undefined) return { step, eventId: missing.eventId, expected: commandText(missing), actual: commandText(own[0]) };
    for (let index = 0; index < Math.max(others.length, own.length); index += 1) {
      const [expected, issued] = [others[index], own[index]];
      if (isSame(expected, issued)) step = issued?.step ?? step;
      else
        return {
          step: stepAt(expected, issued) ?? step,
          eventId: expected?.eventId ?? completed,
          expected: commandText(expected),
          actual: commandText(issued ?? running[0]),
        };
    }
  }
  return undefined;
}

function isLocal({ type }: RecordedCommand): boolean {
  return type === 'local_activity';
}

/** Removes an equal command. Returns false if there is none. */
function takeEqual(commands: RecordedCommand[], command: RecordedCommand): boolean {
  const index = commands.findIndex((one) => isSame(one, command));
  if (index >= 0) commands.splice(index, 1);
  return index >= 0;
}

/** Returns the step that the replay reached; null before the first. */
export function lastStep(actual: ActualCommands): number | null {
  return [...actual.values()].flat().reduce<number | null>((step, command) => command.step ?? step, null);
}

/** Returns the step of a difference: the history's, unless it has no command there or a codec made its summaries unreadable. */
function stepAt(expected: HistoryCommand | undefined, own: RecordedCommand | undefined): number | undefined {
  const isModelCall = expected?.name === ACTIVITIES.callModel;
  return expected?.step ?? (expected === undefined || isModelCall ? own?.step : undefined);
}

function isSame(expected: RecordedCommand | undefined, own: RecordedCommand | undefined): boolean {
  return expected?.type === own?.type && expected?.name === own?.name;
}

const COMMAND_WORDS: Record<CommandType, string> = {
  activity: 'activity',
  local_activity: 'local activity',
  activity_cancel: 'the cancellation of an activity',
  timer: 'a timer',
  timer_cancel: 'the cancellation of a timer',
  child: 'child workflow',
  external_cancel: 'the cancellation of another workflow',
  external_signal: 'signal',
  search_attributes: 'a change of search attributes',
  memo: 'a change of the memo',
  update_accepted: 'the acceptance of an Update',
  update_completed: 'the answer to an Update',
  nexus_operation: 'Nexus operation',
  nexus_operation_cancel: 'the cancellation of a Nexus operation',
  complete: 'the end as Completed',
  fail: 'the end as Failed',
  cancel: 'the end as Canceled',
  continue_as_new: 'continue-as-new',
};

function commandText(command: RecordedCommand | undefined): string {
  if (command === undefined) return 'nothing more in this task';
  return command.name === '' ? COMMAND_WORDS[command.type] : `${COMMAND_WORDS[command.type]} "${command.name}"`;
}

/** A command that the server recorded, and its event. */
interface HistoryCommand extends RecordedCommand {
  eventId: number;
}

/** The commands of one workflow task in a history. */
interface HistoryTask {
  /** The id of the event that began it. */
  task: number;
  /** The id of the event that recorded its end: a command follows it. */
  completed: number;
  commands: HistoryCommand[];
}

/** Returns the completed workflow tasks of a history, in order, with their commands. */
function historyTasks(events: readonly HistoryEvent[]): HistoryTask[] {
  const tasks: HistoryTask[] = [];
  for (const event of events) {
    const completed = event.workflowTaskCompletedEventAttributes;
    if (completed) tasks.push({ task: Number(completed.startedEventId), completed: Number(event.eventId), commands: [] });
    const command = commandOf(event);
    if (command !== undefined) tasks.at(-1)?.commands.push({ ...command, eventId: Number(event.eventId) });
  }
  return tasks;
}

/** Returns the workflow type that a history begins with. */
function workflowTypeOf(events: readonly HistoryEvent[]): string {
  return events[0]?.workflowExecutionStartedEventAttributes?.workflowType?.name ?? '';
}

/**
 * Returns the command that caused an event. Patches are omitted: the position of a marker says little about when the code
 * called `patched`.
 */
function commandOf(event: HistoryEvent): RecordedCommand | undefined {
  const activity = event.activityTaskScheduledEventAttributes;
  if (activity) {
    const step = activityStep(decoded(event.userMetadata?.summary), decoded(activity.input?.payloads?.[0]));
    return { type: 'activity', name: activity.activityType?.name ?? '', ...defined({ step }) };
  }
  const marker = event.markerRecordedEventAttributes;
  const local = marker ? localActivityOf(marker) : undefined;
  if (local) return { type: 'local_activity', name: local.name };
  const child = event.startChildWorkflowExecutionInitiatedEventAttributes;
  if (child) return { type: 'child', name: child.workflowType?.name ?? '' };
  const signal = event.signalExternalWorkflowExecutionInitiatedEventAttributes;
  if (signal) return { type: 'external_signal', name: signal.signalName ?? '' };
  const operation = event.nexusOperationScheduledEventAttributes;
  if (operation) return { type: 'nexus_operation', name: operation.operation ?? '' };
  if (isPatchAttribute(event)) return undefined;
  const type = NAMELESS.find(([field]) => event[field])?.[1];
  return type === undefined ? undefined : { type, name: '' };
}

const NAMELESS: readonly (readonly [keyof HistoryEvent, CommandType])[] = [
  ['activityTaskCancelRequestedEventAttributes', 'activity_cancel'],
  ['timerStartedEventAttributes', 'timer'],
  ['timerCanceledEventAttributes', 'timer_cancel'],
  ['requestCancelExternalWorkflowExecutionInitiatedEventAttributes', 'external_cancel'],
  ['upsertWorkflowSearchAttributesEventAttributes', 'search_attributes'],
  ['workflowPropertiesModifiedEventAttributes', 'memo'],
  ['workflowExecutionUpdateAcceptedEventAttributes', 'update_accepted'],
  ['workflowExecutionUpdateCompletedEventAttributes', 'update_completed'],
  ['nexusOperationCancelRequestedEventAttributes', 'nexus_operation_cancel'],
  ['workflowExecutionCompletedEventAttributes', 'complete'],
  ['workflowExecutionFailedEventAttributes', 'fail'],
  ['workflowExecutionCanceledEventAttributes', 'cancel'],
  ['workflowExecutionContinuedAsNewEventAttributes', 'continue_as_new'],
];

/** True for the search attribute with which the SDK makes a run findable by its patches: it is not a command of the code. */
function isPatchAttribute({ upsertWorkflowSearchAttributesEventAttributes: upsert }: HistoryEvent): boolean {
  const fields = Object.keys(upsert?.searchAttributes?.indexedFields ?? {});
  return fields.length === 1 && fields[0] === 'TemporalChangeVersion';
}

/** Decodes a payload; undefined if a codec made it unreadable, in which case only the step is unknown. */
function decoded(payload: Payload | null | undefined): unknown {
  try {
    return payload ? defaultPayloadConverter.fromPayload(payload) : undefined;
  } catch {
    return undefined;
  }
}
