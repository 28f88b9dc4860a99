import type { ActivityOptions } from '@temporalio/common';
import { summaryText } from '../domain/content/summary-text.ts';
import { joinPieces } from '../domain/json/json-piece.ts';
import type { JsonValue } from '../domain/json/json.ts';
import type { LoadOutcome, ProgramPorts, StoreOutcome } from '../program/interpreter/program-ports.ts';
import type { LoadOutputInput, LoadOutputOutput, StoredOutput, StoreOutputsInput, StoreOutputsOutput } from '../domain/program/messages.ts';
import { ACTIVITIES } from '../protocol.ts';
import { activityProblem } from './activity-outcome.ts';
import type { ScheduleActivity } from './activity-request.ts';
import { type ActivityRequest, HEARTBEAT_TIMEOUT, type RequestingRun, runReference, SCHEDULE_TO_CLOSE } from './activity-request.ts';

/** Bounded, so that a store that fails for good does not hold up a run for ever. */
const OPTIONS: ActivityOptions = {
  startToCloseTimeout: '5 minutes',
  scheduleToCloseTimeout: SCHEDULE_TO_CLOSE,
  heartbeatTimeout: HEARTBEAT_TIMEOUT,
  retry: { maximumAttempts: 5, initialInterval: '1s', backoffCoefficient: 2 },
};

/** Returns the ports of a program that move its outputs to the payload store and back. */
export function outputPorts(run: RequestingRun, perform: ScheduleActivity): Pick<ProgramPorts, 'storeOutputs' | 'loadOutput'> {
  return {
    storeOutputs: (outputs) => perform(storeRequest(run, outputs)),
    loadOutput: (stored) => loadOutput((from) => perform(loadRequest(run, stored, from))),
  };
}

/** Stores outputs as one activity: `Store large outputs of 3 steps`. */
export function storeRequest(
  run: RequestingRun,
  outputs: Record<string, string>,
): ActivityRequest<StoreOutputsInput, StoreOutputsOutput, StoreOutcome> {
  const count = Object.keys(outputs).length;
  return {
    name: ACTIVITIES.storeOutputs,
    tier: 'remote',
    options: { ...OPTIONS, summary: count === 1 ? 'Store the large output of 1 step' : `Store large outputs of ${count} steps` },
    input: { ...runReference(run), outputs },
    returned: storeOutcome,
    failed: storeFailure,
  };
}

/** Returns the outcome of storing outputs. */
export function storeOutcome({ stored }: StoreOutputsOutput): StoreOutcome {
  return { type: 'stored', stored };
}

/** Returns the outcome of storing outputs that failed. */
export function storeFailure(error: unknown): StoreOutcome {
  const problem = activityProblem(error);
  return problem.type === 'cancelled' ? problem : { type: 'failed', message: problem.message };
}

/** The end of one activity: the output, a piece of it, or a failure. */
type LoadEnd = LoadOutputOutput | LoadFailure;

type LoadFailure = Exclude<LoadOutcome, { type: 'loaded' }>;

/** Loads an output, or a piece of it, as one activity: `Load output of sort · Kind`. */
export function loadRequest(
  run: RequestingRun,
  stored: StoredOutput,
  from: number,
): ActivityRequest<LoadOutputInput, LoadOutputOutput, LoadEnd> {
  return {
    name: ACTIVITIES.loadOutput,
    tier: 'remote',
    options: { ...OPTIONS, summary: summaryText(`Load output of ${stored.address.replace('.', ' · ')}`) },
    input: { ...runReference(run), ...stored, ...(from === 0 ? {} : { from }) },
    returned: (output) => output,
    failed: loadFailure,
  };
}

/** Returns the outcome of loading an output that failed. */
export function loadFailure(error: unknown): LoadFailure {
  const problem = activityProblem(error);
  if (problem.type === 'cancelled') return problem;
  return {
    type: 'failed',
    code: (problem.type === 'failed' ? problem.code : undefined) ?? 'payload_store_failed',
    message: problem.message,
  };
}

/** Loads an output, piece by piece if it is too long for one payload. */
export async function loadOutput(read: (from: number) => Promise<LoadEnd>): Promise<LoadOutcome> {
  const end = await joinPieces<{ value: JsonValue } | LoadFailure>(read);
  return 'type' in end ? end : { type: 'loaded', value: end.value };
}
