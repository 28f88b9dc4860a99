import { applyOperations, type ContextOperation, depsProblem, operationProblem } from '../core/domain/deps.ts';
import { UsageError } from '../core/domain/errors.ts';
import type { JsonObject, JsonValue } from '../core/domain/json.ts';
import type { Event } from '../core/domain/record.ts';
import type { Principal } from '../core/domain/run.ts';
import type { CallUsage } from '../core/protocol.ts';
import { type ContextToSave, readSavedContext, SAVED_VERSION, type SavedContext, toSavedContext } from '../core/saved/saved-context.ts';
import { type OptionTable, requireKnown } from './option-checks.ts';
import type { ReadSecret } from './resources.ts';

/** Live objects of the worker (pools, clients) by name. They never reach the history. */
export type Resources = Record<string, unknown>;

/** A log whose lines carry run, step and call id. */
export interface RunLog {
  /** Logs with the ids of the run and the call, at the level `debug`. */
  debug(message: string, fields?: Record<string, unknown>): void;
  /** Logs with the ids of the run and the call, at the level `info`. */
  info(message: string, fields?: Record<string, unknown>): void;
  /** Logs with the ids of the run and the call, at the level `warn`. */
  warn(message: string, fields?: Record<string, unknown>): void;
  /** Logs with the ids of the run and the call, at the level `error`. */
  error(message: string, fields?: Record<string, unknown>): void;
}

/** The context that a tool receives with its arguments. */
export interface RunContext<Deps = JsonObject, Needed = Resources> {
  /** The run's JSON data (user id, session, preferences). Read-only. */
  readonly deps: Readonly<Deps>;
  /** Live objects of the worker. List those that the tool needs in the type of its context: `RunContext<Deps, { pool: Pool }>`. */
  readonly resources: Needed;
  /** Reads a secret of the worker, by its name or its reference. Its value is removed from everything that the tool returns or logs. Rejects if the worker has no secret with that name. */
  readonly secret: ReadSecret;
  /** The number of attempts of this call before this one. */
  readonly retry: number;
  /** The usage of the run's model calls, up to and including the one that asked for this call. */
  readonly usage: CallUsage;
  /** The name of the agent. */
  readonly agent: string;
  /** The identity on whose behalf the run acts, as its start set it. Read-only. */
  readonly principal: Readonly<Principal>;
  /** The user on whose behalf the run acts: `principal.user`. Undefined if it has none. */
  readonly userId: string | undefined;
  /** The session that the run belongs to: `deps.sessionId`, if deps have one. */
  readonly sessionId: string | undefined;
  /** The id of the run. */
  readonly runId: string;
  /** 1-based. */
  readonly step: number;
  /** The id of the call. */
  readonly callId: string;
  /**
   * A key that every attempt of this call shares, and no other call has: pass it to every service that must not act twice.
   * It is the run id, the id of the event that holds the call, and the index of the call in that event, joined by slashes.
   * The call id is not part of it: models choose call ids, and may choose the same one again.
   */
  readonly idempotencyKey: string;
  /** Aborted when the run is cancelled, the call times out, or the worker shuts down. */
  readonly signal: AbortSignal;
  /** The last heartbeat details of the previous attempt, if that was lost or timed out: a long call continues from them. */
  readonly lastHeartbeat?: JsonValue;
  /** The run's state at the time of the model's response. */
  readonly state: Readonly<JsonObject>;
  /** Logs to the log of the worker. Each line carries the ids of the run and the call. */
  readonly log: RunLog;
  /**
   * Reads recorded events of the run: the newest 20, or those that the options name, at most 200 events and 500,000 bytes of JSON.
   * It queries the run, so a later attempt of the call may read more: do not use it in place of arguments. Rejects in a local tool.
   */
  readonly events: ReadEvents;
  /**
   * Sets a key of the run's state, recorded together with the result of this call. Throws a TypeError for a value that is not
   * JSON. If the state would exceed 150,000 bytes of JSON, the call's result is an error and nothing is set.
   */
  setState(key: string, value: JsonValue): void;
  /**
   * Reports progress of a long call: it is shown with the run, and the next attempt gets it as `lastHeartbeat`. Heartbeats are
   * sent on a timer in any case. Details over 64,000 bytes of JSON are left out. A local call ignores it.
   */
  heartbeat(details?: JsonValue): void;
  /**
   * Sends data to the readers of the run at once. It is provisional: the result of the call replaces it, and it never enters the history.
   * Secrets are redacted. Throws a TypeError for a name that is not a text of 1 to 100 characters, and for data that is not JSON or is
   * larger than 32,000 bytes. Does nothing if the worker has no `streams`.
   */
  emit(name: string, data: JsonValue): void;
}

/** Selects the recorded events to read. */
export interface EventsOptions {
  /** The lowest offset to read. Default: the first event of this execution. */
  from?: number;
  /** The number of newest events to read, from `from` on: 1 to 200. Default: 20 without `from`; with `from`, the first 20 from there. */
  last?: number;
  /** The most bytes of JSON for all events together: up to 500,000. Default 64,000. */
  bytes?: number;
}

/** A recorded event, with its offset. */
export type RecordedEvent = Event & { readonly offset: number };

/** A part of the record of a run. */
export interface RecordedEvents {
  /** The events, oldest first: with `last` the newest, otherwise up to 20 starting at `from`. */
  readonly events: readonly RecordedEvent[];
  /** The offset of the first event that can be read here. Earlier events are in earlier executions of the run. */
  readonly firstOffset: number;
  /** The number of all events of the run. */
  readonly total: number;
  /** True if requested events are left out because of their size. */
  readonly cut?: true;
}

/** Reads events from the record of the run. */
export type ReadEvents = (options?: EventsOptions) => Promise<RecordedEvents>;

/** The fields of deps, if their type is known. */
type KeyOf<Deps> = Extract<keyof Deps, string>;

/** A value without members: nothing can be merged into it or appended to it. */
export type Scalar = string | number | boolean;

/** The type that can be appended to a field: an element of its list. `never` for a scalar. */
export type ElementOf<Field> =
  NonNullable<Field> extends readonly (infer Element)[] ? Element : NonNullable<Field> extends Scalar ? never : JsonValue;

/** The type that can be merged into a field: an object. `never` for a scalar. */
export type MergedInto<Field> = NonNullable<Field> extends Scalar ? never : PartOf<Field>;

/** A part of an object, at any depth. */
export type PartOf<Field> =
  NonNullable<Field> extends readonly unknown[]
    ? JsonObject
    : NonNullable<Field> extends object
      ? { readonly [Key in keyof NonNullable<Field>]?: PartOf<NonNullable<Field>[Key]> }
      : Field;

/**
 * Changes of the run's deps that a tool returns with its result. Plain JSON, and immutable: each operation returns a new
 * update with the operation at its end. The operations are applied in order.
 */
export interface ContextUpdate<Deps = JsonObject> {
  /** Distinguishes updates from results. */
  readonly kind: 'longhaul.context_update';
  /** The changes so far, in order. */
  readonly operations: readonly ContextOperation[];
  /** Sets the key to the value, replacing any other. */
  set<Key extends KeyOf<Deps>>(key: Key, value: Deps[Key]): ContextUpdate<Deps>;
  /** Merges an object into the object of the key, recursively as long as both sides are objects; any other value is replaced. */
  merge<Key extends KeyOf<Deps>>(key: Key, value: MergedInto<Deps[Key]>): ContextUpdate<Deps>;
  /** Adds one element at the end of the key's list; a missing key starts a list. If the value is not a list, the call's result is an error. */
  append<Key extends KeyOf<Deps>>(key: Key, value: ElementOf<Deps[Key]>): ContextUpdate<Deps>;
  /** Removes the key. */
  delete(key: KeyOf<Deps>): ContextUpdate<Deps>;
}

/**
 * Returns an empty update, to which operations are chained.
 *
 * @example
 * return withUpdate({ counted: true }, contextUpdate<Deps>().set('count', deps.count + 1).append('notes', note));
 */
export function contextUpdate<Deps = JsonObject>(): ContextUpdate<Deps> {
  return updateOf<Deps>([]);
}

/** The result of a tool, with its changes of the deps. Made by `withUpdate`. */
export interface UpdatingResult<Result = unknown> {
  /** Distinguishes it from a plain result. */
  readonly kind: 'longhaul.updating_result';
  /** What the model reads. */
  readonly result: Result;
  /** The changes of deps and state. */
  readonly update: Pick<ContextUpdate, 'operations'>;
}

/** Returns the result of a tool together with an update of the run's deps, which later calls see. */
export function withUpdate<Result>(result: Result, update: { readonly operations: readonly ContextOperation[] }): UpdatingResult<Result> {
  return { kind: 'longhaul.updating_result', result, update };
}

/** True for a value made by `withUpdate`, of any copy of this package. */
export function isUpdatingResult(value: unknown): value is UpdatingResult {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'longhaul.updating_result';
}

function updateOf<Deps>(operations: readonly ContextOperation[]): ContextUpdate<Deps> {
  // A value that is not JSON is refused when the tool returns it: only then is its path known.
  const plus = (operation: unknown): ContextUpdate<Deps> => updateOf<Deps>([...operations, operation as ContextOperation]);
  return {
    kind: 'longhaul.context_update',
    operations,
    set: (key, value) => plus({ op: 'set', key, value }),
    merge: (key, value) => plus({ op: 'merge', key, value }),
    append: (key, value) => plus({ op: 'append', key, value }),
    delete: (key) => plus({ op: 'delete', key }),
  };
}

/**
 * Returns the deps after an update, as a run applies it after the call whose tool returned it: the operations in order, each on the
 * outcome of the previous one. Changes neither argument. Throws a `UsageError` if an operation cannot be applied, such as an `append`
 * to a value that is not a list, or has a value that is not JSON: then the whole update is dropped, as in a run. Only the run checks
 * the schema of an agent's deps.
 *
 * @example
 * const after = applyContextUpdate({ notes: ['a'] }, contextUpdate().append('notes', 'b').set('count', 2));
 * // { notes: ['a', 'b'], count: 2 }
 */
export function applyContextUpdate<Deps extends object = JsonObject>(
  deps: Deps,
  update: { readonly operations: readonly ContextOperation[] },
): Deps {
  const { operations } = Object(update) as { operations?: unknown };
  if (!Array.isArray(operations)) throw invalidUpdate('it has no list of operations: write contextUpdate().set(key, value)');
  const list: readonly unknown[] = operations;
  const problem = depsProblem(deps) ?? list.map((one) => operationProblem(one as ContextOperation | null)).find((one) => one !== undefined);
  if (problem !== undefined) throw invalidUpdate(problem);
  const updated = applyOperations(deps as JsonObject, list as ContextOperation[]);
  if (!updated.ok) throw invalidUpdate(updated.problem);
  return updated.deps as Deps;
}

function invalidUpdate(problem: string): UsageError {
  return new UsageError(`The update of the deps cannot be applied: ${problem}`);
}

const SAVED_FIELDS: OptionTable<ContextToSave> = {
  messages: true,
  tool_calls: true,
  system_prompt: true,
  deps: true,
  usage: true,
  needs_response: true,
  iteration: true,
  max_iterations: true,
  started_at: true,
  agent_name: true,
  agent_description: true,
};

/**
 * Makes a saved context, for example from a conversation in another system: a run starts from it with `client.start(agent, { saved })`.
 * A field that is left out has the value of a new context. Deps are screened: functions, live objects, references to secrets and
 * members whose keys suggest a credential are removed, at any depth. Throws a `UsageError` with the path of an invalid field.
 *
 * @example
 * const saved = savedContext({
 *   messages: [{ role: 'user', content: 'Where is order 42?' }, { role: 'assistant', content: 'On its way.' }],
 *   deps: { customer: 7 },
 * });
 */
export function savedContext(fields: ContextToSave = {}): SavedContext {
  requireKnown('savedContext', fields, SAVED_FIELDS);
  const { deps, ...plain } = fields;
  if (deps !== undefined && (typeof deps !== 'object' || deps === null || Array.isArray(deps)))
    throw new UsageError(`savedContext: "deps" is ${JSON.stringify(deps)}: write an object`);
  const read = readSavedContext({ version: SAVED_VERSION, ...plain });
  const problem = read.ok ? read.warnings[0] : read.problem;
  if (problem !== undefined) throw new UsageError(`savedContext: ${problem}`);
  return toSavedContext(fields);
}
