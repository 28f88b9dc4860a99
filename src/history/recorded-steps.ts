import { modelFailure } from '../core/activity-requests/activity-request.ts';
import {
  childProblem,
  ENDED_SESSION,
  endOfFailure,
  messageProblem,
  readChild,
  readChildFailure,
} from '../core/activity-requests/child-requests.ts';
import {
  askOutcome,
  loadFailure,
  loadOutput,
  memoryFailure,
  storeFailure,
  storeOutcome,
} from '../core/activity-requests/program-requests.ts';
import type { ChildCall, ChildOutcome } from '../core/domain/children.ts';
import { errorMessage } from '../core/domain/errors.ts';
import type { StoredOutput } from '../core/domain/program-run.ts';
import { DEFAULT_CHILD_CHECK_MS } from '../core/domain/run-input.ts';
import { type ChildEffects, followChild } from '../core/loop/children.ts';
import type { Growth } from '../core/loop/ports.ts';
import type {
  AskCall,
  AskOutcome,
  LoadOutcome,
  MemoryCall,
  MemoryOutcome,
  ProgramPorts,
  StoreOutcome,
} from '../core/program/program-run.ts';
import type { AskStepOutput, UseMemoryOutput } from '../core/protocol.ts';
import {
  attemptAddress,
  childOf,
  isFull,
  isFullFor,
  loadAddress,
  type RecordedActivity,
  type RecordedExecution,
} from './recorded-execution.ts';
import type { ActivityEnd, RecordedTasks } from './recorded-tasks.ts';

/** The steps of a program that is read back, as far as history has recorded them. */
export class RecordedSteps {
  readonly outputs: RecordedOutputs;
  readonly #recorded: RecordedExecution;
  readonly #tasks: RecordedTasks;
  /** Attempts that the program has not made yet. */
  readonly #attemptsLeft: Set<string>;
  #attemptsRunning = 0;
  /** Children that the program has not started yet, or not waited for. */
  readonly #childrenLeft: Set<string>;
  readonly #used = new Map<string, UsedRequests>();
  /** The number of children whose results are being read. */
  #childrenRead = 0;

  constructor(recorded: RecordedExecution, tasks: RecordedTasks) {
    this.#recorded = recorded;
    this.#tasks = tasks;
    this.#attemptsLeft = new Set(recorded.stepAttempts.keys());
    this.#childrenLeft = new Set(recorded.children.keys());
    this.outputs = new RecordedOutputs(recorded, tasks);
  }

  async ask({ address, attempt, model }: AskCall): Promise<AskOutcome> {
    const ended = await this.#attempt<AskStepOutput>(address, attempt);
    return ended.failure === undefined ? askOutcome(ended.output) : modelFailure(model, ended.failure);
  }

  async useMemory({ address, attempt }: MemoryCall): Promise<MemoryOutcome> {
    const ended = await this.#attempt<UseMemoryOutput>(address, attempt);
    return ended.failure === undefined ? { type: 'done', ...ended.output } : memoryFailure(ended.failure);
  }

  async runChild(call: ChildCall): Promise<ChildOutcome> {
    const { childCheckMs = DEFAULT_CHILD_CHECK_MS } = this.#tasks.state?.snapshot.timing ?? {};
    this.#childrenLeft.delete(call.runId);
    const effects = recordedChildEffects(this.#recorded, this.#tasks, call, this.#usedBy(call));
    const read: typeof effects.read = async () => {
      this.#childrenRead += 1;
      const child = await effects.read();
      this.#childrenRead -= 1;
      return child;
    };
    // A run that decides to continue before a child has started leaves that child as soon as it starts: history shows it by what the child is told.
    const { told } = childOf(this.#recorded, call.runId);
    const isLeft = (): boolean => call.isLeft() || (told?.scheduledIn ?? Infinity) <= this.#tasks.number;
    return followChild({ ...effects, read }, { ...call, isLeft }, childCheckMs);
  }

  /**
   * True if the program continues in the next execution and starts nothing more in this one: steps that history starts
   * later did not see a full history.
   */
  continues(growth: Growth, { toolsRunning }: { toolsRunning: boolean }): boolean {
    const { end, archivings, storings, timers } = this.#recorded;
    if (end?.type !== 'continued' && archivings.length + storings.length === 0) return false;
    if (this.#attemptsLeft.size > 0 || this.#childrenLeft.size > 0 || this.outputs.left > 0) return false;
    const task = this.#tasks.number;
    const size = this.#recorded.taskSizes?.[task - 1];
    const limit = this.#tasks.state?.snapshot.continueAsNew;
    if (!isFullFor(growth, size, limit)) return false;
    // A run that continues tells its children in the same task.
    const tells = [...this.#recorded.children.values()].flatMap(({ told }) => told?.scheduledIn ?? []);
    if (tells.length > 0) return task >= Math.min(...tells);
    const isDraining = (this.#attemptsRunning > 0 || toolsRunning) && [...timers].every((timer) => timer <= task);
    // A program that reads the result of a child may continue before it has that result, and may go on if there is room.
    const isReading = this.#childrenRead > 0 && isFull(size, growth, limit);
    return this.#tasks.isDecided || isDraining || isReading;
  }

  /** Returns the requests that were made about a child: those about a session are counted over all its turns. */
  #usedBy({ runId }: ChildCall): UsedRequests {
    const used = this.#used.get(runId) ?? { nextTurns: 0, interrupts: 0, reads: 0 };
    this.#used.set(runId, used);
    return used;
  }

  async #attempt<Output>(step: string, attempt: number): Promise<ActivityEnd<Output>> {
    const address = attemptAddress({ step, attempt });
    const recorded = this.#recorded.stepAttempts.get(address);
    this.#attemptsLeft.delete(address);
    this.#attemptsRunning += 1;
    const ended = await this.#tasks.endOf(recorded as RecordedActivity<unknown, Output> | undefined, { isWaitedFor: true });
    this.#attemptsRunning -= 1;
    return ended;
  }
}

/** The outputs that an execution of a program has moved to the payload store, and loaded from it. */
class RecordedOutputs implements Pick<ProgramPorts, 'storeOutputs' | 'loadOutput'> {
  readonly #recorded: RecordedExecution;
  readonly #tasks: RecordedTasks;
  #storings = 0;
  /** Outputs and pieces that the program has not asked for yet. */
  readonly #left: Set<string>;

  constructor(recorded: RecordedExecution, tasks: RecordedTasks) {
    this.#recorded = recorded;
    this.#tasks = tasks;
    this.#left = new Set(recorded.loads.keys());
  }

  /** The number of outputs that the program will load in this execution. */
  get left(): number {
    return this.#left.size;
  }

  async storeOutputs(): Promise<StoreOutcome> {
    const recorded = this.#recorded.storings[this.#storings];
    this.#storings += 1;
    const ended = await this.#tasks.endOf(recorded, { isWaitedFor: true });
    return ended.failure === undefined ? storeOutcome(ended.output) : storeFailure(ended.failure);
  }

  loadOutput({ id }: StoredOutput): Promise<LoadOutcome> {
    return loadOutput(async (from) => {
      const address = loadAddress({ id, from });
      this.#left.delete(address);
      const ended = await this.#tasks.endOf(this.#recorded.loads.get(address), { isWaitedFor: true });
      return ended.failure === undefined ? ended.output : loadFailure(ended.failure);
    });
  }
}

/** The number of requests about a child that the run which is read back has made. */
interface UsedRequests {
  nextTurns: number;
  interrupts: number;
  reads: number;
}

/** Returns the effects of the wait for a child of a run that is read back. */
function recordedChildEffects(
  recorded: RecordedExecution,
  tasks: RecordedTasks,
  { runId, turn }: ChildCall,
  used: UsedRequests,
): ChildEffects {
  const child = childOf(recorded, runId);
  const waited = { isWaitedFor: true };
  return {
    start: async (start) => {
      const problem = childProblem(start);
      if (problem !== undefined) return problem;
      const { failure } = await tasks.endOf(child.started, { ...waited, isNeverRefused: true });
      if (failure === undefined && turn === undefined) tasks.inbox.forgetChild(runId);
      return failure === undefined ? undefined : errorMessage(failure);
    },
    sendNext: async (next) => {
      const problem = messageProblem(next);
      if (problem !== undefined) return problem;
      const { failure } = await tasks.endOf(child.nextTurns[used.nextTurns++], { ...waited, isNeverRefused: true });
      return failure === undefined ? undefined : ENDED_SESSION;
    },
    end: () => {
      const { closed } = child;
      if (closed === undefined || (closed.task ?? Infinity) > tasks.number) return undefined;
      const { output, failure } = closed;
      return output === undefined ? endOfFailure(failure) : { type: 'ended', result: output };
    },
    hasReported: () => tasks.inbox.hasChildEnded(runId),
    isCancelled: () => tasks.cancelRequested(),
    tell: async () => (await tasks.endOf(child.told, { ...waited, isNeverRefused: true })).failure === undefined,
    cancel: async () => {
      const request = turn === undefined ? child.cancelled : child.interrupts[used.interrupts++];
      await tasks.endOf(request, { ...waited, isNeverRefused: true });
    },
    read: async () => {
      const ended = await tasks.endOf(child.reads[used.reads++], { ...waited, isNeverRefused: true });
      return ended.failure === undefined ? readChild(ended.output) : readChildFailure(ended.failure);
    },
    wait: (isMet, deadline) => tasks.untilMet(isMet, deadline?.at),
    now: () => tasks.now(),
  };
}
