import { partsOfModelName } from '../domain/model.ts';
import { ActivityCancellationType, ApplicationFailure, CancelledFailure, TimeoutFailure } from '@temporalio/common';
import { type AgentSnapshot, MISSED_HEARTBEATS } from '../domain/agent.ts';
import { jsonBytes } from '../domain/byte-budgets.ts';
import { isJsonObject } from '../domain/json.ts';
import { summaryText } from '../domain/text.ts';
import { type BurstRecord, mayRunInBurst } from '../bursts/burst.ts';
import { toBurstState } from '../bursts/burst-state.ts';
import { burstRecordOf, isStoredEntry, type StoredBurst } from '../bursts/stored-burst.ts';
import type { ModelCall } from '../kernel/ports.ts';
import type { RunState } from '../kernel/run-state.ts';
import { activityCause, type RequestingRun, type RequestOf, RETRY_LOST, SCHEDULE_TO_CLOSE } from './activity-request.ts';
import { remoteOptions } from './activity-ports.ts';
import { modelRequest } from './agent-requests.ts';
import type { RunBurstInput } from './contracts.ts';

/** Milliseconds of one attempt beside its calls: to read the conversation, and for the checkpoints. */
const BESIDE_MS = 60_000;

/** Bytes of JSON up to which the state is part of the input. A larger one would be stored again with each burst. */
const STATE_BYTES = 2_000;

/** The run that a burst is made for. */
type BurstingRun = RequestingRun & { state: RunState };

/** Returns a burst that begins with a model call. Its outcome is undefined if nothing is known of its calls. */
export function burstRequest(
  run: BurstingRun,
  call: ModelCall,
  begin: Pick<RunBurstInput, 'seed' | 'now' | 'loop'>,
): RequestOf<'runBurst', BurstRecord | undefined> {
  const { timing, model, burst } = run.snapshot;
  const state = toBurstState(run.state);
  const most = burst?.steps ?? 1;
  return {
    name: 'runBurst',
    key: ({ through }) => String(through),
    tier: 'remote',
    // The run can make the calls itself.
    isOptional: true,
    options: {
      summary: summaryText(`from step ${call.step} · ${partsOfModelName(model).id} · up to ${most} ${most === 1 ? 'step' : 'steps'}`),
      startToCloseTimeout: burstMs(run.snapshot, call),
      scheduleToCloseTimeout: SCHEDULE_TO_CLOSE,
      heartbeatTimeout: timing.heartbeatMs * MISSED_HEARTBEATS,
      // What has been paid for comes with the end of the activity.
      cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
      retry: RETRY_LOST,
    },
    input: {
      ...modelRequest(run, call).input,
      ...(call.shortened ? { shortened: true } : {}),
      ...(run.state.principal === undefined ? {} : { principal: true }),
      ...begin,
      ...(jsonBytes(state) > STATE_BYTES ? {} : { state }),
    },
    returned: burstRecordOf,
    failed: burstRecordIn,
  };
}

/** Returns the milliseconds that a burst may take: until it begins no further step, and then for a model call and for one of a tool. */
function burstMs(snapshot: AgentSnapshot, call: ModelCall): number {
  const { tools, burst } = snapshot;
  const run = { runId: '', snapshot };
  const ofModel = Number(modelRequest(run, call).options.startToCloseTimeout);
  const ofTools = tools.filter(mayRunInBurst).map((tool) => Number(remoteOptions(run, tool).startToCloseTimeout));
  return (burst?.seconds ?? 0) * 1_000 + ofModel + Math.max(0, ...ofTools) + BESIDE_MS;
}

/** Returns the outcomes of a burst of a history: undefined if nothing is known of its calls. */
export function recordOfBurst({ output, failure }: { output?: StoredBurst | undefined; failure?: unknown }): BurstRecord | undefined {
  if (output !== undefined) return burstRecordOf(output);
  return failure === undefined ? undefined : burstRecordIn(failure);
}

/** Returns the outcomes of a burst that was lost, as far as the server has stored them. */
function burstRecordIn(error: unknown): BurstRecord | undefined {
  const cause = activityCause(error);
  // No worker had begun it, or none was at it: the server ends it at once between two attempts, and drops what the first has stored.
  if (cause instanceof CancelledFailure) return { entries: [], givenUp: true };
  const stored =
    cause instanceof TimeoutFailure
      ? (checkpointIn(cause.lastHeartbeatDetails) ?? checkpointIn(detailsOf(cause.cause)))
      : checkpointIn(detailsOf(cause));
  return stored && burstRecordOf(stored.record);
}

function detailsOf(failure: unknown): unknown {
  return failure instanceof ApplicationFailure ? failure.details?.[0] : undefined;
}

/** What a burst stores while it runs: the outcomes so far, and the attempt of its activity that has stored them. */
export interface Checkpoint {
  record: Pick<StoredBurst, 'entries'>;
  attempt: number;
}

/** Reads a checkpoint; undefined for anything else. The outcomes come from the server as the burst has sent them. */
export function checkpointIn(details: unknown): Checkpoint | undefined {
  const record = isJsonObject(details) ? details['record'] : undefined;
  const entries: unknown = isJsonObject(record) ? record['entries'] : undefined;
  if (!Array.isArray(entries) || !entries.every(isStoredEntry)) return undefined;
  const attempt = isJsonObject(details) && typeof details['attempt'] === 'number' ? details['attempt'] : 0;
  return { record: { entries }, attempt };
}
