// Tool phase: changes that calls make to the run.

import { applyOperations, stateProblem, type UpdatedDeps } from '../../domain/deps.ts';
import { BYTE_BUDGETS, jsonBytes } from '../../domain/byte-budgets.ts';
import { setState } from '../../domain/record.ts';
import { DEFAULT_POLICY, type ToolSnapshot } from '../../domain/agent.ts';
import { noRetriesLeft, resultText } from '../../domain/tool-calls.ts';
import { checkJson, problemsText } from '../../json-schema/check-json-schema.ts';
import type { ToolOutcome } from '../ports.ts';
import { noteChanges, undoneKey } from './changes-meanwhile.ts';
import type { PreparedCall } from './prepare-call.ts';
import type { RunState } from '../state/run-state.ts';

type Result = ToolOutcome & { type: 'result' };

/**
 * Applies the changes that a call makes to the run, once: its state, its deps, and how often its tool has asked the model to try
 * again. Calls that overlap may each keep within the bounds and break them together, and one may undo what another has changed
 * meanwhile: such a call becomes an error result, and changes nothing. `seen` is the number of changes when the call started.
 */
export function applyChanges(state: RunState, prepared: PreparedCall, outcome: ToolOutcome, seen: number): ToolOutcome {
  if (outcome.type !== 'result' || outcome.applied || prepared.type !== 'execute') return outcome;
  const { tool, call } = prepared.invocation;
  const { state: changes, asksRetry, ...kept } = outcome;
  const undone = undoneKey(state, outcome, seen);
  if (undone !== undefined) return conflicting(outcome, tool, undone);
  const problem = changes && stateProblem(state.context.state, changes);
  if (problem !== undefined) return broken(outcome, `Tool '${call.name}' keeps too much. ${problem}`);
  const updated = updatedDeps(state, outcome);
  if (!updated.ok)
    return broken(outcome, `The update of the deps by tool '${call.name}' was refused, and changed nothing: ${updated.problem}`);
  for (const [key, value] of Object.entries(changes ?? {})) setState(state.context, key, value);
  state.deps = updated.deps;
  noteChanges(state, outcome);
  const result: Result = { ...kept, applied: true };
  if (asksRetry) return withinRetries(state, tool.modelRetries ?? DEFAULT_POLICY.modelRetries, call.name, result);
  if (result.status === 'success') state.modelRetries.delete(call.name);
  return result;
}

/** Returns the deps after an update; or the problem, if the update cannot be applied or its result does not fit. */
function updatedDeps(
  { deps, snapshot }: Pick<RunState, 'deps' | 'snapshot'>,
  { contextUpdate }: Pick<Result, 'contextUpdate'>,
): UpdatedDeps {
  if (contextUpdate === undefined) return { ok: true, deps };
  const updated = applyOperations(deps, contextUpdate);
  if (!updated.ok) return updated;
  const bytes = jsonBytes(updated.deps);
  if (bytes > BYTE_BUDGETS.deps) return { ok: false, problem: `the deps would be ${bytes} bytes of JSON, over ${BYTE_BUDGETS.deps}` };
  const problems = snapshot.deps === undefined ? [] : checkJson(snapshot.deps, updated.deps);
  return problems.length === 0 ? updated : { ok: false, problem: `deps: ${problemsText(problems)}` };
}

/** Limits the number of times in a row that a tool may ask the model to try again. */
function withinRetries({ modelRetries }: RunState, allowed: number, name: string, result: Result): Result {
  const before = modelRetries.get(name) ?? 0;
  if (before < allowed) {
    modelRetries.set(name, before + 1);
    return result;
  }
  return broken(result, noRetriesLeft(name, allowed, resultText(result.content)));
}

/** Returns the result of a call whose change would undo another one. A call that acts once must not be made again for it, and its result is kept. */
function conflicting(outcome: Result, { name, effect }: ToolSnapshot, key: string): Result {
  const problem = `The update by tool '${name}' was refused, and changed nothing: another call changed "${key}" while this one was running.`;
  if (effect !== 'once') return broken(outcome, `${problem} Call the tool again.`);
  const { content, spilled } = outcome;
  const refused = broken(outcome, `${problem} The call itself took effect: do not make it again. Its result:`);
  return { ...refused, content: [...refused.content, ...content], ...(spilled === undefined ? {} : { spilled }) };
}

/** Returns an error result instead of the one of the activity. It has no result id: no worker's cache has it. */
function broken({ durationMs }: Result, message: string): Result {
  return { type: 'result', status: 'error', content: [message], durationMs, applied: true };
}
