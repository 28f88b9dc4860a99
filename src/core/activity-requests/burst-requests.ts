import { partsOfModelName } from '../domain/model.ts';
import { ActivityCancellationType, ApplicationFailure, CancelledFailure, TimeoutFailure } from '@temporalio/common';
import { type AgentSnapshot, MISSED_HEARTBEATS } from '../domain/agent.ts';
import { jsonBytes } from '../domain/byte-budgets.ts';
import { counted, summaryText } from '../domain/text.ts';
import {
  type BurstRecord,
  burstRecordOf,
  type Checkpoint,
  checkpointIn,
  mayRunInBurst,
  type StoredBurst,
  toBurstState,
  withCheckpoint,
} from '../bursts/burst.ts';
import type { ModelCall } from '../kernel/ports.ts';
import type { RunState } from '../kernel/run-state.ts';
import { activityCause, type RequestingRun, type RequestOf, RETRY_LOST, runReference, SCHEDULE_TO_CLOSE } from './activity-request.ts';
import { remoteOptions } from './activity-ports.ts';
import { modelRequest } from './agent-requests.ts';
import type { RunBurstInput } from './contracts.ts';

/** Milliseconds of one attempt in addition to its calls: for reading the conversation, and for checkpoints. */
const BESIDE_MS = 60_000;

/** The maximum bytes of JSON of a state in the input. A larger one would be stored again with each burst. */
const STATE_BYTES = 2_000;

/** The progress of a run, or of a session's turn, when its last burst began. */
export interface LastBurst {
  step: number;
  /** The calls by tool, of the run or of the turn. */
  counted: RunState['toolCallsByName'];
  /** The counts at that time. */
  calls: RunState['toolCallsByName'];
}

type BurstingRun = RequestingRun & { state: RunState; lastBurst?: LastBurst };

/** Returns a burst that begins with a model call. Its outcome is undefined if nothing is known about its calls. */
export function burstRequest(
  run: BurstingRun,
  call: ModelCall,
  begin: Pick<RunBurstInput, 'seed' | 'now' | 'loop'>,
): RequestOf<'runBurst', BurstRecord | undefined> {
  const { timing, model, burst } = run.snapshot;
  const first = modelRequest(run, call);
  const state = toBurstState(run.state);
  return {
    name: 'runBurst',
    key: ({ through }) => String(through),
    tier: 'remote',
    // The run can make the calls itself.
    isOptional: true,
    options: {
      summary: summaryText(
        [
          `from step ${call.step}`,
          partsOfModelName(model).id,
          `up to ${counted(burst?.steps ?? 1, 'step')}`,
          ...sinceLastBurst(run, call),
        ].join(' · '),
      ),
      startToCloseTimeout: burstMs(run.snapshot, Number(first.options.startToCloseTimeout)),
      scheduleToCloseTimeout: SCHEDULE_TO_CLOSE,
      heartbeatTimeout: timing.heartbeatMs * MISSED_HEARTBEATS,
      // The paid outcomes arrive with the end of the activity.
      cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
      retry: RETRY_LOST,
    },
    input: {
      ...first.input,
      ...(call.shortened ? { shortened: true } : {}),
      ...(run.state.principal === undefined ? {} : { principal: true }),
      ...begin,
      ...(jsonBytes(state) > STATE_BYTES ? {} : { state }),
    },
    returned: burstRecordOf,
    failed: burstRecordIn,
  };
}

/**
 * Returns the progress of the run since its last burst began: `before: 16 steps, 14 × read_page`. An activity's summary is fixed when it is
 * scheduled, so a burst's summary describes the previous burst.
 */
function sinceLastBurst({ state, lastBurst }: BurstingRun, { step }: ModelCall): string[] {
  const steps = lastBurst?.counted === state.toolCallsByName ? step - lastBurst.step : 0;
  if (lastBurst === undefined || steps < 1) return [];
  const calls = [...state.toolCallsByName].flatMap(([name, now]) => {
    const since = now - (lastBurst.calls.get(name) ?? 0);
    return since < 1 ? [] : [`${since} × ${name}`];
  });
  return [[`before: ${counted(steps, 'step')}`, ...calls].join(', ')];
}

/** Milliseconds for the server to return the stored data of a burst. */
const LOOK_UP_MS = 2_000;

/**
 * Returns the request for the stored data of a burst that no worker is attempting now: the server drops the data when the burst is
 * cancelled. It runs inside the workflow task, so that it needs no other worker.
 */
export function checkpointRequest(run: { key?: string }, seed: string): RequestOf<'readCheckpoint', Checkpoint | undefined> {
  return {
    name: 'readCheckpoint',
    tier: 'local',
    isOptional: true,
    isNoProgress: true,
    options: {
      startToCloseTimeout: LOOK_UP_MS,
      scheduleToCloseTimeout: LOOK_UP_MS,
      cancellationType: ActivityCancellationType.TRY_CANCEL,
      retry: { maximumAttempts: 1 },
    },
    input: { ...runReference(run), seed },
    returned: checkpointIn,
    failed: () => undefined,
  };
}

/** Returns the maximum milliseconds of a burst: until it begins no more steps, plus one model call and one tool call. */
function burstMs(snapshot: AgentSnapshot, ofModel: number): number {
  const { tools, burst } = snapshot;
  const run = { runId: '', snapshot };
  const ofTools = tools.filter(mayRunInBurst).map((tool) => Number(remoteOptions(run, tool).startToCloseTimeout));
  return (burst?.seconds ?? 0) * 1_000 + ofModel + Math.max(0, ...ofTools) + BESIDE_MS;
}

/** A burst in a history, and its end. */
interface RecordedBurstActivity {
  input: Pick<RunBurstInput, 'seed'>;
  output?: StoredBurst | undefined;
  failure?: unknown;
}

/** The recorded look-ups of stored burst data in a history. */
type LookUps = readonly { output?: unknown }[];

/** Returns the outcomes of a burst in a history, or undefined if nothing is known about its calls. */
export function recordOfBurst({ input, output, failure }: RecordedBurstActivity, lookUps: LookUps): BurstRecord | undefined {
  if (output !== undefined) return burstRecordOf(output);
  return failure === undefined ? undefined : withCheckpoint(burstRecordIn(failure), checkpointOf(input.seed, lookUps));
}

/** Returns the stored data of a burst that the run has looked up. */
export function checkpointOf(seed: string, lookUps: LookUps): Checkpoint | undefined {
  return lookUps.map(({ output }) => checkpointIn(output)).find((one) => one?.seed === seed);
}

/** Returns the outcomes of a lost burst, as far as the server has stored them. */
function burstRecordIn(error: unknown): BurstRecord | undefined {
  const cause = activityCause(error);
  // No worker was running it: the server ends it immediately between two attempts, and drops what earlier attempts stored. The run has
  // looked that up before.
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
