import { ApplicationFailure } from '@temporalio/common';
import { CancellationScope } from '@temporalio/workflow';
import { errorMessage } from '../../src/core/domain/errors.ts';
import { type Branch, mergeBranches } from '../../src/core/domain/handoffs.ts';
import type { JsonValue } from '../../src/core/domain/json.ts';
import { type AggregatedUsage, noUsage } from '../../src/core/domain/usage.ts';
import { type ChildOptions, runAgent } from '../run-agent.ts';
import type { RunAgentInput } from '../run/input.ts';

/** The most agents of one call. */
const MOST_AGENTS = 20;

/** Options of `parallel`: those of each run. The runs get ids of their own. */
export interface ParallelOptions extends Omit<ChildOptions, 'runId'> {
  /** Run-scoped JSON data, for all agents. */
  deps?: unknown;
}

/** The outcome of agents that ran side by side. */
export interface ParallelResult {
  /** The output of each agent under its name, `[name]` and the text, separated by blank lines. */
  output: string;
  /** The run of each agent, in the order of the names. */
  branches: Branch[];
  /** The usage of all of them. */
  usage: AggregatedUsage;
}

/**
 * Runs agents side by side on the same input, each as a child with a conversation of its own, and waits for all of them. If one does not
 * complete, throws an ApplicationFailure of type `child_failed` whose details have all branches. A cancellation of the calling scope is
 * passed on and rethrown.
 */
export async function parallel(agents: readonly string[], input: RunAgentInput, options: ParallelOptions = {}): Promise<ParallelResult> {
  requireFew(agents);
  const branches = await Promise.all(agents.map((name) => branchOf(name, input, options)));
  const { output, problem, usage } = mergeBranches(branches);
  if (problem === undefined) return { output, branches, usage };
  throw ApplicationFailure.create({
    type: 'child_failed',
    message: `Not all agents have completed: ${problem}`,
    nonRetryable: true,
    details: [{ branches }],
  });
}

/** Throws for a number of agents whose results could not be one payload. */
function requireFew({ length }: readonly string[]): void {
  if (length > 0 && length <= MOST_AGENTS) return;
  const message = `${length} agents cannot run side by side: name 1 to ${MOST_AGENTS}, and call parallel again for more`;
  throw ApplicationFailure.create({ type: 'invalid_input', message, nonRetryable: true });
}

/** Returns the run of one agent, also if it could not start or was terminated: the other agents go on. */
async function branchOf(name: string, input: RunAgentInput, options: ParallelOptions): Promise<Branch> {
  try {
    const { runId, status, output, error, usage } = await runAgent(name, input, options);
    return { name, runId, status, output: output as JsonValue, error, usage };
  } catch (failure) {
    if (CancellationScope.current().consideredCancelled) throw failure;
    return { name, status: 'error', output: '', error: errorMessage(failure), usage: noUsage() };
  }
}
