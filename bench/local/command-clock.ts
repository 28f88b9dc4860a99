import type { Sinks } from '@temporalio/workflow';
import { native } from '@temporalio/core-bridge';
import type { ActivityInterceptorsFactory, InjectedSinks } from '@temporalio/worker';

/** The sink through which a workflow reports its commands. */
export interface CommandSinks extends Sinks {
  bench: {
    /**
     * Activities were scheduled at that time: milliseconds since the epoch. The worker sees the commands only once it has
     * encoded them.
     */
    asked(at: number): void;
  };
}

/** Times of one activity of a run, in milliseconds since the epoch. */
interface Notes {
  starts: { name: string; at: number }[];
  begun: number[];
  commands: number[];
}

/** The times after the calls of one activity of a run, in milliseconds. */
export interface AfterCalls {
  /**
   * From the start of the activity's function, the tool's or the empty one, to the next command: the workflow has handled the
   * result and scheduled the next activity, which the worker has not seen yet.
   */
  toNextCommand: number[];
  /** From the moment when the worker passes the activity to its function until it passes the next one, if it is the same activity. */
  toNextCall: number[];
}

/**
 * Measures from the start of an activity to the next command of its workflow. Only for workflows that schedule one activity at
 * a time.
 */
export class CommandClock {
  readonly #now: () => number;
  readonly #notes = new Map<string, Notes>();

  /** `now` is in milliseconds since the epoch. The default clock exists in the sandbox too. */
  constructor(now: () => number = () => Number(native.getTimeOfDay()) / 1e6) {
    this.#now = now;
  }

  /** Must be registered with the worker, along with `sinks` and the module of `command-recorder.ts`. */
  readonly interceptor: ActivityInterceptorsFactory = ({ info }) => ({
    inbound: {
      execute: (input, next) => {
        const { workflowExecution, activityType: name } = info;
        this.#of(workflowExecution?.workflowId ?? '').starts.push({ name, at: this.#now() });
        return next(input);
      },
    },
  });

  readonly sinks: InjectedSinks<CommandSinks> = {
    bench: {
      asked: {
        fn: ({ workflowId }, at) => {
          this.#of(workflowId).commands.push(at);
        },
        callDuringReplay: false,
      },
    },
  };

  /** Must be called by a tool, or an activity, when it begins. */
  begin(workflowId: string): void {
    this.#of(workflowId).begun.push(this.#now());
  }

  /** Returns the times after each activity of that name in a run, and deletes them. */
  take(workflowId: string, name: string): AfterCalls {
    const { starts, begun, commands } = this.#of(workflowId);
    this.#notes.delete(workflowId);
    const toNextCommand = begun.flatMap((at) => {
      const command = commands.find((one) => one > at);
      return command === undefined ? [] : [command - at];
    });
    const toNextCall = starts.flatMap((start, index) => {
      const next = starts[index + 1];
      return start.name === name && next?.name === name ? [next.at - start.at] : [];
    });
    return { toNextCommand, toNextCall };
  }

  #of(workflowId: string): Notes {
    const notes = this.#notes.get(workflowId) ?? { starts: [], begun: [], commands: [] };
    this.#notes.set(workflowId, notes);
    return notes;
  }
}
