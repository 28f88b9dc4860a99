import { dereference, validate, type ValidationResult } from '@cfworker/json-schema';
import { isJsonObject, type JsonObject, type JsonValue } from '../domain/json/json.ts';
import { CheckMeter } from './check-meter.ts';
import { mapSubschemas, propertiesOf } from './json-schema.ts';
import { boundedPattern } from './bounded-pattern.ts';
import { UniqueItems } from './unique-items.ts';

/** A schema as the validator applies it. Keeping it decides only how fast the answer comes. */
export interface CompiledSchema {
  schema: JsonObject;
  meter: CheckMeter;
  unique: UniqueItems;
  /** Applies the schema: until the first problem, or for all of them. */
  apply(value: unknown, until: 'first' | 'all'): ValidationResult;
}

const compiled = new WeakMap<JsonObject, CompiledSchema>();

/** The schema as it can be applied, made once. */
export function compiledSchema(schema: JsonObject): CompiledSchema {
  const known = compiled.get(schema);
  if (known !== undefined) return known;
  const made = compile(schema);
  compiled.set(schema, made);
  return made;
}

function compile(schema: JsonObject): CompiledSchema {
  // The validator writes into the schema that it is given, and a snapshot is not to be written into.
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

/** The types that JSON has. A schema from elsewhere may name others, which nothing could be checked against. */
const TYPES: readonly unknown[] = ['null', 'boolean', 'object', 'array', 'number', 'integer', 'string'];

/**
 * unknown `format`s and types out of the validator's sight, patterns for texts of bounded length, and fields
 * with a fixed value first: they tell the choices of a union apart at once.
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

/** Without what is for people and models to read. */
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
