import { activityInfo } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { RunToolInput, RunToolOutput } from '../src/core/protocol.ts';

/** What a worker does with a call of an activity that it does not have. */
export type DefaultActivity = (...args: unknown[]) => unknown;

/** What the activity for every unknown name is made of. */
export interface Defaults {
  runTool: (input: RunToolInput) => Promise<RunToolOutput>;
  /** What the worker does otherwise; undefined where it has nothing of the kind. */
  existing: DefaultActivity | undefined;
  /** The names of the activities that the worker has. */
  known: () => readonly string[];
}

/**
 * Takes the calls of tools whose names are unknown to the worker, since the SDK gives it every activity of such a name: it
 * runs those of MCP servers, which nobody knows when a worker is made, and has the others go to a worker that has the
 * tool. What is no call of a tool it leaves to the worker, or fails as the SDK does.
 */
export function defaultActivity({ runTool, existing, known }: Defaults): DefaultActivity {
  return async (...args) => {
    const [input] = args;
    if (isToolCall(input)) return runTool(input);
    if (existing !== undefined) return existing(...args);
    throw ApplicationFailure.create({
      type: 'NotFoundError',
      message: `Activity function ${activityInfo().activityType} is not registered on this Worker, available activities: ${JSON.stringify(known())}`,
      nonRetryable: false,
    });
  };
}

function isToolCall(input: unknown): input is RunToolInput {
  if (typeof input !== 'object' || input === null) return false;
  const { agentName, callId, eventId, at } = input as Partial<Record<keyof RunToolInput, unknown>>;
  return typeof agentName === 'string' && typeof callId === 'string' && typeof eventId === 'string' && Array.isArray(at);
}
