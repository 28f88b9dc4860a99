import type { ActivityOptions } from '@temporalio/common';
import { jsonBytes } from '../domain/json/payload-limit.ts';
import type { AgentSnapshot } from '../domain/agent/agent-snapshot.ts';
import type { JsonObject } from '../domain/json/json.ts';
import type { RunState } from '../loop/state/run-state.ts';
import { type GivenData, INLINE_BYTES, type OfRun } from '../protocol.ts';

/**
 * An activity that the loop asks for, as plain data, with what its end means. Whoever performs it (Temporal, or memory
 * in a test) has the same input and the same options: how a call is timed and tried again is said here and nowhere else.
 */
export interface ActivityRequest<Input, Output, Outcome> {
  /** The activity's name. */
  name: string;
  /** `local`: within the task of the workflow. */
  tier: 'remote' | 'local';
  options: ActivityOptions;
  input: Input;
  /** Of a local one: the same as a remote activity, for another worker. */
  remotely?: () => ActivityRequest<Input, Output, Outcome>;
  returned: (output: Output) => Outcome;
  failed: (error: unknown) => Outcome;
}

/** What activity calls need to know of a run. */
export interface RequestingRun {
  runId: string;
  /** Names a run inside a workflow of the user. */
  key?: string;
  snapshot: AgentSnapshot;
  state?: RunState;
}

/** Attempts and the time of one attempt bound the work; this bounds the wait for a worker, and outlasts a long outage. */
export const SCHEDULE_TO_CLOSE = '7 days';

/** Without a sign of life for that long, an activity around the calls of a run is taken for dead. They beat three times as often. */
export const HEARTBEAT_TIMEOUT = '15s';

/** Of an activity that bounds itself: its attempts say when the next one is due. This is for those that are lost with their worker. */
export const RETRY_LOST = { maximumAttempts: 20, initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1 minute' } as const;

/** Which run of the workflow an activity works for. */
export function runReference({ key }: { key?: string }): OfRun {
  return key === undefined ? {} : { run: key };
}

/** Small enough to be in an activity's input a second time. */
export function fits(value: object): boolean {
  return jsonBytes(value) <= INLINE_BYTES;
}

/** Small data travels in the input, for who reads the Temporal UI; large data is in the run and goes by reference. */
export function dataOf({ state }: RequestingRun): GivenData {
  const deps = state?.deps ?? {};
  const kept = state?.context.state ?? {};
  if (!fits({ deps, state: kept })) return { dataByReference: true };
  return { ...presentIn('deps', deps), ...presentIn('state', kept) };
}

/** Data for an activity whose input no history keeps: all of it. */
export function wholeDataOf({ state }: RequestingRun): GivenData {
  return { ...presentIn('deps', state?.deps ?? {}), ...presentIn('state', state?.context.state ?? {}) };
}

function presentIn<Name extends 'deps' | 'state'>(name: Name, value: JsonObject): { [Key in Name]?: JsonObject } {
  const given: { [Key in 'deps' | 'state']?: JsonObject } = Object.keys(value).length === 0 ? {} : { [name]: value };
  return given;
}
