import type { JsonObject, JsonValue } from '../../src/core/domain/json.ts';
import type { FlowInput } from '../../src/core/domain/agent.ts';
import type { RunResult } from '../../src/core/domain/result.ts';
import { type ChildOptions, runAsChild } from '../run-agent.ts';
import type { RunAgentInput } from '../run/input.ts';

/** Options of `sequential`. */
export interface SequentialOptions extends Omit<ChildOptions, 'model' | 'settings'> {
  /** The name of the run in place of that of an agent. Default: the names of the agents, joined by `+`. */
  name?: string;
  /** Run-scoped JSON data, which must fit all agents. */
  deps?: unknown;
}

/** Options of `loop`. */
export interface LoopOptions extends SequentialOptions {
  /** The rounds. Default 5. */
  maxIterations?: number;
  /** The JSON Schema of an answer that ends the loop at once, whichever agent gives it. */
  until?: JsonObject;
}

/**
 * Runs agents one after the other over one conversation, in one child, and returns its RunResult, for any status: the output is that of
 * the last agent. The worker must have the agents; the order needs no definition.
 */
export async function sequential(
  agents: readonly string[],
  input: RunAgentInput,
  options: SequentialOptions = {},
): Promise<RunResult<JsonValue>> {
  return runFlow({ kind: 'sequential', agents: [...agents] }, input, options);
}

/** Does the same in rounds: after the last agent all act again, until an answer fits `until`, or the rounds are over. */
export async function loop(agents: readonly string[], input: RunAgentInput, options: LoopOptions = {}): Promise<RunResult<JsonValue>> {
  const { maxIterations, until, ...others } = options;
  const rounds = { ...(maxIterations === undefined ? {} : { maxIterations }), ...(until === undefined ? {} : { until }) };
  return runFlow({ kind: 'loop', agents: [...agents], ...rounds }, input, others);
}

/** The most characters of the default name of a flow, which is a part of the id of its run. */
const NAME_LENGTH = 60;

async function runFlow(flow: FlowInput, input: RunAgentInput, { name, ...options }: SequentialOptions): Promise<RunResult<JsonValue>> {
  const result = await runAsChild(name ?? flow.agents.join('+').slice(0, NAME_LENGTH), input, { ...options, flow });
  return result as RunResult<JsonValue>;
}
