import { z } from 'zod';
import { updateFrom } from '../../../activities/tool-calls/execute-tool.ts';
import { contextUpdate, type ContextUpdate, withUpdate } from '../../../src/define/context.ts';
import { defineAgent } from '../../../src/define/define-agent.ts';
import { defineTool } from '../../../src/define/define-tool.ts';
import type { ToolDefinition } from '../../../src/define/tool-definition.ts';
import { applyOperations, touchedKeys } from '../../../src/core/domain/deps.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../src/core/domain/json.ts';
import { callTool, say, type ScriptEntry, type ScriptedReply, together } from '../../../src/testing/index.ts';
import { CaseProblem, list, number, object, only, type Operation, text } from './adapter.ts';
import { runWithKit } from './kit-run.ts';

/** Suite `nous.context_update`: changes of the deps by tools. */
export const contextUpdateOperations: Readonly<Record<string, Operation>> = {
  'context_update.apply': { input: ['deps', 'operations'], expect: ['deps', 'error'], perform: apply },
  'context_update.inspect': { input: ['operations'], expect: ['empty', 'length'], perform: inspect },
  'context_update.keys': { input: ['operations'], expect: ['keys', 'keys_updated'], perform: keys },
  'runner.deps_after_turns': { input: ['deps', 'turns'], expect: ['deps', 'seen'], perform: depsAfterTurns },
  'runner.legacy_update': { input: ['deps', 'tool_return'], expect: ['deps', 'model_sees'], perform: legacyUpdate },
};

function apply({ deps, operations }: JsonObject): JsonObject {
  const update = updateFrom('tool', toUpdate(operations));
  if (!update.ok) return { error: true };
  const updated = applyOperations(object(deps ?? {}), update.operations);
  return updated.ok ? { deps: updated.deps } : { error: true };
}

function inspect({ operations }: JsonObject): JsonObject {
  const { length } = toUpdate(operations).operations;
  return { empty: length === 0, length };
}

function keys({ operations }: JsonObject): JsonObject {
  const touched = touchedKeys(toUpdate(operations).operations);
  return { keys: touched, keys_updated: touched.length };
}

const OPERATION = ['op', 'key', 'value', 'repeat'];

/** The update with the operations of a case, in their order. */
function toUpdate(operations: JsonValue | undefined): ContextUpdate {
  return list(operations)
    .map((operation) => only('An operation', operation, OPERATION))
    .flatMap(repeated)
    .reduce(withOperation, contextUpdate());
}

/** `repeat` is one operation for every integer of a range, which is its value. */
function repeated({ repeat, ...operation }: JsonObject): JsonObject[] {
  if (repeat === undefined) return [operation];
  const range = isJsonObject(repeat)
    ? only('A "repeat"', repeat, ['from', 'to'])
    : { from: list(repeat)[0] ?? null, to: list(repeat)[1] ?? null };
  const from = number(range['from'], 0);
  return Array.from({ length: number(range['to'], 0) - from + 1 }, (_, index) => ({ ...operation, value: from + index }));
}

function withOperation(update: ContextUpdate, { op, key, value = null }: JsonObject): ContextUpdate {
  switch (op) {
    case 'set':
      return update.set(text(key), value);
    case 'merge':
      return update.merge(text(key), value);
    case 'append':
      return update.append(text(key), value);
    case 'delete':
      return update.delete(text(key));
    default:
      throw unknownOperation(op ?? null);
  }
}

/** Each turn is one response. */
async function depsAfterTurns({ deps, turns }: JsonObject): Promise<JsonObject> {
  const updates = list(turns).map((turn) => list(turn).map((call) => requireKnown(operationsOf(call))));
  const seen: JsonValue[][] = updates.map(() => []);
  const note = defineTool({
    name: 'note',
    description: 'Looks at the deps and changes them.',
    updates: true,
    parameters: z.object({ turn: z.int(), place: z.int() }),
    execute: ({ turn, place }, context) => {
      seen[turn]?.push(structuredClone(context.deps) as JsonValue);
      return withUpdate('ok', toUpdate(updates[turn]?.[place] ?? []));
    },
  });
  const script: ScriptEntry[] = updates.map((calls, turn) =>
    inOneResponse(calls.map((_, index) => callTool('note', { turn, place: index }))),
  );
  return { deps: await depsAfter(object(deps ?? {}), note, [...script, say('done')]), seen };
}

function inOneResponse([first = say('nothing'), ...others]: ScriptedReply[]): ScriptEntry {
  return together(first, ...others);
}

/** A call gives a list of operations, or one alone. */
function operationsOf(call: JsonValue): JsonValue[] {
  if (Array.isArray(call)) return call;
  return 'op' in object(call) ? [call] : list(only('A call', call, ['operations'])['operations']);
}

/** Throws for an operation that the adapter does not know: a tool that threw would be a result of the run. */
function requireKnown(operations: JsonValue[]): JsonValue[] {
  for (const operation of operations) {
    const { op = null } = only('An operation', operation, OPERATION);
    if (!['set', 'merge', 'append', 'delete'].includes(text(op))) throw unknownOperation(op);
  }
  return operations;
}

function unknownOperation(op: JsonValue): CaseProblem {
  return new CaseProblem(`The case uses an operation that the adapter does not know: ${JSON.stringify(op)}`);
}

async function legacyUpdate({ deps, tool_return }: JsonObject): Promise<JsonObject> {
  const tool = defineTool({
    name: 'legacy',
    legacyUpdates: true,
    description: 'Returns what it returns.',
    parameters: z.object({}),
    execute: () => tool_return,
  });
  let sees: JsonValue = null;
  const after = await depsAfter(object(deps ?? {}), tool, [callTool('legacy'), say('done')], (content) => (sees = content[0] ?? null));
  return { deps: after, model_sees: sees };
}

async function depsAfter(
  deps: JsonObject,
  tool: ToolDefinition<never, JsonObject>,
  script: ScriptEntry[],
  look: (content: JsonValue[]) => void = () => undefined,
): Promise<JsonObject> {
  const agent = defineAgent({ name: 'a', model: 'scripted/model', instructions: [], tools: [tool] });
  const played = await runWithKit({ agent, script, input: 'Q', deps, steps: script.length });
  for (const { content } of played.events) for (const item of content) if (item.type === 'tool_result') look(item.content);
  return played.deps;
}
