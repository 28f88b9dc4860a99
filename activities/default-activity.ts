import { activityInfo } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { RunToolInput, RunToolOutput } from '../src/protocol.ts';

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
 * Runs the calls of tools of MCP servers, whose names nobody knows when a worker is made: the SDK gives it every activity
 * of an unknown name. All others it leaves to the worker, or fails as the SDK does.
 */
export function defaultActivity({ runTool, existing, known }: Defaults): DefaultActivity {
  return async (...args) => {
    const [input] = args;
    if (isMcpCall(input)) return runTool(input);
    if (existing !== undefined) return existing(...args);
    throw ApplicationFailure.create({
      type: 'NotFoundError',
      message: `Activity function ${activityInfo().activityType} is not registered on this Worker, available activities: ${JSON.stringify(known())}`,
      nonRetryable: false,
    });
  };
}

function isMcpCall(input: unknown): input is RunToolInput {
  if (typeof input !== 'object' || input === null || !('mcp' in input) || !('agentName' in input)) return false;
  const { mcp } = input;
  return typeof mcp === 'object' && mcp !== null && 'server' in mcp && 'tool' in mcp;
}
