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

/** Milliseconds of one attempt beside its calls: to read the conversation, and for the checkpoints. */
const BESIDE_MS = 60_000;

/** Bytes of JSON up to which the state is part of the input. A larger one would be stored again with each burst. */
const STATE_BYTES = 2_000;

/** What a run, or a turn of a session, had done when its last burst began. */
export interface LastBurst {
  step: number;
  /** The calls by tool of the run, or of the turn. */
  counted: RunState['toolCallsByName'];
  /** What it held then. */
  calls: RunState['toolCallsByName'];
}

/** The run that a burst is made for. */
type BurstingRun = RequestingRun & { state: RunState; lastBurst?: LastBurst };

/** Returns a burst that begins with a model call. Its outcome is undefined if nothing is known of its calls. */
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
      // What has been paid for comes with the end of the activity.
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
 * Returns what the run has done since its last burst began: `before: 16 steps, 14 × read_page`. The summary of an activity is fixed when it is
 * scheduled, so that of a burst tells what the one before has come to.
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

/** Milliseconds within which the server says what it has stored of a burst. */
const LOOK_UP_MS = 2_000;

/**
 * Returns the request for what the server has stored of a burst of which no worker makes an attempt now: the server drops it when the burst
 * is cancelled. It is made inside the workflow task, so that it needs no other worker.
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

/** Returns the milliseconds that a burst may take: until it begins no further step, and then for a model call and for one of a tool. */
function burstMs(snapshot: AgentSnapshot, ofModel: number): number {
  const { tools, burst } = snapshot;
  const run = { runId: '', snapshot };
  const ofTools = tools.filter(mayRunInBurst).map((tool) => Number(remoteOptions(run, tool).startToCloseTimeout));
  return (burst?.seconds ?? 0) * 1_000 + ofModel + Math.max(0, ...ofTools) + BESIDE_MS;
}

/** A burst of a history, and its end. */
interface RecordedBurstActivity {
  input: Pick<RunBurstInput, 'seed'>;
  output?: StoredBurst | undefined;
  failure?: unknown;
}

/** The answers to look-ups of what was stored of bursts, as a history has them. */
type LookUps = readonly { output?: unknown }[];

/** Returns the outcomes of a burst of a history: undefined if nothing is known of its calls. */
export function recordOfBurst({ input, output, failure }: RecordedBurstActivity, lookUps: LookUps): BurstRecord | undefined {
  if (output !== undefined) return burstRecordOf(output);
  return failure === undefined ? undefined : withCheckpoint(burstRecordIn(failure), checkpointOf(input.seed, lookUps));
}

/** Returns what the run has found when it looked up what was stored of a burst. */
export function checkpointOf(seed: string, lookUps: LookUps): Checkpoint | undefined {
  return lookUps.map(({ output }) => checkpointIn(output)).find((one) => one?.seed === seed);
}

/** Returns the outcomes of a burst that was lost, as far as the server has stored them. */
function burstRecordIn(error: unknown): BurstRecord | undefined {
  const cause = activityCause(error);
  // No worker had begun it, or none was at it: the server ends it at once between two attempts, and drops what the first has stored. The
  // run has looked that up before.
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
