import { type DefaultOutput, RunResult, type RunResultFields } from '../../../src/core/domain/result.ts';
import { noUsage } from '../../../src/core/domain/usage.ts';

/** Makes a result with defaults for all fields that are not given: completed, without output, steps, usage or times. */
export function newRunResult(
  fields: Pick<RunResultFields<DefaultOutput>, 'runId' | 'agentName'> & Partial<RunResultFields<DefaultOutput>>,
): RunResult {
  const steps = fields.steps ?? [];
  return new RunResult({
    version: 1,
    output: '',
    status: 'completed',
    stopReason: 'final_answer',
    stepsUsed: steps.length,
    usage: noUsage(),
    toolCallsTotal: 0,
    toolCallsByName: {},
    startTime: null,
    endTime: null,
    durationSeconds: null,
    error: null,
    limits: { steps: 0 },
    ...fields,
    steps,
  });
}
