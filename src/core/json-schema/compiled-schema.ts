import { dereference, type Schema, validate, type ValidationResult } from '@cfworker/json-schema';
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from '../domain/json.ts';
import { mapSubschemas, propertiesOf } from './json-schema.ts';

/** A schema prepared for the validator. It is cached for speed only. */
export interface CompiledSchema {
  schema: JsonObject;
  meter: CheckMeter;
  unique: UniqueItems;
  /** Applies the schema, and either stops at the first problem or finds all of them. */
  apply(value: unknown, until: 'first' | 'all'): ValidationResult;
}

const compiled = new WeakMap<JsonObject, CompiledSchema>();

/** Returns the prepared schema. Prepares each schema once. */
export function compiledSchema(schema: JsonObject): CompiledSchema {
  const known = compiled.get(schema);
  if (known !== undefined) return known;
  const made = compile(schema);
  compiled.set(schema, made);
  return made;
}

function compile(schema: JsonObject): CompiledSchema {
  // The validator modifies its schema, and a snapshot must not be modified.
  const checked = JSON.parse(JSON.stringify(prepare(schema))) as JsonObject;
  const schemas = dereference(checked);
  const meter = new CheckMeter();
  meter.watch(schemas);
  const unique = new UniqueItems();
  unique.watch(schemas);
  return {
    schema: checked,
    meter,
    unique,
    apply: (value, until) => validate(value, checked, '2020-12', schemas, until === 'first'),
  };
}

/** The types of JSON. A schema from an MCP server may name others, which cannot be checked. */
const TYPES: readonly unknown[] = ['null', 'boolean', 'object', 'array', 'number', 'integer', 'string'];

/**
 * Hides formats and unknown types from the validator, bounds the length of texts for patterns, and moves fields with a fixed value to the
 * front, because they distinguish the choices of a union immediately.
 */
function prepare(schema: JsonObject): JsonObject {
  const { format, type, ...others } = boundedPattern(withoutNotes(mapSubschemas(schema, prepare)));
  const rest = isKnown(type) ? { ...others, type } : others;
  const named = format === undefined ? rest : { ...rest, 'x-format': format };
  if (rest['properties'] === undefined) return named;
  const entries = Object.entries(propertiesOf(rest));
  const isFixed = ([, property]: [string, JsonValue]): boolean => isJsonObject(property) && 'const' in property;
  return { ...named, properties: Object.fromEntries([...entries.filter(isFixed), ...entries.filter((entry) => !isFixed(entry))]) };
}

/** Removes the keywords that only people and models read. */
function withoutNotes({
  description: _description,
  title: _title,
  default: _default,
  examples: _examples,
  ...rest
}: JsonObject): JsonObject {
  return rest;
}

function isKnown(type: JsonValue | undefined): type is JsonValue {
  return Array.isArray(type) ? type.every((one) => TYPES.includes(one)) : TYPES.includes(type);
}

/** Characters of a schema's own keywords that count as one work unit. */
const CHARACTERS_PER_UNIT = 32;

/** Thrown by the validator when a check exceeds its allowed work. */
export class CheckTooLong extends Error {}

/** All schemas that a validator may apply, by location. */
type Schemas = ReturnType<typeof dereference>;

/**
 * Measures and bounds the work of the validator, which has no bound itself: with a schema that refers to itself in several choices, the
 * time doubles with every level. Applying one schema to one value is one unit, and more for long schemas.
 */
export class CheckMeter {
  /** Units since the beginning of the check. */
  spent = 0;
  #allowed = 0;

  /** Begins a check with a maximum of `allowed` units. */
  begin(allowed: number): void {
    this.spent = 0;
    this.#allowed = allowed;
  }

  /**
   * Makes each schema count its applications, with a getter for a keyword of an older draft that the validator reads once per application.
   */
  watch(schemas: Schemas): void {
    for (const schema of new Set(Object.values(schemas))) {
      if (typeof schema !== 'boolean') this.#watch(schema);
    }
  }

  #watch(schema: Schema): void {
    const units = unitsOf(schema);
    Object.defineProperty(schema, '$recursiveAnchor', {
      enumerable: false,
      get: () => {
        this.spent += units;
        if (this.spent > this.#allowed) throw new CheckTooLong();
        return undefined;
      },
    });
  }
}

/** Returns the units of one application. The validator reads long lists of values, names and choices each time. */
function unitsOf(schema: JsonObject): number {
  const own = mapSubschemas(schema, () => ({}));
  return 1 + Math.floor(JSON.stringify(own).length / CHARACTERS_PER_UNIT);
}

/** The maximum items of a list in which the validator compares every pair, which takes quadratic time. */
export const MAX_COMPARED_ITEMS = 200;

/**
 * Decides how `uniqueItems` is checked. A value without repeated list items needs no comparison. A value with both a repeated item and a
 * long list is not compared either: then a list of unique items must be short.
 */
class UniqueItems {
  #isUsed = false;
  #check: 'none' | 'compare' | 'length' = 'compare';

  /** Chooses the way of checking a value, before the check. */
  begin(value: JsonValue): void {
    if (this.#isUsed) this.#check = howToCheck(value);
  }

  /** Makes the schemas use the chosen way. */
  watch(schemas: Schemas): void {
    for (const schema of new Set(Object.values(schemas))) {
      if (typeof schema !== 'boolean' && schema.uniqueItems === true) this.#watch(schema);
    }
  }

  #watch(schema: JsonObject): void {
    this.#isUsed = true;
    const { maxItems } = schema;
    const ownLimit = typeof maxItems === 'number' ? maxItems : undefined;
    const atMost = Math.min(ownLimit ?? MAX_COMPARED_ITEMS, MAX_COMPARED_ITEMS);
    Object.defineProperty(schema, 'uniqueItems', { enumerable: true, get: () => this.#check === 'compare' });
    Object.defineProperty(schema, 'maxItems', { enumerable: true, get: () => (this.#check === 'length' ? atMost : ownLimit) });
  }
}

function howToCheck(value: JsonValue): 'none' | 'compare' | 'length' {
  const lists = listsIn(value);
  if (!lists.some(repeatsItem)) return 'none';
  return lists.some(({ length }) => length > MAX_COMPARED_ITEMS) ? 'length' : 'compare';
}

function listsIn(value: JsonValue): JsonValue[][] {
  const lists: JsonValue[][] = [];
  const open = [value];
  while (open.length > 0) {
    const one = open.pop() ?? null;
    if (Array.isArray(one)) lists.push(one);
    if (Array.isArray(one) || isJsonObject(one)) for (const member of Object.values(one)) open.push(member);
  }
  return lists;
}

function repeatsItem(list: readonly JsonValue[]): boolean {
  return new Set(list.map(canonicalJson)).size < list.length;
}

/** The maximum characters of a text that is checked with a pattern: many patterns take quadratic time. */
export const MAX_PATTERN_TEXT = 10_000;

/**
 * Returns the schema with a pattern that rejects longer texts without examining them. Patterns of formats stay unchanged: they come with
 * zod, are simple, and apply to long texts (`base64`).
 */
function boundedPattern(schema: JsonObject): JsonObject {
  const { pattern, format } = schema;
  if (typeof pattern !== 'string' || format !== undefined || !compiles(pattern)) return schema;
  return { ...schema, pattern: `^(?![^]{${MAX_PATTERN_TEXT + 1}})(?=[^]*?(?:${pattern}))`, 'x-pattern': pattern };
}

export function compiles(pattern: string): boolean {
  try {
    return new RegExp(pattern, 'u') instanceof RegExp;
  } catch {
    return false;
  }
}
