import { activityInfo } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { RunToolInput, RunToolOutput } from '../../src/core/protocol.ts';

/** Runs a call of an activity type that the worker has not registered. */
export type DefaultActivity = (...args: unknown[]) => unknown;

/** Parts of the activity that runs every unregistered type. */
export interface DefaultActivityParts {
  runTool: (input: RunToolInput) => Promise<RunToolOutput>;
  /** The worker's own default activity, if it has one. */
  existing: DefaultActivity | undefined;
  /** The names of the activities that the worker has. */
  knownNames: () => readonly string[];
}

/**
 * Creates the activity that the SDK runs for types that are not registered. It runs tools of MCP servers, whose names
 * are not known when a worker is created, and fails calls of missing tools so that another worker takes them. Any other
 * call goes to the worker's own default activity, or fails as in the SDK.
 */
export function defaultActivity({ runTool, existing, knownNames }: DefaultActivityParts): DefaultActivity {
  return async (...args) => {
    const [input] = args;
    if (isToolCall(input)) return runTool(input);
    if (existing !== undefined) return existing(...args);
    throw ApplicationFailure.create({
      type: 'NotFoundError',
      message: `Activity function ${activityInfo().activityType} is not registered on this Worker, available activities: ${JSON.stringify(knownNames())}`,
      nonRetryable: false,
    });
  };
}

function isToolCall(input: unknown): input is RunToolInput {
  if (typeof input !== 'object' || input === null) return false;
  const { agentName, callId, eventId, at } = input as Partial<Record<keyof RunToolInput, unknown>>;
  return typeof agentName === 'string' && typeof callId === 'string' && typeof eventId === 'string' && Array.isArray(at);
}
