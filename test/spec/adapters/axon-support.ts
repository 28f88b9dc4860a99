import { ERROR_CODES, type ErrorCode, errorMessage } from '../../../src/core/domain/errors.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../src/core/domain/json.ts';
import { ExecutionTrace, isTraceEventType, TRACE_EVENT_TYPES, traceEvent, Tracer, type TraceSpan } from '../../../src/core/domain/trace.ts';
import { ContextError, UnitContext } from '../../../src/core/program/references.ts';
import { errorLevel, formatError, newStepError, seedNameOf } from '../../../src/core/program/step-errors.ts';
import { inMemory } from '../../../src/memory/file-memory.ts';
import type { FoundEntry } from '../../../src/memory/memory-store.ts';
import { CONTAINED_SCORE } from '../../../src/memory/search.ts';
import { CaseProblem, list, number, object, only, type Operation, text } from './adapter.ts';
import { dispatch } from './axon-executor.ts';
import { CONTEXT_KEYS, CONTEXT_NAMES, contextOf, namedError } from './axon-retry.ts';

/** An action on a context. `expected` only determines the notation of a case's snapshot. */
type Action = (context: UnitContext, args: JsonValue[], expected: JsonValue | undefined) => unknown;

const ACTIONS: Readonly<Record<string, Action>> = {
  set_step_result: (context, [step, result = null]) => done(context.setResult(text(step), result)),
  get_step_result: (context, [step]) => context.result(text(step)),
  has_step_result: (context, [step]) => context.hasResult(text(step)),
  set_variable: (context, [name, value = null]) => done(context.setVariable(text(name), value)),
  get_variable: (context, [name]) => context.variable(text(name)),
  has_variable: (context, [name]) => context.hasVariable(text(name)),
  append_message: (context, [role, content]) => done(context.append(text(role), text(content))),
  completed_steps: (context) => context.completedSteps,
  message_count: (context) => context.messages.length,
  history: (context) => [...context.messages],
  system_prompt: (context) => context.systemPrompt,
  reset: (context) => done(context.reset()),
  snapshot_steps: (context, _, expected) => {
    const { results } = context.snapshot();
    return Array.isArray(expected) ? Object.keys(results) : results;
  },
};

/** Operation `ctxmgr.run`: the context of a unit. */
function runContext({ system_prompt, do: actions }: JsonObject, expect: JsonValue): unknown {
  const context = new UnitContext(text(system_prompt));
  const expected = isJsonObject(expect) ? list(expect['results']) : [];
  return { results: list(actions).map((action, index) => actOnContext(context, list(action), expected[index])) };
}

function actOnContext(context: UnitContext, [name, ...args]: JsonValue[], expected: JsonValue | undefined): unknown {
  const action = Object.hasOwn(ACTIONS, text(name)) ? ACTIONS[text(name)] : undefined;
  if (action === undefined) throw new CaseProblem(`The adapter does not know the action ${JSON.stringify(name)}`);
  try {
    return action(context, args, expected);
  } catch (error) {
    if (error instanceof ContextError) return { error: error.reason };
    throw error;
  }
}

function done(_: void): null {
  return null;
}

/**
 * A memory with scopes as the cases have it: without a scope, a query searches all of them, and everything is cleared. No store does that:
 * a scope is a namespace, and each of them is searched.
 */
class ScopedMemory {
  readonly #memory = inMemory();
  /** The scopes and keys of all values, the oldest first. */
  readonly #stored = new Set<string>();

  async store(key: string, value: JsonValue, metadata: JsonObject): Promise<string> {
    const scope = typeof metadata['scope'] === 'string' ? metadata['scope'] : '';
    const entry = await this.#memory.remember({ namespace: scope, key, value, metadata });
    this.#stored.delete(place(scope, key));
    this.#stored.add(place(scope, key));
    return entry.key;
  }

  /** Returns the entries that contain the query: as in a program, whose steps leave out those that only share words with it. */
  async retrieve(query: string, topK = 5, scope?: string): Promise<FoundEntry[]> {
    return (await this.#all(query, scope)).filter(({ score }) => score >= CONTAINED_SCORE).slice(0, Math.max(0, topK));
  }

  async clear(scope?: string): Promise<number> {
    let removed = 0;
    for (const namespace of this.#scopes(scope)) removed += await this.#memory.forget({ namespace });
    return removed;
  }

  async count(): Promise<number> {
    return (await this.#all('')).length;
  }

  async #all(query: string, scope?: string): Promise<FoundEntry[]> {
    const order = [...this.#stored];
    const found: { entry: FoundEntry; age: number }[] = [];
    for (const namespace of this.#scopes(scope)) {
      const entries = await this.#memory.recall({ namespace, text: query, topK: Infinity });
      found.push(...entries.map((entry) => ({ entry, age: order.indexOf(place(namespace, entry.key)) })));
    }
    return found.toSorted((one, other) => other.entry.score - one.entry.score || other.age - one.age).map(({ entry }) => entry);
  }

  #scopes(scope: string | undefined): string[] {
    if (scope !== undefined) return [scope];
    return [...new Set([...this.#stored].map((one) => (JSON.parse(one) as [string, string])[0]))];
  }
}

function place(scope: string, key: string): string {
  return JSON.stringify([scope, key]);
}

/** The operations on traces. */
const axonTracerOperations: Readonly<Record<string, Operation>> = {
  'tracer.event_types': { input: [], expect: ['types'], perform: () => ({ types: [...TRACE_EVENT_TYPES] }) },
  'tracer.spans': { input: ['do'], expect: ['tree', 'total_events', 'all_closed'], perform: spans },
};

function spans({ do: actions }: JsonObject, expect: JsonValue): unknown {
  const tracer = new Tracer();
  for (const [at, action] of list(actions).entries()) actOnTracer(tracer, action, at + 1);
  const trace = new ExecutionTrace({ programName: '', backendName: '', startTime: 0, spans: tracer.finalize(list(actions).length + 1) });
  const tree = trace.spans.map(shown);
  // A case writes one span by itself, or the list of all.
  const isOne = isJsonObject(expect) && isJsonObject(expect['tree']) && tree.length === 1;
  return { tree: isOne ? tree[0] : tree, total_events: trace.totalEvents, all_closed: trace.spans.every(isClosed) };
}

function actOnTracer(tracer: Tracer, action: JsonValue, at: number): void {
  const { start, emit, end } = only('An action', action, ['start', 'emit', 'end']);
  if (start !== undefined) tracer.start({ name: text(start), at });
  else if (emit !== undefined) tracer.emit(eventOf(text(emit), at));
  else if (end === true) tracer.end(at);
  else throw new CaseProblem('An action does nothing');
}

function eventOf(type: string, at: number): ReturnType<typeof traceEvent> {
  if (isTraceEventType(type)) return traceEvent(type, { step: '', at });
  throw new CaseProblem(`There are no events of the type ${JSON.stringify(type)}`);
}

function isClosed({ endTime, children }: TraceSpan): boolean {
  return endTime !== undefined && children.every(isClosed);
}

function shown({ name, events, children }: TraceSpan): JsonObject {
  return { name, events: events.map((event) => event.event_type), children: children.map(shown) };
}

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
  for (const action of list(actions)) results.push(await actOnMemory(memory, action).catch(failed));
  return { results };
}

/** Returns an error as a case expects it. A problem of the case itself is rethrown. */
function failed(error: unknown): unknown {
  if (error instanceof CaseProblem) throw error;
  return { error: errorMessage(error) };
}

async function actOnMemory(memory: ScopedMemory, action: JsonValue): Promise<unknown> {
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
