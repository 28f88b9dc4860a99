import { EventEmitter } from 'node:events';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../src/core/domain/json.ts';
import { type ContextToSave, readSavedContext, type SavedContext, toSavedContext } from '../../../src/core/saved/saved-context.ts';
import { list, object, only, type Operation, text } from './adapter.ts';

/** Suite `nous.serialization`: documents of contexts, and what can be read from them. */
export const savedContextOperations: Readonly<Record<string, Operation>> = {
  'context.serialize': { input: ['context'], expect: ['data', 'absent', 'deps_absent'], perform: serialize },
  'context.deserialize': { input: ['data'], expect: ['ok', 'error'], perform: ({ data = null }) => read(data) },
  'context.round_trip': { input: ['context'], expect: ['ok', 'error', 'deps_absent'], perform: roundTrip },
};

/** A context that was just created. */
export const newContext: Operation = { input: ['opts'], expect: ['context'], perform: create };

/** The fields of a context of Nous that live as long as its process, and their values if it has none. */
const OF_A_PROCESS: JsonObject = {
  callbacks: {},
  notify_pid: null,
  cancellation_check: null,
  approval_handler: null,
  pubsub: null,
  pubsub_topic: null,
  hook_registry: null,
  active_skills: [],
  stream: false,
  tool_schema_cache: null,
};

const CONTEXT = [...Object.keys(toSavedContext({})).filter((key) => key !== 'version'), ...Object.keys(OF_A_PROCESS)];

function serialize({ context }: JsonObject, expect: JsonValue): JsonObject {
  const data = save(context);
  return { data, ...absentKeys(expect, data) };
}

function roundTrip({ context }: JsonObject, expect: JsonValue): JsonObject {
  const outcome = read(JSON.parse(JSON.stringify(save(context))) as JsonValue);
  return { ...outcome, ...absentKeys(expect, isJsonObject(outcome['ok']) ? outcome['ok'] : {}) };
}

function create({ opts }: JsonObject): JsonObject {
  // The product records the start time of a run.
  return { context: { ...OF_A_PROCESS, ...asJson(toSavedContext({ started_at: new Date().toISOString(), ...toContext(opts) })) } };
}

/** Returns the document of a context. Functions and handles of the case are real ones. */
function save(context: JsonValue | undefined): JsonObject {
  return asJson(toSavedContext(toContext(context)));
}

function toContext(context: JsonValue | undefined): ContextToSave {
  return withLiveValues(only('A context', context ?? {}, CONTEXT)) as ContextToSave;
}

function read(data: JsonValue): JsonObject {
  const outcome = readSavedContext(data);
  return outcome.ok ? { ok: { ...OF_A_PROCESS, ...asJson(outcome.context) } } : { error: outcome.problem };
}

/** Returns, of the keys that a case expects to be missing, those that are. */
function absentKeys(expect: JsonValue, data: JsonObject): JsonObject {
  const { absent, deps_absent } = object(expect);
  return { absent: missing(absent, data), deps_absent: missing(deps_absent, object(data['deps'] ?? {})) };
}

function missing(keys: JsonValue | undefined, from: JsonObject): string[] {
  return list(keys)
    .map((key) => text(key))
    .filter((key) => !Object.hasOwn(from, key));
}

function withLiveValues(value: JsonValue): unknown {
  if (Array.isArray(value)) return value.map(withLiveValues);
  if (!isJsonObject(value)) return value;
  if (value['$function'] === true) return () => value;
  if (value['$handle'] === true) return new EventEmitter();
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, withLiveValues(member)]));
}

function asJson(context: SavedContext): JsonObject {
  return { ...context, messages: context.messages.map((message) => ({ ...message })), usage: { ...context.usage } };
}
