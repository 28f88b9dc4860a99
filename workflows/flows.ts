import { ApplicationFailure } from '@temporalio/common';
import { CancellationScope } from '@temporalio/workflow';
import type { FlowInput } from '../src/core/domain/agent.ts';
import { errorMessage } from '../src/core/domain/errors.ts';
import { type Branch, mergeBranches } from '../src/core/domain/handoffs.ts';
import { defined, type JsonObject, type JsonValue } from '../src/core/domain/json.ts';
import type { RunResult } from '../src/core/domain/result.ts';
import { type AggregatedUsage, noUsage } from '../src/core/domain/usage.ts';
import { type ChildOptions, runAgent, type RunAgentInput, runAsChild } from './run-agent.ts';

/** Options of `sequential`. */
export interface SequentialOptions extends Omit<ChildOptions, 'model' | 'settings'> {
  /** The name of the run, in place of an agent's. Default: the names of the agents, joined by `+`. */
  name?: string;
  /** Run-scoped JSON data, which must fit all agents. */
  deps?: unknown;
}

/** Options of `loop`. */
export interface LoopOptions extends SequentialOptions {
  /** The maximum number of rounds. Default 5. */
  maxIterations?: number;
  /** The JSON Schema of an answer that ends the loop at once, whichever agent gives it. */
  until?: JsonObject;
}

/**
 * Runs agents in sequence over one conversation, in one child, and returns its RunResult, for any status, with the output of
 * the last agent. The worker must have the agents, but needs no definition of the flow.
 */
export async function sequential(
  agents: readonly string[],
  input: RunAgentInput,
  options: SequentialOptions = {},
): Promise<RunResult<JsonValue>> {
  return runFlow({ kind: 'sequential', agents: [...agents] }, input, options);
}

/** Repeats `sequential` in rounds, until an answer fits `until` or `maxIterations` is reached. */
export async function loop(agents: readonly string[], input: RunAgentInput, options: LoopOptions = {}): Promise<RunResult<JsonValue>> {
  const { maxIterations, until, ...others } = options;
  const rounds = defined({ maxIterations, until });
  return runFlow({ kind: 'loop', agents: [...agents], ...rounds }, input, others);
}

/** The most characters of the default name of a flow, which is a part of the id of its run. */
const NAME_LENGTH = 60;

async function runFlow(flow: FlowInput, input: RunAgentInput, { name, ...options }: SequentialOptions): Promise<RunResult<JsonValue>> {
  const result = await runAsChild(name ?? flow.agents.join('+').slice(0, NAME_LENGTH), input, { ...options, flow });
  return result as RunResult<JsonValue>;
}

const MOST_AGENTS = 20;

/** Options of `parallel`, applied to each run. The runs get separate ids. */
export interface ParallelOptions extends Omit<ChildOptions, 'runId'> {
  /** Run-scoped JSON data, for all agents. */
  deps?: unknown;
}

/** The outcome of agents that ran in parallel. */
export interface ParallelResult {
  /** The output of each agent under its name, `[name]` and the text, separated by blank lines. */
  output: string;
  /** The run of each agent, in the order of the names. */
  branches: Branch[];
  /** The usage of all agents. */
  usage: AggregatedUsage;
}

/**
 * Runs agents in parallel on the same input, each as a child with a separate conversation, and waits for all of them. If one does not
 * complete, throws an ApplicationFailure of type `child_failed` with all branches in its details. A cancellation of the calling scope is
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

/** Throws for too many agents, whose results would not fit into one payload. */
function requireFew({ length }: readonly string[]): void {
  if (length > 0 && length <= MOST_AGENTS) return;
  const message = `${length} agents cannot run in parallel: name 1 to ${MOST_AGENTS}, and call parallel again for more`;
  throw ApplicationFailure.create({ type: 'invalid_input', message, nonRetryable: true });
}

/** Returns the branch of one agent, also if it could not start or was terminated: the other agents continue. */
async function branchOf(name: string, input: RunAgentInput, options: ParallelOptions): Promise<Branch> {
  try {
    const { runId, status, output, error, usage } = await runAgent(name, input, options);
    return { name, runId, status, output: output as JsonValue, error, usage };
  } catch (failure) {
    if (CancellationScope.current().consideredCancelled) throw failure;
    return { name, status: 'error', output: '', error: errorMessage(failure), usage: noUsage() };
  }
}
