import type { RunResultFields } from '../src/core/domain/result.ts';
import type { CarriedInput, RunInput } from '../src/core/protocol.ts';
import { runWorkflow } from './run/run-workflow.ts';
import { readRunInput } from './run/start.ts';

/**
 * Runs an agent. The client, the CLI, the Temporal UI and Schedules start it with the same JSON. Returns the RunResult
 * without its steps; throws an ApplicationFailure whose details hold it for status `error`, and a cancellation for
 * status `cancelled`.
 */
export async function agentRun(rawInput: RunInput | CarriedInput): Promise<RunResultFields> {
  return runWorkflow(rawInput, readRunInput);
}
