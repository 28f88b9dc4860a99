import { native } from '@temporalio/core-bridge';
import type { ActivityInterceptorsFactory, InjectedSinks } from '@temporalio/worker';
import type { CommandSinks } from './protocol.ts';

/** What happened to a run. Milliseconds since the epoch. */
interface Notes {
  starts: { name: string; at: number }[];
  begun: number[];
  commands: number[];
}

/** What comes after the calls of one activity of a run, in milliseconds. */
export interface AfterCalls {
  /** From where the activity's own function begins, the tool's or the empty one, to the next command: the workflow has worked on the result and asks for the next activity, of which nobody has heard yet. */
  toNextCommand: number[];
  /** From where the worker hands the activity over to where it hands over the next one, where that is the same. */
  toNextCall: number[];
}

/** Measures from the start of an activity to what its workflow does next. Only for workflows that ask for one activity at a time. */
export class CommandClock {
  readonly #now: () => number;
  readonly #notes = new Map<string, Notes>();

  /** `now` is in milliseconds since the epoch. The default is the clock that there is in the sandbox, too. */
  constructor(now: () => number = () => Number(native.getTimeOfDay()) / 1e6) {
    this.#now = now;
  }

  /** To be registered with the worker, beside `sinks` and the module of `command-recorder.ts`. */
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

  /** To be called by a tool, or an activity, that begins. */
  begin(workflowId: string): void {
    this.#of(workflowId).begun.push(this.#now());
  }

  /** What came after each activity of that name in a run, which is then forgotten. */
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
