import type { ContextOperation } from '../core/domain/record/context-update.ts';
import type { JsonObject, JsonValue } from '../core/domain/json/json.ts';

/** The fields of deps, where their type is known. */
type KeyOf<Deps> = Extract<keyof Deps, string>;

type Scalar = string | number | boolean;

/** What is appended to a field: an element of its list. Nothing to what cannot be one. */
type ElementOf<Field> =
  NonNullable<Field> extends readonly (infer Element)[] ? Element : NonNullable<Field> extends Scalar ? never : JsonValue;

/** What is merged into a field: an object. Nothing into what cannot be one. */
type MergedInto<Field> = NonNullable<Field> extends Scalar ? never : PartOf<Field>;

/** Part of an object, as deep as it goes. */
type PartOf<Field> =
  NonNullable<Field> extends readonly unknown[]
    ? JsonObject
    : NonNullable<Field> extends object
      ? { readonly [Key in keyof NonNullable<Field>]?: PartOf<NonNullable<Field>[Key]> }
      : Field;

/**
 * Changes of the run's deps that a tool returns beside its result (seed 002). Plain JSON, and never changed: each
 * operation gives a new update, with the operation at its end. The operations are applied in their order.
 */
export interface ContextUpdate<Deps = JsonObject> {
  readonly kind: 'longhaul.context_update';
  readonly operations: readonly ContextOperation[];
  /** Puts a value in the place of whatever the key has. */
  set<Key extends KeyOf<Deps>>(key: Key, value: Deps[Key]): ContextUpdate<Deps>;
  /** Merges an object into the object of the key, as deep as both sides are objects; everything else gives way. */
  merge<Key extends KeyOf<Deps>>(key: Key, value: MergedInto<Deps[Key]>): ContextUpdate<Deps>;
  /** Adds one element at the end of the key's list; a missing key begins one. Anything else than a list is an error result. */
  append<Key extends KeyOf<Deps>>(key: Key, value: ElementOf<Deps[Key]>): ContextUpdate<Deps>;
  /** Takes the key out. */
  delete(key: KeyOf<Deps>): ContextUpdate<Deps>;
}

/**
 * An update without operations, to chain them onto.
 *
 * @example
 * return withUpdate({ counted: true }, contextUpdate<Deps>().set('count', deps.count + 1).append('notes', note));
 */
export function contextUpdate<Deps = JsonObject>(): ContextUpdate<Deps> {
  return updateOf<Deps>([]);
}

/** What a tool gave, and what it changes. Made by `withUpdate`. */
export interface UpdatingResult<Result = unknown> {
  readonly kind: 'longhaul.updating_result';
  readonly result: Result;
  readonly update: Pick<ContextUpdate, 'operations'>;
}

/** The result of a tool together with an update of the run's deps: what calls after this one see as deps. */
export function withUpdate<Result>(result: Result, update: { readonly operations: readonly ContextOperation[] }): UpdatingResult<Result> {
  return { kind: 'longhaul.updating_result', result, update };
}

/** True for what `withUpdate` made, by whichever copy of this package. */
export function isUpdatingResult(value: unknown): value is UpdatingResult {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'longhaul.updating_result';
}

function updateOf<Deps>(operations: readonly ContextOperation[]): ContextUpdate<Deps> {
  // What is no JSON is refused where the tool returns it, with the path: an operation alone has none.
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
