import { ERROR_CODES, type ErrorCode, errorMessage } from '../../../../src/core/domain/errors.ts';
import type { JsonObject, JsonValue } from '../../../../src/core/domain/json.ts';
import { errorLevel, formatError, newStepError, seedNameOf } from '../../../../src/core/program/step-errors.ts';
import type { Operation } from '../adapter.ts';
import { CaseProblem, list, number, object, only, text } from '../fields.ts';
import { runContext } from './context.ts';
import { dispatch } from './dispatch.ts';
import { CONTEXT_KEYS, CONTEXT_NAMES, contextOf, namedError } from './named-error.ts';
import { ScopedMemory } from './scoped-memory.ts';
import { axonTracerOperations } from './tracer.ts';

/** Suite `axon.support`: the memory, the context of units, traces, errors and tools of steps. */
export const axonSupportOperations: Readonly<Record<string, Operation>> = {
  'memory.run': { input: ['do'], expect: ['results'], perform: runMemory },
  'ctxmgr.run': { input: ['system_prompt', 'do'], expect: ['results'], perform: runContext },
  ...axonTracerOperations,
  'dispatch.run': { input: ['registered', 'tool', 'argument'], expect: ['success', 'data', 'error', 'metadata'], perform: dispatch },
  'errors.levels': { input: [], expect: ['levels'], perform: () => ({ levels: levels() }) },
  'errors.context_dict': { input: CONTEXT_KEYS, expect: CONTEXT_KEYS, perform: contextDict },
  'errors.format': { input: ['type', 'message', 'context'], expect: ['text'], perform: format },
};

async function runMemory({ do: actions }: JsonObject): Promise<unknown> {
  const memory = new ScopedMemory();
  const results: unknown[] = [];
  for (const action of list(actions)) results.push(await perform(memory, action).catch(failed));
  return { results };
}

/** Returns an error as a case expects it. A problem of the case itself is rethrown. */
function failed(error: unknown): unknown {
  if (error instanceof CaseProblem) throw error;
  return { error: errorMessage(error) };
}

async function perform(memory: ScopedMemory, action: JsonValue): Promise<unknown> {
  const { store, retrieve, clear, count } = only('An action', action, ['store', 'retrieve', 'clear', 'count']);
  if (store !== undefined) {
    const { key, value, metadata } = only('What is stored', store, ['key', 'value', 'metadata']);
    return memory.store(text(key), value ?? null, object(metadata ?? {}));
  }
  if (retrieve !== undefined) {
    const { query, top_k, scope } = only('A query', retrieve, ['query', 'top_k', 'scope']);
    return memory.retrieve(text(query), top_k === undefined ? undefined : number(top_k, 0), scopeOf(scope));
  }
  if (clear !== undefined) return memory.clear(scopeOf(only('What is cleared', clear, ['scope'])['scope']));
  if (count === true) return memory.count();
  throw new CaseProblem('An action does nothing');
}

function scopeOf(scope: JsonValue | undefined): string | undefined {
  return scope === undefined || scope === null ? undefined : text(scope);
}

function levels(): JsonObject {
  const codes = Object.keys(ERROR_CODES) as ErrorCode[];
  return Object.fromEntries(codes.filter((code) => 'level' in ERROR_CODES[code]).map((code) => [seedNameOf(code), errorLevel(code)]));
}

function contextDict(input: JsonObject): JsonObject {
  const { context } = newStepError('step_failed', '', contextOf(input));
  return Object.fromEntries(CONTEXT_NAMES.flatMap(([field, name]) => (context[field] === undefined ? [] : [[name, context[field]]])));
}

function format({ type, message, context }: JsonObject): JsonObject {
  const error = namedError(text(type), text(message), context);
  if (error === undefined) throw new CaseProblem(`There is no error ${JSON.stringify(type)}`);
  return { text: formatError(error) };
}
