import type { ChildCall, ChildOutcome, ChildStart, NextTurnInput } from '../../../../src/core/domain/children.ts';
import type { RunResultFields } from '../../../../src/core/domain/result.ts';
import { closeUnstarted } from '../../../../src/core/kernel/run-loop.ts';
import type { AllPorts } from '../../../../src/core/capabilities.ts';
import type { Caller, FakeRun } from './fake-ports.ts';

/** The children of a fake run, over all its executions. A test says when each one ends. */
export class FakeChildren {
  /** The starts by run id, in their order. */
  readonly started = new Map<string, ChildStart>();
  /** The children that were cancelled. */
  readonly cancelled: string[] = [];
  /** The messages to children that the run keeps, in their order. */
  readonly asked: NextTurnInput[] = [];
  /** The most children that were alive at a time. */
  mostAlive = 0;
  readonly #ended = new Map<string, RunResultFields>();
  #ids = 0;

  /** The ports of the current execution. */
  ports(run: FakeRun): Pick<AllPorts, 'runChild' | 'childRunId'> {
    return {
      childRunId: (prefix) => `${prefix}${(this.#ids += 1)}`,
      runChild: (call) => this.#run(run, call),
    };
  }

  /** Ends the child that was started at this place, counted from 0. The answer is its own place unless given. */
  ends(place: number, changes: Partial<RunResultFields> = {}): Caller {
    return () => {
      const runId = [...this.started.keys()][place];
      if (runId !== undefined) this.#ended.set(runId, { ...resultOf(runId, `answer ${place}`), ...changes });
    };
  }

  /** Ends one of the children that are alive: the first in that order of their places. */
  endsNext(order: readonly number[]): Caller {
    return (run) => {
      const ids = [...this.started.keys()];
      const next = order.find((place) => ids[place] !== undefined && !this.#ended.has(ids[place]));
      if (next !== undefined) this.ends(next)(run);
    };
  }

  async #run({ scheduler }: FakeRun, { runId, start, next, seenAt, isLeft, isGivenUp }: ChildCall): Promise<ChildOutcome> {
    if (start !== undefined) this.started.set(runId, start);
    if (next !== undefined) {
      this.asked.push(next);
      this.#ended.delete(runId);
    }
    this.mostAlive = Math.max(this.mostAlive, this.started.size - this.#ended.size);
    const isOver = (): boolean => scheduler.cancelled || isGivenUp?.() === true;
    await scheduler.until(() => this.#ended.has(runId) || isOver() || isLeft());
    // The loop sees the end of the call before its own wait is checked again.
    return scheduler.during(this.#outcome(runId, seenAt, isOver()));
  }

  #outcome(runId: string, seenAt: number, isOver: boolean): ChildOutcome {
    const result = this.#ended.get(runId);
    if (result !== undefined) return { type: 'ended', result };
    if (!isOver) return { type: 'left', seenAt };
    this.cancelled.push(runId);
    const cancelled: RunResultFields = { ...resultOf(runId, 'half'), status: 'cancelled', stopReason: 'cancelled' };
    this.#ended.set(runId, cancelled);
    return { type: 'cancelled', result: cancelled };
  }
}

function resultOf(runId: string, output: string): RunResultFields {
  const ending = { output, status: 'completed' as const, stopReason: 'final_answer' as const };
  return closeUnstarted({ runId, agentName: 'below', startedAt: 0 }, { now: () => 1 }, ending);
}
