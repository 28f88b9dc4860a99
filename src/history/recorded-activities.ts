import { ActivityCancellationType } from '@temporalio/common';
import type { ActivityRequest } from '../core/activity-requests/activity-request.ts';
import { type ActivityName, hasTrait, isOwnActivity } from '../core/activity-requests/contracts.ts';
import { LonghaulError } from '../core/domain/errors.ts';
import { type EndedAttempt, isHandoff, type RecordedActivity, type RecordedExecution } from './recorded-execution.ts';
import type { ActivityEnd, RecordedTasks } from './recorded-tasks.ts';

type LocalCall = RecordedExecution['localCalls'][number];

/** Selects activities by their names. */
export type Which = (name: string) => boolean;

/** The activities of one execution that is read back. */
export class RecordedActivities {
  readonly #executionId: string;
  readonly #tasks: RecordedTasks;
  /**
   * The activities that the loop has not requested yet, by name, in the order in which the workflow requested them: all but that which
   * resolved the agent of the run, before its loop began.
   */
  readonly #left = new Map<string, RecordedExecution['activities']>();
  /** The local activities that it has not requested yet, in the order in which they ended. */
  readonly #localLeft: LocalCall[];
  readonly #running = new Set<{ name: string; input: unknown }>();
  /** The local activities that the loop has requested, as far as their attempts are known: the history has no input of them. */
  readonly localAttempts: EndedAttempt[] = [];

  constructor({ executionId, activities, localCalls }: RecordedExecution, tasks: RecordedTasks) {
    this.#executionId = executionId;
    this.#tasks = tasks;
    this.#localLeft = [...localCalls];
    for (const activity of activities) {
      if (activity.name === 'resolveAgent' && !isHandoff(activity)) continue;
      const named = this.#left.get(activity.name);
      if (named === undefined) this.#left.set(activity.name, [activity]);
      else named.push(activity);
    }
  }

  /** Returns the outcome that a request had, in the task in which the run received it. */
  perform<Input, Output, Outcome>(request: ActivityRequest<Input, Output, Outcome>): Promise<Outcome> {
    const isWaitedFor = request.options.cancellationType === ActivityCancellationType.WAIT_CANCELLATION_COMPLETED;
    return this.#outcomeOf(request, { isWaitedFor });
  }

  /** Does the same for a request that the cancellation of the run does not affect. */
  performAnyway<Input, Output, Outcome>(request: ActivityRequest<Input, Output, Outcome>): Promise<Outcome> {
    return this.#outcomeOf(request, { isWaitedFor: true, isNeverRefused: true });
  }

  /** Throws `history_unreadable` if the run received the end of an activity that the loop has not requested. */
  requireUsed(): void {
    for (const [name, named] of this.#left)
      if (named.some(({ task, input }) => task !== undefined && hasTrait('isDecisive', { name, input })))
        throw this.#diverged(`ends without the activity "${name}" that its history has`);
  }

  /** True if there are such activities that the loop has not requested yet. */
  areLeft(which: Which): boolean {
    return [...this.#left].some(([name, named]) => named.length > 0 && which(name));
  }

  /** True if the loop has not requested all local activities yet. They run as soon as they are requested: those that are left belong to this execution. */
  get areLocalLeft(): boolean {
    return this.#localLeft.length > 0;
  }

  /** True if this workflow task requested such an activity, which the loop has not requested yet. */
  startsIn(task: number, which: Which): boolean {
    // Those of a name are in order: a long history is not searched to its end for each request.
    const isFirst = (named: RecordedExecution['activities']): boolean =>
      named.find(({ scheduledIn }) => scheduledIn >= task)?.scheduledIn === task;
    return [...this.#left].some(([name, named]) => which(name) && isFirst(named));
  }

  /** True if the loop waits for such an activity. */
  areRunning(which: (activity: { name: string; input: unknown }) => boolean): boolean {
    return [...this.#running].some(which);
  }

  async #outcomeOf<Input, Output, Outcome>(
    request: ActivityRequest<Input, Output, Outcome>,
    wait: { isWaitedFor: boolean; isNeverRefused?: boolean },
  ): Promise<Outcome> {
    const recorded = this.#take(request) ?? (request.tier === 'local' ? this.#takeLocal(request) : undefined);
    this.#running.add(request);
    const { output, failure }: ActivityEnd<unknown> = await this.#tasks.endOf(recorded, wait);
    this.#running.delete(request);
    if (failure !== undefined) return request.failed(failure);
    const again = request.again?.(output as Output);
    return again === undefined ? request.returned(output as Output) : this.#outcomeOf({ ...request, input: again }, wait);
  }

  #take<Input>({ name, key, input }: ActivityRequest<Input, never, unknown>): RecordedActivity<unknown, unknown> | undefined {
    const named = this.#left.get(name) ?? [];
    const wanted = key?.(input);
    const index = key === undefined ? 0 : named.findIndex((one) => key(one.input as Partial<Input>) === wanted);
    if (index >= 0) return named.splice(index, 1)[0];
    const other = named.find((one) => hasTrait('isDecisive', { name, input: one.input }));
    // A cancelled run starts nothing: what is left belongs to a later turn.
    if (other === undefined || this.#tasks.cancelRequested()) return undefined;
    const had = key?.(other.input as Partial<Input>) ?? '';
    throw this.#diverged(`requests the activity "${name}" for "${wanted ?? ''}", and its history has that for "${had}"`);
  }

  #diverged(how: string): LonghaulError {
    const events = this.#tasks.state?.window.through ?? 0;
    return new LonghaulError(
      'history_unreadable',
      `Execution "${this.#executionId}" cannot be read back: after ${events} events, the loop of this release ${how}. Read it with the ` +
        'release that ran it, or with a worker that answers its queries',
    );
  }

  /**
   * Takes a local activity, whose marker holds no input: its output says what it was. The marker of a failure does not; it belongs to
   * the first activity that the workflow requested by that name and that is not another request's.
   */
  #takeLocal<Input>({ name, key, input }: ActivityRequest<Input, never, unknown>): LocalCall | undefined {
    const wanted = key?.(input);
    const named = this.#localLeft.filter((one) => one.input.name === name);
    const failed = named.filter(({ failure }) => failure !== undefined).toSorted((a, b) => a.input.seq - b.input.seq);
    const isWanted = (output: unknown): boolean => output !== undefined && key?.(output as Partial<Input>) === wanted;
    const returned = named.find(({ output }) => isWanted(output));
    if (returned !== undefined) this.#noteLocal(returned, input);
    const found = returned ?? failed[0];
    if (found !== undefined) this.#localLeft.splice(this.#localLeft.indexOf(found), 1);
    return found;
  }

  /** Notes a local activity that has ended with its first attempt. Nobody knows when a worker had another one. */
  #noteLocal({ input: { name, attempt, scheduledAt: localAt, endedAt }, output }: LocalCall, input: unknown): void {
    if (attempt !== 1 || localAt === undefined || endedAt === undefined) return;
    const times = { localAt, scheduledAt: localAt, startedAt: localAt, endedAt: Math.max(localAt, endedAt) };
    this.localAttempts.push({ name, input, activityId: '', attempt, ...times, output });
  }
}

/** Selects the activities of these names. */
export function withName(...names: ActivityName[]): Which {
  return (name) => isOwnActivity(name) && names.includes(name);
}
