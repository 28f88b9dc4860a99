import type { ContextOperation } from '../../core/domain/deps.ts';
import type { JsonObject, JsonValue } from '../../core/domain/json.ts';

/** The fields of deps, if their type is known. */
type KeyOf<Deps> = Extract<keyof Deps, string>;

type Scalar = string | number | boolean;

/** The type that can be appended to a field: an element of its list. `never` for a scalar. */
type ElementOf<Field> =
  NonNullable<Field> extends readonly (infer Element)[] ? Element : NonNullable<Field> extends Scalar ? never : JsonValue;

/** The type that can be merged into a field: an object. `never` for a scalar. */
type MergedInto<Field> = NonNullable<Field> extends Scalar ? never : PartOf<Field>;

/** A part of an object, at any depth. */
type PartOf<Field> =
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
  readonly kind: 'longhaul.context_update';
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
 * Returns an update without operations, to chain them onto.
 *
 * @example
 * return withUpdate({ counted: true }, contextUpdate<Deps>().set('count', deps.count + 1).append('notes', note));
 */
export function contextUpdate<Deps = JsonObject>(): ContextUpdate<Deps> {
  return updateOf<Deps>([]);
}

/** The result of a tool, with its changes of the deps. Made by `withUpdate`. */
export interface UpdatingResult<Result = unknown> {
  readonly kind: 'longhaul.updating_result';
  readonly result: Result;
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
  // A value that is not JSON is refused when the tool returns it, with its path: an operation alone has none.
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
