import { ApplicationFailure } from '@temporalio/common';
import type { ActivityFunctions } from '../src/core/activity-requests/contracts.ts';
import { UsageError } from '../src/core/domain/errors.ts';
import type { RunToolInput, RunToolOutput } from '../src/core/protocol.ts';
import { resolveAgentActivity } from './agents/resolve-agent.ts';
import { decisionActivities } from './approvals/approvals.ts';
import { attemptInfo } from './attempts/attempt-info.ts';
import { batchActivities } from './batch/collector-activities.ts';
import { checkedActivity, withGrowingDelay, withWorkerFailover } from './attempts/checked-activity.ts';
import { readCheckpoint } from './bursts/checkpoints.ts';
import { runBurstActivity } from './bursts/run-burst.ts';
import { runCodeActivity } from './code/run-code.ts';
import { endActivities } from './endings/end-of-execution.ts';
import { hookActivities } from './hooks/hook-activities.ts';
import { callModelActivity } from './model-calls/call-model.ts';
import { summarizeActivity } from './model-calls/summarize.ts';
import { stepActivities } from './programs/ask-step.ts';
import { programActivities } from './programs/resolve-program.ts';
import { relatedRunActivities } from './run-queries/related-runs.ts';
import type { ActivityRuntime } from './runtime.ts';
import { runToolActivity, verifyCallActivity } from './tool-calls/run-tool.ts';

/** The name of the activity that the SDK runs for a type that is not registered. */
export const DEFAULT = 'default';

/** Activities by name, as a Temporal worker takes them. */
export type Activities = Record<string, (input: never) => Promise<unknown>>;

/**
 * Returns all activities of a worker: Longhaul's own, and one for each tool under the tool's name. The `default`
 * activity runs calls of types that are not registered, such as tools of MCP servers, and passes any other call to
 * `existing`. With `existing` set to 'kept', Longhaul registers no `default` activity.
 */
export function createActivities(runtime: ActivityRuntime, existing?: DefaultActivity | 'kept'): Activities {
  const checked = <Input, Output>(activity: (input: Input) => Promise<Output>) =>
    withGrowingDelay(checkedActivity(runtime.secrets, withWorkerFailover(runtime, activity)));
  const runTool = checked(runToolActivity(runtime));
  const own: ActivityFunctions = {
    resolveAgent: resolveAgentActivity(runtime),
    callModel: callModelActivity(runtime),
    summarize: summarizeActivity(runtime),
    runBurst: runBurstActivity(runtime, checked),
    readCheckpoint,
    runCode: runCodeActivity(runtime),
    verifyCall: verifyCallActivity(runtime),
    ...hookActivities(runtime),
    ...endActivities(runtime),
    ...decisionActivities(runtime),
    ...programActivities(runtime),
    ...stepActivities(runtime),
    ...relatedRunActivities,
    ...batchActivities(runtime),
  };
  const activities: Activities = Object.fromEntries(
    Object.entries(own).map(([name, activity]) => [name, checked<never, unknown>(activity)]),
  );
  for (const name of new Set([...runtime.registry.toolNames, ...runtime.programs.toolNames])) {
    if (Object.hasOwn(activities, name)) throw new UsageError(`tool "${name}" has the name of an activity of Longhaul: rename the tool`);
    activities[name] = runTool;
  }
  if (existing === 'kept') return activities;
  const knownNames = (): string[] => [...Object.keys(activities).filter((name) => name !== DEFAULT), ...runtime.otherActivities];
  activities[DEFAULT] = defaultActivity({ runTool, existing, knownNames }) as Activities[string];
  return activities;
}

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
    if (isRunToolInput(input)) return runTool(input);
    if (existing !== undefined) return existing(...args);
    throw ApplicationFailure.create({
      type: 'NotFoundError',
      message: `Activity function ${attemptInfo().name} is not registered on this Worker, available activities: ${JSON.stringify(knownNames())}`,
      nonRetryable: false,
    });
  };
}

function isRunToolInput(input: unknown): input is RunToolInput {
  if (typeof input !== 'object' || input === null) return false;
  const { agentName, callId, eventId, at } = input as Partial<Record<keyof RunToolInput, unknown>>;
  return typeof agentName === 'string' && typeof callId === 'string' && typeof eventId === 'string' && Array.isArray(at);
}
