import type { ActivityInterceptorsFactory, InjectedSinks } from '@temporalio/worker';
import type { CommandSinks } from './protocol.ts';

/** What happened to a run, as its worker saw it. Milliseconds. */
interface Notes {
  starts: { name: string; at: number }[];
  commands: number[];
}

/** What comes after the starts of one activity of a run, in milliseconds. */
export interface AfterCalls {
  /** To the next command: the workflow has worked on the result, and nobody has been told yet what it wants next. */
  toNextCommand: number[];
  /** To the next start of the same activity, where no other came between. */
  toNextCall: number[];
}

/** Measures from the start of an activity to what its workflow does next. Only for workflows that ask for one activity at a time. */
export class CommandClock {
  readonly #notes = new Map<string, Notes>();

  /** To be registered with the worker, beside `sinks` and the module of `command-recorder.ts`. */
  readonly interceptor: ActivityInterceptorsFactory = ({ info }) => ({
    inbound: {
      execute: (input, next) => {
        const { workflowExecution, activityType: name } = info;
        this.#of(workflowExecution?.workflowId ?? '').starts.push({ name, at: performance.now() });
        return next(input);
      },
    },
  });

  readonly sinks: InjectedSinks<CommandSinks> = {
    bench: {
      commands: {
        fn: ({ workflowId }, count) => {
          const at = performance.now();
          for (let one = 0; one < count; one += 1) this.#of(workflowId).commands.push(at);
        },
        callDuringReplay: false,
      },
    },
  };

  /** What came after each activity of that name in a run, which is then forgotten. */
  take(workflowId: string, name: string): AfterCalls {
    const { starts, commands } = this.#of(workflowId);
    this.#notes.delete(workflowId);
    const after: AfterCalls = { toNextCommand: [], toNextCall: [] };
    for (const [place, start] of starts.entries()) {
      if (start.name !== name) continue;
      const [command, next] = [commands[place + 1], starts[place + 1]];
      if (command !== undefined) after.toNextCommand.push(command - start.at);
      if (next?.name === name) after.toNextCall.push(next.at - start.at);
    }
    return after;
  }

  #of(workflowId: string): Notes {
    const notes = this.#notes.get(workflowId) ?? { starts: [], commands: [] };
    this.#notes.set(workflowId, notes);
    return notes;
  }
}
