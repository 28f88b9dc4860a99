import type { Event } from '../core/domain/record.ts';
import type { JsonValue } from '../core/domain/json.ts';
import type { RunResult, RunResultFields } from '../core/domain/result.ts';
import type { StepResult } from '../core/domain/tool-calls.ts';
import type { TestedRun } from './tested-run.ts';

/** A run without the parts that differ between two equal runs: plain JSON, to be compared. */
export interface ComparableRun {
  result: JsonValue;
  events: JsonValue;
  steps: JsonValue;
  deps: JsonValue;
}

/** The parts of a run that are compared. */
export type ComparedRun = Pick<TestedRun, 'events' | 'steps' | 'deps'> & { result: RunResult<unknown> };

/**
 * Returns a run without ids, times, durations, and digests that are made from ids. The results of two runs with the
 * same course are equal.
 */
export function withoutIdsAndTimes({ result, events, steps, deps }: ComparedRun): ComparableRun {
  const { runId } = result;
  const plain = (value: unknown): JsonValue => JSON.parse(JSON.stringify(value ?? null).replaceAll(runId, 'the run')) as JsonValue;
  return { result: plain(timeless(result)), events: plain(events.map(bareEvent)), steps: plain(steps.map(bareStep)), deps: plain(deps) };
}

function timeless(result: RunResult<unknown>): Partial<RunResultFields<unknown>> {
  const { steps: _, runId: __, ...rest } = result.toJSON();
  return { ...rest, startTime: null, endTime: null, durationSeconds: null };
}

function bareEvent({ id: _, executionId: __, timestamp: ___, decision, refused, raised, permissions, ...event }: Event): object {
  return {
    ...event,
    ...(decision === undefined ? {} : { decision: { ...decision, id: '', at: '', digest: '' } }),
    ...(refused === undefined ? {} : { refused: { ...refused, id: '' } }),
    ...(permissions === undefined ? {} : { permissions: { ...permissions, id: '', at: '' } }),
    ...(raised === undefined ? {} : { raised: { ...raised, id: '', at: '' } }),
  };
}

/** The random end of the run id of an agent that a call has started. */
const RANDOM_END = /\.[0-9a-f]{8}(?=\/|$)/g;

/** Returns a step without times. A call that has started keeps a duration of 0, one that has not keeps null. */
function bareStep({ toolCalls, ...step }: StepResult): object {
  const bare = toolCalls.map(({ timestamp: _, durationMs, childRunId, ...call }) => ({
    ...call,
    durationMs: durationMs === null ? null : 0,
    ...(childRunId === undefined ? {} : { childRunId: childRunId.replaceAll(RANDOM_END, '') }),
  }));
  return { ...step, toolCalls: bare };
}
