import { ACTIVITIES } from '../src/core/protocol.ts';
import type { CommandType, RecordedCommand } from '../workflows/interceptors/command-recorder.ts';
import type { HistoryCommand, HistoryTask } from './replay-history.ts';

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
export type ActualCommands = ReadonlyMap<number, readonly RecordedCommand[]>;

/** Returns the first command that differs; undefined if all comparable commands are equal. */
export function firstDivergence(tasks: readonly HistoryTask[], actual: ActualCommands): Divergence | undefined {
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
    const missing = commands.filter(isLocal).find((one) => !take(running, one));
    if (missing !== undefined) return { step, eventId: missing.eventId, expected: words(missing), actual: words(own[0]) };
    for (let index = 0; index < Math.max(others.length, own.length); index += 1) {
      const [expected, issued] = [others[index], own[index]];
      if (isSame(expected, issued)) step = issued?.step ?? step;
      else
        return {
          step: stepAt(expected, issued) ?? step,
          eventId: expected?.eventId ?? completed,
          expected: words(expected),
          actual: words(issued ?? running[0]),
        };
    }
  }
  return undefined;
}

function isLocal({ type }: RecordedCommand): boolean {
  return type === 'local_activity';
}

/** Removes an equal command; returns false if there is none. */
function take(commands: RecordedCommand[], command: RecordedCommand): boolean {
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

const WORDS: Record<CommandType, string> = {
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

function words(command: RecordedCommand | undefined): string {
  if (command === undefined) return 'nothing more in this task';
  return command.name === '' ? WORDS[command.type] : `${WORDS[command.type]} "${command.name}"`;
}
