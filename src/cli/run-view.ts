import type { RunHandle } from '../client/run-handle.ts';
import type { LonghaulClient } from '../client/longhaul-client.ts';
import { errorCode, errorMessage } from '../domain/error.ts';
import type { JsonValue } from '../domain/json.ts';
import type { RunStatus, StopReason } from '../domain/run-status.ts';
import type { StepResult } from '../domain/step.ts';
import type { AggregatedUsage } from '../domain/usage.ts';
import { runTimes } from './run-times.ts';

/** A run as `longhaul show` has it, ended or not: a RunResult with its steps, where what is not known yet is null. */
export interface RunView {
  version: 1;
  runId: string;
  agentName: string;
  status: RunStatus;
  stopReason: StopReason | null;
  steps: StepResult[];
  stepsUsed: number;
  maxIterations: number;
  usage: AggregatedUsage;
  toolCallsTotal: number;
  output: JsonValue;
  outputText: string;
  error: string | null;
  errorCode: string | null;
  cancelReason: string | null;
  startTime: string | null;
  endTime: string | null;
  durationSeconds: number | null;
}

/** Reads a run. Throws `run_not_found`. */
export async function runView(client: LonghaulClient, runId: string): Promise<RunView> {
  const handle = client.handle<JsonValue>(runId);
  const { start, close } = await runTimes(client, runId);
  if (close === undefined) return await liveView(handle);
  try {
    return await endedView(handle);
  } catch (error) {
    if (!isEndedFromOutside(error)) throw error;
    // There is no result; what was recorded can still be read.
    const ending = { endTime: close.toISOString(), durationSeconds: (close.getTime() - start.getTime()) / 1000 };
    const failure = { stopReason: 'error', error: errorMessage(error), errorCode: errorCode(error) ?? null } as const;
    return { ...(await liveView(handle)), ...ending, ...failure, status: 'error' };
  }
}

function isEndedFromOutside(error: unknown): boolean {
  return ['run_terminated', 'run_timed_out', 'internal'].includes(errorCode(error) ?? '');
}

async function endedView(handle: RunHandle<JsonValue>): Promise<RunView> {
  const { success: _success, hasMedia: _hasMedia, mediaTypes: _mediaTypes, ...fields } = (await handle.result({ steps: true })).toJSON();
  return {
    ...fields,
    steps: fields.steps ?? [],
    errorCode: fields.errorCode ?? null,
    cancelReason: fields.cancelReason ?? null,
  };
}

async function liveView(handle: RunHandle<JsonValue>): Promise<RunView> {
  const [status, steps] = await Promise.all([handle.status(), handle.steps()]);
  return {
    version: 1,
    runId: status.runId,
    agentName: status.agentName,
    status: status.status,
    stopReason: null,
    steps,
    stepsUsed: steps.length,
    maxIterations: status.maxIterations,
    usage: status.usage,
    toolCallsTotal: status.toolCallsTotal,
    output: null,
    outputText: '',
    error: null,
    errorCode: null,
    cancelReason: null,
    startTime: status.startTime,
    endTime: null,
    durationSeconds: null,
  };
}
