import { ActivityCancellationType } from '@temporalio/common';
import type { ActivityRequest } from '../core/activity-requests/activity-request.ts';
import { isToolActivity, type RecordedActivity, type RecordedExecution } from './recorded-execution.ts';
import type { ActivityEnd, RecordedTasks } from './recorded-tasks.ts';

type LocalCall = RecordedExecution['localCalls'][number];

/** Selects activities. */
export type Which = (activity: { name: string; input: unknown }) => boolean;

/** The activities of one execution that is read back. */
export class RecordedActivities {
  readonly #tasks: RecordedTasks;
  /** The activities that the loop has not requested yet, by name, in the order in which the workflow requested them. */
  readonly #left = new Map<string, RecordedExecution['activities']>();
  /** The local activities that it has not requested yet, in the order in which they ended. */
  readonly #localLeft: LocalCall[];
  readonly #running = new Set<{ name: string; input: unknown }>();

  constructor({ activities, localCalls }: RecordedExecution, tasks: RecordedTasks) {
    this.#tasks = tasks;
    this.#localLeft = [...localCalls];
    for (const activity of activities) {
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

  /** Returns the activities that the loop has not requested yet. */
  left(which: Which): RecordedExecution['activities'] {
    return [...this.#left.values()].flatMap((named) => named.filter(which));
  }

  /** True if the loop has not requested all local activities yet. They run as soon as they are requested: those that are left belong to this execution. */
  get areLocalLeft(): boolean {
    return this.#localLeft.length > 0;
  }

  /** True if this workflow task requested such an activity, which the loop has not requested yet. */
  startsIn(task: number, which: Which): boolean {
    return this.left(which).some(({ scheduledIn }) => scheduledIn === task);
  }

  /** True if the loop waits for such an activity. */
  areRunning(which: Which): boolean {
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
    return failure === undefined ? request.returned(output as Output) : request.failed(failure);
  }

  #take<Input>({ name, key, input }: ActivityRequest<Input, never, unknown>): RecordedActivity<unknown, unknown> | undefined {
    const named = this.#left.get(name) ?? [];
    const wanted = key?.(input);
    const index = key === undefined ? 0 : named.findIndex((one) => key(one.input as Partial<Input>) === wanted);
    return index < 0 ? undefined : named.splice(index, 1)[0];
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
    const found = named.find(({ output }) => isWanted(output)) ?? failed[0];
    if (found !== undefined) this.#localLeft.splice(this.#localLeft.indexOf(found), 1);
    return found;
  }
}

/** Selects activities by their names. */
export function withName(...names: string[]): Which {
  return ({ name }) => names.includes(name);
}

/** Selects the calls of tools. */
export const ofTools: Which = ({ name }) => isToolActivity(name);
