import type { ActivityOptions } from '@temporalio/common';
import { jsonBytes } from '../domain/json/payload-limit.ts';
import type { AgentSnapshot } from '../domain/agent/agent-snapshot.ts';
import type { JsonObject } from '../domain/json/json.ts';
import type { RunState } from '../loop/state/run-state.ts';
import { type DataInput, INLINE_BYTES, type OfRun } from '../protocol.ts';

/**
 * One activity that the loop requests: its input and options as plain data, and the functions that turn its end into an outcome.
 * Temporal and the in-memory run of tests perform it with the same input and options: time-outs and retries are set only here.
 */
export interface ActivityRequest<Input, Output, Outcome> {
  /** The activity's name. */
  name: string;
  /** `local`: inside the workflow task. */
  tier: 'remote' | 'local';
  options: ActivityOptions;
  input: Input;
  /** The run can do without it: if a worker lacks something, it waits for no other worker. */
  isOptional?: true;
  /** For a local activity: returns the same request as a remote activity, for another worker. */
  remotely?: () => ActivityRequest<Input, Output, Outcome>;
  returned: (output: Output) => Outcome;
  failed: (error: unknown) => Outcome;
}

/** Performs an activity and returns its outcome. Must not reject. */
export type ScheduleActivity = <Input, Output, Outcome>(call: ActivityRequest<Input, Output, Outcome>) => Promise<Outcome>;

/** The part of a run from which its activities are requested. */
export interface RequestingRun {
  runId: string;
  /** The key of a run inside a workflow of the user. */
  key?: string;
  snapshot: AgentSnapshot;
  state?: RunState;
}

/** The time-out of the wait for a worker, long enough for a long outage. The number and the time of attempts bound the work itself. */
export const SCHEDULE_TO_CLOSE = '7 days';

/** The heartbeat time-out of activities other than model and tool calls. They send three heartbeats in that time. */
export const HEARTBEAT_TIMEOUT = '15s';

/**
 * The delay after an attempt that was lost with its worker, which the server has noticed after three heartbeats: it does not grow. An attempt
 * that fails sets the delay of the next one itself, which does.
 */
export const LOST_DELAY = { initialInterval: 1_000, backoffCoefficient: 1 } as const;

/** The retries of an activity that bounds its failed attempts itself. */
export const RETRY_LOST = { maximumAttempts: 20, ...LOST_DELAY } as const;

/** Returns the reference to the run of the workflow that an activity works for. */
export function runReference({ key }: { key?: string }): OfRun {
  return key === undefined ? {} : { run: key };
}

/** True if a value is small enough to be stored again in an activity's input. */
export function fits(value: object): boolean {
  return jsonBytes(value) <= INLINE_BYTES;
}

/**
 * Returns deps and state for an activity's input if they are small, so that the Temporal UI shows them; otherwise a mark that the
 * activity must query them.
 */
export function dataOf({ state }: RequestingRun): DataInput {
  const deps = state?.deps ?? {};
  const runState = state?.context.state ?? {};
  if (!fits({ deps, state: runState })) return { dataByReference: true };
  return {
    ...unlessEmpty('deps', deps),
    ...unlessEmpty('state', runState),
    ...(state?.principal === undefined ? {} : { principal: true }),
  };
}

/** Returns all deps and state for an activity whose input is not stored in the history. */
export function wholeDataOf({ state }: RequestingRun): DataInput {
  const { deps = {}, context, principal } = state ?? {};
  return { ...unlessEmpty('deps', deps), ...unlessEmpty('state', context?.state ?? {}), ...(principal === undefined ? {} : { principal }) };
}

function unlessEmpty<Name extends 'deps' | 'state'>(name: Name, value: JsonObject): { [Key in Name]?: JsonObject } {
  const field: { [Key in 'deps' | 'state']?: JsonObject } = Object.keys(value).length === 0 ? {} : { [name]: value };
  return field;
}
