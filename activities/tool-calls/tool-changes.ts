import { activityInfo } from '@temporalio/activity';
import { BYTE_BUDGETS } from '../../src/core/domain/json/byte-budget.ts';
import { applyOperations, type ContextOperation, touchedKeys } from '../../src/core/domain/record/context-update.ts';
import { errorMessage } from '../../src/core/domain/errors/error.ts';
import { depthProblem } from '../../src/core/domain/json/json-depth.ts';
import type { JsonObject, JsonValue } from '../../src/core/domain/json/json.ts';
import { jsonBytes } from '../../src/core/domain/json/payload-limit.ts';
import { stateProblem } from '../../src/core/domain/record/state-problem.ts';
import type { RunToolInput } from '../../src/core/protocol.ts';
import type { AnyTool } from '../../src/define/tools/tool-definition.ts';
import type { Executed } from './execute-tool.ts';
import type { ActivityRuntime } from '../runtime.ts';

/** A result with its changes to state and deps; an error result that changes nothing if the changes are refused. */
export interface KeptChanges {
  content: JsonValue[];
  isError: boolean;
  state?: JsonObject;
  contextUpdate?: ContextOperation[];
}

/** The data of the run when the call began. */
interface CallData {
  input: RunToolInput;
  name: string;
  tool: Pick<AnyTool, 'updates'>;
  deps: JsonObject;
  state: JsonObject;
}

/**
 * Checks the changes of a call before they are reported to the run: the state within its budget, the deps by the
 * agent's full schema, no secret in either, and no key that the tool does not name.
 */
export function keptChanges(runtime: ActivityRuntime, call: CallData, executed: Executed, changes: JsonObject): KeptChanges {
  const { content, isError, update = [] } = executed;
  const isChanged = Object.keys(changes).length > 0;
  if (!isChanged && update.length === 0) return { content, isError };
  const unnamed = unnamedKey(call.tool, [...Object.keys(changes), ...touchedKeys(update)]);
  if (unnamed !== undefined) return { content: [unnamedText(call, unnamed)], isError: true };
  const problem = localProblem({ changes, update }) ?? (isChanged ? stateProblem(call.state, changes) : undefined);
  if (problem !== undefined) return { content: [`Tool '${call.name}' keeps too much. ${problem}`], isError: true };
  const refused = update.length === 0 ? undefined : updateProblem(runtime, call, update);
  if (refused !== undefined) {
    return { content: [`The update of the deps by tool '${call.name}' was refused, and changed nothing: ${refused}`], isError: true };
  }
  return {
    content,
    isError,
    ...(isChanged ? { state: runtime.secrets.redactJson(changes) as JsonObject } : {}),
    ...(update.length === 0 ? {} : { contextUpdate: update }),
  };
}

/** Returns the first key that the tool does not name among those that it changes. The calls of the response were ordered by these. */
function unnamedKey({ updates = true }: Pick<AnyTool, 'updates'>, keys: readonly string[]): string | undefined {
  return updates === true ? undefined : keys.find((key) => updates === false || !updates.includes(key));
}

function unnamedText({ name, tool: { updates } }: CallData, key: string): string {
  const named = typeof updates === 'boolean' ? 'nothing' : updates?.map((one) => `"${one}"`).join(', ');
  return `The update by tool '${name}' was refused, and changed nothing: it changes "${key}", and the option "updates" of the tool names ${named}`;
}

/**
 * Returns what is wrong with the size of a local call's changes: they share one message with everything else that the
 * workflow task produces.
 */
function localProblem(changed: { changes: JsonObject; update: ContextOperation[] }): string | undefined {
  const bytes = activityInfo().isLocal ? jsonBytes(changed) : 0;
  if (bytes <= BYTE_BUDGETS.localChanges) return undefined;
  return `A call of a local tool may change ${BYTE_BUDGETS.localChanges} bytes of state and deps, and this one changes ${bytes}: write "tier": "remote".`;
}

function updateProblem({ registry, secrets }: ActivityRuntime, { input, deps }: CallData, update: ContextOperation[]): string | undefined {
  const updated = applyOperations(deps, update);
  if (!updated.ok) return updated.problem;
  // A value that is appended to a list is one level deeper.
  const tooDeep = depthProblem({ deps: updated.deps });
  if (tooDeep !== undefined) return tooDeep;
  // The operations are checked because they are recorded: a value that a later operation removes is in the history as well.
  const [leak] = update.flatMap((one) => secrets.leak({ [one.key]: one.op === 'delete' ? null : one.value }, 'deps') ?? []);
  if (leak !== undefined)
    return `${leak} has a secret in it: deps are in the history of the run. Keep its name, and read it with context.secret`;
  try {
    registry.deps(input, updated.deps);
    return undefined;
  } catch (error) {
    return errorMessage(error);
  }
}
