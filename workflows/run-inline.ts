import { ApplicationFailure } from '@temporalio/common';
import { CancellationScope, workflowInfo } from '@temporalio/workflow';
import type { AnyAgent, DepsOption, ResultOf } from '../src/define/agent-definition.ts';
import { isJsonObject } from '../src/core/domain/json.ts';
import { RunResult } from '../src/core/domain/result.ts';
import type { ContinueAsNewState } from '../src/core/loop/state/continue-as-new-state.ts';
import type { CarriedInput } from '../src/core/protocol.ts';
import { executeRun } from './run/execute-run.ts';
import { type RunAgentInput, runInputOf, type StartedRun } from './run/input.ts';
import { registerMessages } from './run/messages.ts';
import { registerQueries } from './run/queries.ts';
import { type CheckedStart, checkStart, executionOrigin, type RunIdentity } from './run/start.ts';

/** Options of `runAgent` for a run inside the history of the current workflow, with the deps of the agent. */
export type InlineOptions<GivenDeps = unknown> = InlineRunOptions & DepsOption<GivenDeps>;

/** Options of `runAgent` for a run inside the history of the current workflow, without deps. */
export interface InlineRunOptions extends StartedRun {
  inline: true;
  /**
   * Names the run inside this workflow: its queries and Updates get the key as a prefix (`key.status`), and its run id
   * is `workflowId/key`. Default: the agent's name, with a number for the second and later runs of that agent.
   */
  key?: string;
  /** The state that the previous execution carried over; `input` then has to be the original one. */
  carry?: ContinueAsNewState;
}

/** The outcome of a run inside a workflow for one execution of that workflow. */
export type InlineEnd<Result> = { type: 'finished'; result: Result } | { type: 'continue'; carry: ContinueAsNewState };

const NO_OBSERVER = { resolved: () => undefined, recorded: () => undefined, noted: () => undefined, missing: () => undefined };

/** Keys that are in use, and keys that have been used. Module state belongs to one execution. */
const keys = new Set<string>();
const used = new Set<string>();

/** Runs an agent inside the current workflow. A cancellation of the calling scope is rethrown after the run has ended with it. */
export async function runInline<Agent extends AnyAgent>(
  agent: string,
  input: RunAgentInput,
  options: InlineOptions,
): Promise<InlineEnd<ResultOf<Agent>>> {
  const { workflowId } = workflowInfo();
  const key = keyOf(carriedKey(options.carry, workflowId) ?? options.key ?? nextKey(agent));
  const identity = { runId: `${workflowId}/${key}`, key, startedAt: Date.now(), origin: executionOrigin() };
  const { run, start } = startOf(agent, input, { options, identity });
  registerQueries(run);
  registerMessages(run);
  const end = await executeRun(run, start, NO_OBSERVER);
  keys.delete(key);
  const scope = CancellationScope.current();
  if (scope.consideredCancelled) await scope.cancelRequested;
  return end.type === 'continue' ? end : { type: 'finished', result: new RunResult<unknown>(end.result) as ResultOf<Agent> };
}

/** Returns the start of the run. If its input is refused, its key becomes free again, and the run is not counted. */
function startOf<Deps>(
  agent: string,
  input: RunAgentInput,
  { options, identity }: { options: InlineOptions<Deps>; identity: RunIdentity & { key: string } },
): Extract<CheckedStart, { ok: true }> {
  const { key } = identity;
  try {
    const { carry } = options;
    const checked = checkStart(carry === undefined ? runInputOf(agent, input, options) : ({ carry } satisfies CarriedInput), identity);
    if (checked.ok) return checked;
    throw ApplicationFailure.create({ type: checked.code, message: checked.problem, nonRetryable: true });
  } catch (error) {
    // The key is part of the idempotency keys of tools: a replayed run must keep its own.
    keys.delete(key);
    used.delete(key);
    throw error;
  }
}

/** Reads the key from a carry, which comes from the input of the surrounding workflow and is checked later. */
function carriedKey(carry: unknown, workflowId: string): string | undefined {
  const runId = isJsonObject(carry) ? carry['runId'] : undefined;
  return typeof runId === 'string' ? runId.slice(workflowId.length + 1) : undefined;
}

/** Reserves a key. Two runs with the same key would answer each other's queries. */
function keyOf(key: string): string {
  if (keys.has(key)) {
    const message = `Two agents run inline under the key "${key}" at the same time: give each its own "key"`;
    throw ApplicationFailure.create({ type: 'invalid_input', message, nonRetryable: true });
  }
  keys.add(key);
  used.add(key);
  return key;
}

function nextKey(agent: string): string {
  let key = agent;
  for (let number = 2; used.has(key); number += 1) key = `${agent}-${number}`;
  return key;
}
